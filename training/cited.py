"""Pair sentences of model answers with the abstracts that they cite (YESciEval's train part).

The pairs have no human labels. A cited sentence of an unperturbed answer counts as supported if its
document contains most of its words and all of its numbers. Another paper of the same question
counts as neutral if the sentence does not cite it and shares few words with it. Words are weighted
by inverse document frequency.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from ragassay.formats import read_records
from ragassay.models.entailment import NEUTRAL, SUPPORTS
from ragassay.optimizers.finetuning.claims import LabelledClaim
from ragassay.records import Record
from ragassay.text.quantities import extract_numbers
from ragassay.text.search import tokenize
from ragassay.text.segmenter import segment
from ragassay.text.sentences import extract_sentences

PARTS = ("bioasq", "orkg-synthesis")
COVERED = 0.5
"""Minimum share of a cited sentence's words in its document for a supports label."""

FOREIGN = 0.35
"""Maximum share of a sentence's words in an uncited document for a neutral label."""

LEAST_CHARS = 400
"""Shorter answers are considered truncated."""

N_WORDS = (8, 60)


class Overlap:
    """IDF-weighted share of a sentence's words in other texts.

    Args:
        texts: Texts from which to count document frequencies.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        analyzer: Any = tokenize  # its type stubs accept only strings
        self._vectorizer = TfidfVectorizer(analyzer=analyzer, sublinear_tf=True).fit(texts)

    def shares(self, claim: str, sentences: list[str]) -> Any:
        """Return the share of the claim's words in each sentence and in all, shape (n + 1,)."""
        texts = [*sentences, " ".join(sentences)]
        weights = self._vectorizer.transform([claim])
        found = self._vectorizer.transform(texts) != 0
        return (found @ weights.T).toarray()[:, 0] / max(float(weights.sum()), 1e-9)


@dataclass(frozen=True)
class CitedSentence:
    """A sentence and a document of its question, cited or not.

    Attributes:
        claim: Claim with the label described in the module docstring.
        covered: Share of the sentence's words in the document.
        closest: Indices of the document's sentences, closest first.
        answer: Answer id.
        is_cited: Whether the sentence cites the document.
        is_alone: Whether the sentence cites no other document.
    """

    claim: LabelledClaim
    covered: float
    closest: tuple[int, ...]
    answer: str
    is_cited: bool
    is_alone: bool

    @cached_property
    def is_clear(self) -> bool:
        """Whether the label is reliable enough for training."""
        if not self.is_cited:
            return self.covered < FOREIGN
        known = extract_numbers(" ".join([self.claim.title, *self.claim.sentences]))
        return self.covered >= COVERED and extract_numbers(self.claim.claim) <= known


def is_dev(question: str) -> bool:
    """Return whether a question is in the development fifth, by the hash of its id."""
    return int(hashlib.sha256(question.encode()).hexdigest(), 16) % 5 == 0


def whole_answers(shared: Path) -> list[Record]:
    """Read the unperturbed answers that are not truncated."""
    folder = shared / "data" / "yescieval"
    paths = [folder / f"{part}-train-answers.jsonl.gz" for part in PARTS]
    return [
        record
        for path in paths
        for record in read_records(path).records
        if record.metadata["variant"] == "benign" and len(str(record.answer)) >= LEAST_CHARS
    ]


def cited_sentences(records: list[Record]) -> Iterator[CitedSentence]:
    """Yield answer sentences, each paired with every document of their question."""
    overlap = Overlap({d.text for record in records for d in record.sources})
    cut: dict[str, list[str]] = {}
    for record in records:
        for source in record.sources:
            cut.setdefault(source.text, extract_sentences(source.text))
        _, sentences, _ = segment(record, lambda name: None)
        for sentence in sentences:
            cited = {c.document for c in sentence.citations if c.document}
            if not cited or not N_WORDS[0] <= len(sentence.text.split()) <= N_WORDS[1]:
                continue
            for source in record.sources:
                texts, is_cited = cut[source.text], source.id in cited
                shares = overlap.shares(sentence.text, [source.title, *texts])
                claim = LabelledClaim(
                    claim=sentence.text,
                    title=source.title,
                    sentences=tuple(texts),
                    rationale=(),
                    label=SUPPORTS if is_cited else NEUTRAL,
                    group=f"yescieval {record.topic}",
                )
                yield CitedSentence(
                    claim=claim,
                    covered=float(shares[-1]),
                    closest=tuple(np.argsort(-shares[1:-1]).tolist()),
                    answer=record.id,
                    is_cited=is_cited,
                    is_alone=len(cited) == 1,
                )
