"""Read labelled pairs for training classifiers of correctness and completeness."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, Field

from ragassay.evaluators.build_run import build_run
from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, quote_text
from ragassay.formats.reviews import read_claim_items
from ragassay.models.adapters import CORRECTNESS
from ragassay.optimizers.compiling.answer_tasks import SentenceLabelTask
from ragassay.optimizers.compiling.items import read_rows
from ragassay.optimizers.finetuning.claims import NO_EVIDENCE, EvidenceRow, link_names
from ragassay.records import RELEVANCE_LABELS, Rejection
from ragassay.settings import load_settings
from ragassay.text.search import WINDOW, Bm25Index

LABEL_WORDS = {
    "correct": ("correct", "true", "yes", "1", "supports", "support", "supported", "attributable"),
    "incorrect": (
        *("incorrect", "false", "no", "0", "contradicts", "contradict", "refutes", "refute"),
        *("nei", "neutral", "not_relevant", "not relevant", "not_supported", "not supported"),
        *("not_attributable", "not attributable", "unsupported"),
    ),
}
"""Lower-case names of labels in several data sets. An unsupported claim counts as incorrect."""


@dataclass(frozen=True)
class LabelledPair:
    """A sentence, a second text and a label.

    Attributes:
        passage: Passage of a document for correctness, or the question for completeness.
        label: Index of the label in the list of the task's labels.
        group: Name of the question. Pairs in the same group are in the same fold.
    """

    sentence: str
    passage: str
    label: int
    group: str


class CorrectnessRow(EvidenceRow):
    """Row of a file, with a sentence, its document or passage, and whether it is correct."""

    sentence: str = Field(
        min_length=1,
        validation_alias=AliasChoices("sentence", "claim", "answer_sentence", "statement"),
    )
    text: str = Field(
        default="", validation_alias=AliasChoices("evidence", "passage", "abstract", "document")
    )
    label: Annotated[
        str | bool | int, Field(validation_alias=AliasChoices("label", "correct", "verdict"))
    ]
    question: str = Field(default="", validation_alias=AliasChoices("question", "group"))


def read_correctness_pairs(path: Path) -> tuple[list[LabelledPair], list[Rejection]]:
    """Read pairs of a sentence and a passage, with labels as indices of `CORRECTNESS`.

    A correct sentence with marked evidence yields two pairs, as in BioACE (section 4.1.3). In the
    correct pair, the passage consists of the marked sentences. In the incorrect pair, the passage
    is the window of three unmarked sentences that BM25 ranks first for the question (or for the
    sentence, if there is no question). Every other row yields one pair.

    Args:
        path: JSON lines or a JSON array, possibly gzip-compressed, with the fields sentence (or
            claim), evidence (or passage, abstract, sentences) and label, and the optional fields
            evidence_sentences (0-based) and question. The path can also be a reviewed run folder.

    Returns:
        The pairs without duplicates, and the rejected rows. Pairs are grouped by question or,
        without a question, by shared sentences or passages.

    Raises:
        InputError: The file cannot be opened.
    """
    rows, rejections = read_rows(read_claim_items(path), CorrectnessRow, _parse_pairs)
    return group_pairs(dict.fromkeys(pair for pairs in rows for pair in pairs)), list(rejections)


def _parse_pairs(row: CorrectnessRow, item: Item) -> list[LabelledPair] | Problem:
    sentences = row.document_sentences
    text = row.text or " ".join(sentences)
    if not text.strip():
        return NO_EVIDENCE
    word = str(row.label).strip().lower()
    label = next((i for i, name in enumerate(CORRECTNESS) if word in LABEL_WORDS[name]), None)
    if label is None:
        problem = f"found the text {quote_text(str(row.label))}"
        return Problem("label", problem, "correct or incorrect")
    if wrong_mark := row.find_wrong_mark():
        return wrong_mark
    if not row.marked:
        return [LabelledPair(row.sentence, text, label, row.question)]
    span = " ".join(sentences[index] for index in sorted(set(row.marked)))
    pairs = [LabelledPair(row.sentence, span, label, row.question)]
    other = (
        find_best_fragment(row.question or row.sentence, sentences, row.marked) if not label else ""
    )
    if other:
        wrong = CORRECTNESS.index("incorrect")
        pairs.append(LabelledPair(row.sentence, other, wrong, row.question))
    return pairs


def find_best_fragment(query: str, sentences: Sequence[str], marked: Sequence[int]) -> str:
    """Return the window of three unmarked sentences that BM25 ranks first.

    Args:
        marked: Indices of sentences to exclude.

    Returns:
        The text of the window, or "" if every window contains a marked sentence or no window
        matches the query.
    """
    n_windows = max(1, len(sentences) - WINDOW + 1)
    windows = [range(start, min(start + WINDOW, len(sentences))) for start in range(n_windows)]
    texts = [
        " ".join(sentences[window.start : window.stop])
        for window in windows
        if not set(window) & set(marked)
    ]
    hits = Bm25Index(texts).search(query, 1)
    return texts[hits[0][0]] if hits else ""


def group_pairs(pairs: Iterable[LabelledPair]) -> list[LabelledPair]:
    """Assign the same group to pairs without a question that share a sentence or passage."""
    pairs = list(pairs)
    unnamed = [(f"s {p.sentence}", f"p {p.passage}") for p in pairs if not p.group]
    groups = link_names(unnamed)
    return [p if p.group else replace(p, group=groups[f"s {p.sentence}"]) for p in pairs]


def read_completeness_pairs(
    path: Path, labels: Path | None
) -> tuple[list[LabelledPair], list[Rejection]]:
    """Read answer sentences and their questions, with labels as indices of `RELEVANCE_LABELS`.

    Args:
        path: Answers in any supported format, such as MedAESQA.
        labels: File of sentence labels, or None if the answers contain the labels.

    Raises:
        InputError: A file cannot be read, or no label refers to an answer sentence.
    """
    settings = load_settings(evidence_rounds=0, only=("sentences",))
    found = SentenceLabelTask(build_run(settings), labels).read(path)
    return [
        LabelledPair(
            sentence=item.arguments[1].text,
            passage=item.arguments[0].question,
            label=RELEVANCE_LABELS.index(item.right),  # pyright: ignore[reportArgumentType]
            group=item.group,
        )
        for item in found.items
    ], list(found.rejections)


def hash_pairs(pairs: Sequence[LabelledPair]) -> str:
    """Return the SHA-256 of pairs, which depends on their order."""
    rows = [(pair.sentence, pair.passage, pair.label) for pair in pairs]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()
