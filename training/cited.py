"""Sentences of models' answers beside the abstracts that they cite (YESciEval's train part).

Nobody labelled them. A cited sentence of an unperturbed answer is taken to be supported where its
document has most of its words and all of its numbers; another paper of the same question, which the
sentence does not cite and which shares few words with it, neither supports nor contradicts it.
Words count by their inverse document frequency.
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
from ragassay.text.quantities import numbers_of
from ragassay.text.search import tokenize
from ragassay.text.segmenter import segment
from ragassay.text.sentences import sentences_of

PARTS = ("bioasq", "orkg-synthesis")
COVERED = 0.5
"""Share of a cited sentence's words above which its document is taken to support it."""

FOREIGN = 0.35
"""Share of its words below which a document that it does not cite is taken to be neutral."""

LEAST_CHARS = 400
"""A shorter answer broke off."""

N_WORDS = (8, 60)


class Overlap:
    """How much of a sentence's words other texts have, by inverse document frequency.

    Args:
        texts: Texts that the frequencies are counted in.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        analyzer: Any = tokenize  # its types know names only
        self._vectorizer = TfidfVectorizer(analyzer=analyzer, sublinear_tf=True).fit(texts)

    def shares(self, claim: str, sentences: list[str]) -> Any:
        """Return the share of the claim's words in each sentence and in all, shape (n + 1,)."""
        texts = [*sentences, " ".join(sentences)]
        weights = self._vectorizer.transform([claim])
        found = self._vectorizer.transform(texts) != 0
        return (found @ weights.T).toarray()[:, 0] / max(float(weights.sum()), 1e-9)


@dataclass(frozen=True)
class CitedSentence:
    """A sentence and one document of its question, cited or not.

    Attributes:
        claim: The pair, labelled as the module says.
        covered: Share of the sentence's words that the document has.
        closest: Numbers (0-based) of the document's sentences, the closest first.
        answer: The answer's id.
        is_cited: Whether the sentence cites the document.
        is_alone: Whether it cites no other.
    """

    claim: LabelledClaim
    covered: float
    closest: tuple[int, ...]
    answer: str
    is_cited: bool
    is_alone: bool

    @cached_property
    def is_clear(self) -> bool:
        """Whether the label is trusted enough to train on."""
        if not self.is_cited:
            return self.covered < FOREIGN
        known = numbers_of(" ".join([self.claim.title, *self.claim.sentences]))
        return self.covered >= COVERED and numbers_of(self.claim.claim) <= known


def is_dev(question: str) -> bool:
    """Return whether a question is kept for development: a fifth, by the hash of its id."""
    return int(hashlib.sha256(question.encode()).hexdigest(), 16) % 5 == 0


def whole_answers(shared: Path) -> list[Record]:
    """Read the unperturbed answers of ordinary length."""
    folder = shared / "data" / "yescieval"
    paths = [folder / f"{part}-train-answers.jsonl.gz" for part in PARTS]
    return [
        record
        for path in paths
        for record in read_records(path).records
        if record.metadata["variant"] == "benign" and len(str(record.answer)) >= LEAST_CHARS
    ]


def cited_sentences(records: list[Record]) -> Iterator[CitedSentence]:
    """Yield the sentences of answers with each of their question's documents."""
    overlap = Overlap({d.text for record in records for d in record.sources})
    cut: dict[str, list[str]] = {}
    for record in records:
        for source in record.sources:
            cut.setdefault(source.text, sentences_of(source.text))
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
