"""Read the labelled pairs that classifiers of correctness and completeness are fitted to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, Field

from ragassay.evaluators.build_run import build_run
from ragassay.formats.problems import Problem, found_text
from ragassay.formats.rows import Row
from ragassay.models.adapters import CORRECTNESS
from ragassay.optimizers.compiling.answer_tasks import SentenceLabelTask
from ragassay.optimizers.finetuning.claims import link_names, read_labelled
from ragassay.records import RELEVANCE_LABELS, Rejection
from ragassay.settings import load_settings
from ragassay.text.search import WINDOW, Bm25Index
from ragassay.text.sentences import sentences_of

LABEL_WORDS = {
    "correct": ("correct", "true", "yes", "1", "supports", "support", "supported", "attributable"),
    "incorrect": (
        *("incorrect", "false", "no", "0", "contradicts", "contradict", "refutes", "refute"),
        *("nei", "neutral", "not_relevant", "not relevant", "not_supported", "not supported"),
        *("not_attributable", "not attributable", "unsupported"),
    ),
}
"""Words of several collections, in lower case: a passage that does not support makes incorrect."""


@dataclass(frozen=True)
class LabelledPair:
    """A sentence, the text that it is read with, and a label.

    Attributes:
        passage: A passage of a document; of completeness the question.
        label: Its place among the task's labels.
        group: The question's name; no split divides a group.
    """

    sentence: str
    passage: str
    label: int
    group: str


class CorrectnessRow(Row):
    """A row of the user's data: a sentence, its document or passage, and whether it is correct."""

    sentence: str = Field(
        min_length=1,
        validation_alias=AliasChoices("sentence", "claim", "answer_sentence", "statement"),
    )
    text: str = Field(
        default="", validation_alias=AliasChoices("evidence", "passage", "abstract", "document")
    )
    sentences: list[str] = Field(default_factory=list[str])
    marked: list[int] = Field(
        default_factory=list[int], validation_alias=AliasChoices("evidence_sentences", "rationale")
    )
    label: Annotated[
        str | bool | int, Field(validation_alias=AliasChoices("label", "correct", "verdict"))
    ]
    question: str = Field(default="", validation_alias=AliasChoices("question", "group"))


def read_correctness_pairs(path: Path) -> tuple[list[LabelledPair], list[Rejection]]:
    """Read pairs of sentence and passage; labels are places in `CORRECTNESS`.

    A row whose evidence sentences are marked makes two pairs, as in BioACE (section 4.1.3): the
    marked span is correct, and the fragment of three sentences without any of it that BM25 ranks
    first for the question is incorrect (for the sentence, where there is no question). Any other
    row is one pair, with its whole passage.

    Args:
        path: JSON lines or an array, plain or gzip, of sentence (or claim), evidence (passage,
            abstract, sentences), label and perhaps evidence_sentences (0-based) and question; or a
            run folder whose verdicts people reviewed.

    Returns:
        The pairs, each once, and the rows that could not be read. Rows of one question have one
        group; without questions those that share a sentence or passage.

    Raises:
        InputError: The file cannot be opened.
    """
    rows, rejections = read_labelled(path, CorrectnessRow, _pairs)
    return group_pairs(dict.fromkeys(pair for pairs in rows for pair in pairs)), rejections


def _pairs(row: CorrectnessRow) -> list[LabelledPair] | Problem:
    sentences = row.sentences or sentences_of(row.text)
    text = row.text or " ".join(sentences)
    if not text.strip():
        return Problem("evidence", "no text to compare the sentence with", "evidence, or sentences")
    word = str(row.label).strip().lower()
    label = next((i for i, name in enumerate(CORRECTNESS) if word in LABEL_WORDS[name]), None)
    if label is None:
        problem = f"found the text {found_text(str(row.label))}"
        return Problem("label", problem, "correct or incorrect")
    if any(not 0 <= place < len(sentences) for place in row.marked):
        wanted = f"numbers from 0 to {len(sentences) - 1}"
        return Problem("evidence_sentences", f"found {row.marked}", wanted)
    if not row.marked:
        return [LabelledPair(row.sentence, text, label, row.question)]
    span = " ".join(sentences[place] for place in sorted(set(row.marked)))
    pairs = [LabelledPair(row.sentence, span, label, row.question)]
    other = best_fragment(row.question or row.sentence, sentences, row.marked) if not label else ""
    if other:
        wrong = CORRECTNESS.index("incorrect")
        pairs.append(LabelledPair(row.sentence, other, wrong, row.question))
    return pairs


def best_fragment(query: str, sentences: Sequence[str], marked: Sequence[int]) -> str:
    """Return the fragment of three sentences that BM25 ranks first among those not marked.

    Args:
        sentences: Those of a document.
        marked: Places of sentences, from 0, that the fragment must not have.

    Returns:
        Empty where each fragment has a marked sentence, or none shares a word with the query.
    """
    last = max(1, len(sentences) - WINDOW + 1)
    runs = [range(start, min(start + WINDOW, len(sentences))) for start in range(last)]
    free = [run for run in runs if not set(run) & set(marked)]
    texts = [" ".join(sentences[run.start : run.stop]) for run in free]
    hits = Bm25Index(texts).search(query, 1)
    return texts[hits[0][0]] if hits else ""


def group_pairs(pairs: Iterable[LabelledPair]) -> list[LabelledPair]:
    """Give the pairs without a question that share a sentence or passage the same group."""
    pairs = list(pairs)
    unnamed = [(f"s {p.sentence}", f"p {p.passage}") for p in pairs if not p.group]
    groups = link_names(unnamed)
    return [p if p.group else replace(p, group=groups[f"s {p.sentence}"]) for p in pairs]


def read_completeness_pairs(
    path: Path, labels: Path | None
) -> tuple[list[LabelledPair], list[Rejection]]:
    """Read answer sentences with their questions; labels are places in `RELEVANCE_LABELS`.

    Args:
        path: Answers in any known format, such as MedAESQA's.
        labels: The file of the sentences' labels, where the answers have none.

    Raises:
        InputError: A file cannot be read, or no label is about a sentence of an answer.
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


def pairs_sha256(pairs: Sequence[LabelledPair]) -> str:
    """Return the hash of pairs, in their order."""
    rows = [(pair.sentence, pair.passage, pair.label) for pair in pairs]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()
