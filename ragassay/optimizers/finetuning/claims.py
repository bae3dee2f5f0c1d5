"""Read labelled claims, create contradicting claims, and pair claims with passages."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import AliasChoices, Field
from scipy.cluster.hierarchy import DisjointSet

from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, quote_text
from ragassay.formats.reviews import read_claim_items
from ragassay.formats.rows import Row
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.optimizers.compiling.items import read_rows
from ragassay.perturbations.counterfactuals import Change, turn_direction, turn_negation
from ragassay.perturbations.numbers import change_number
from ragassay.records import Rejection, Verdict
from ragassay.text.search import build_passage
from ragassay.text.sentences import extract_sentences

NOT_RELEVANT = 3
"""Label of a claim and an unrelated document."""

LABEL_OF = {
    "support": SUPPORTS,
    "supports": SUPPORTS,
    "contradict": CONTRADICTS,
    "contradicts": CONTRADICTS,
    "refute": CONTRADICTS,
    "refutes": CONTRADICTS,
    "nei": NEUTRAL,
    "neutral": NEUTRAL,
    "not_relevant": NOT_RELEVANT,
    "not relevant": NOT_RELEVANT,
}
"""Labels, keyed by their lower-case names in SciFact, HealthVer and FEVER."""

WORDS: dict[int, Verdict] = {
    SUPPORTS: "supports",
    CONTRADICTS: "contradicts",
    NEUTRAL: "neutral",
    NOT_RELEVANT: "not_relevant",
}


@dataclass(frozen=True)
class LabelledClaim:
    """A claim and a document, with the label of this pair.

    Attributes:
        title: Title of the document, which can be empty.
        rationale: Indices of the decisive sentences. Empty if unknown.
        label: `SUPPORTS`, `CONTRADICTS`, `NEUTRAL` or `NOT_RELEVANT`.
        group: Name shared by claims with the same text or document. Claims in the same group are
            never split between training and dev data.
    """

    claim: str
    title: str
    sentences: tuple[str, ...]
    rationale: tuple[int, ...]
    label: int
    group: str


NO_EVIDENCE = Problem("evidence", "there is no evidence text", "text in `evidence` or `sentences`")


class EvidenceRow(Row):
    """Row of a file, with a document and optional indices of its decisive sentences."""

    text: str = Field(default="", validation_alias=AliasChoices("evidence", "passage", "abstract"))
    sentences: list[str] = Field(default_factory=list[str])
    marked: list[int] = Field(
        default_factory=list[int], validation_alias=AliasChoices("evidence_sentences", "rationale")
    )

    @property
    def document_sentences(self) -> tuple[str, ...]:
        """Sentences of the document."""
        return tuple(self.sentences or extract_sentences(self.text))

    def find_wrong_mark(self) -> Problem | None:
        """Return a problem if the document does not contain a marked sentence."""
        last = len(self.document_sentences) - 1
        if all(0 <= index <= last for index in self.marked):
            return None
        return Problem("evidence_sentences", f"found {self.marked}", f"numbers from 0 to {last}")


class LabelledClaimRow(EvidenceRow):
    """Row of a file, with a claim, its document and its label, as in SciFact and HealthVer."""

    claim: str = Field(min_length=1)
    title: str = ""
    label: str


def read_claims(path: Path) -> tuple[list[LabelledClaim], list[Rejection]]:
    """Read labelled claims, grouped by claim and document.

    Args:
        path: JSON lines or a JSON array, possibly gzip-compressed, with the fields claim, evidence
            (or passage, abstract, sentences) and label, and the optional fields title and
            evidence_sentences (0-based). The path can also be a reviewed run folder.

    Returns:
        The claims, and the rejected rows.

    Raises:
        InputError: The file cannot be opened.
    """
    claims, rejections = read_rows(read_claim_items(path), LabelledClaimRow, _parse_claim)
    return group_claims(claims), list(rejections)


def _parse_claim(row: LabelledClaimRow, item: Item) -> LabelledClaim | Problem:
    sentences = row.document_sentences
    if not sentences:
        return NO_EVIDENCE
    label = parse_label(row.label)
    if label is None:
        return Problem(
            "label",
            f"found the text {quote_text(row.label)}",
            " or ".join(dict.fromkeys(WORDS.values())),
        )
    if problem := row.find_wrong_mark():
        return problem
    return LabelledClaim(row.claim, row.title, sentences, tuple(row.marked), label, "")


def list_claim_names(claim: LabelledClaim) -> tuple[str, str]:
    """Return the names by which claims are grouped: the text of the claim and of its document."""
    return f"claim {claim.claim}", f"document {' '.join(claim.sentences)}"


def group_claims(claims: Sequence[LabelledClaim]) -> list[LabelledClaim]:
    """Assign the same group to claims that share a text or a document."""
    groups = link_names(map(list_claim_names, claims))
    return [replace(claim, group=groups[list_claim_names(claim)[0]]) for claim in claims]


def parse_label(text: str) -> int | None:
    """Return the label with a given name, or None if the name is unknown.

    Example:
        >>> parse_label("REFUTES") == CONTRADICTS, parse_label("maybe")
        (True, None)
    """
    return LABEL_OF.get(text.strip().lower())


def link_names(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the group of each name. The two names of a pair are in the same group.

    Example:
        >>> groups = link_names([("a", "x"), ("b", "x"), ("c", "y")])
        >>> groups["a"] == groups["b"], groups["a"] == groups["c"]
        (True, False)
    """
    sets = DisjointSet()
    for left, right in pairs:
        sets.add(left)
        sets.add(right)
        sets.merge(left, right)
    return {name: min(subset) for subset in sets.subsets() for name in subset}


NUMBERS = 0.1
"""Share of supported claims in which numbers can be changed. With a larger share, a verifier tends
to label any sentence with many numbers as a contradiction."""


def contradict(sentence: str, rng: random.Random, *, numbers: bool = True) -> str | None:
    """Change a sentence so that the evidence for the original contradicts it.

    Args:
        rng: Random generator. Reversing a direction is twice as likely as any other change.
        numbers: Whether numbers can be changed.

    Returns:
        The changed sentence, or None if no change is possible.

    Example:
        >>> contradict("Drug A, then.", random.Random(0)) is None
        True
        >>> contradict("Drug A gave higher pressure.", random.Random(0))
        'Drug A gave lower pressure.'
    """
    changes: list[Change] = [turn_direction, turn_direction, turn_negation]
    if numbers:
        changes.append(change_number)
    options = [changed for change in changes if (changed := change(sentence, rng))]
    return rng.choice(options) if options else None


def reverse_label(claim: LabelledClaim, rng: random.Random) -> LabelledClaim | None:
    """Change a claim so that its label is reversed.

    In a contradicted claim, only a direction is reversed, because a document that contradicts a
    claim does not necessarily support its negation.

    Returns:
        The changed claim, or None if the claim is neutral or no change is possible.
    """
    if claim.label == SUPPORTS:
        numbers = rng.random() < NUMBERS
        text, label = contradict(claim.claim, rng, numbers=numbers), CONTRADICTS
    elif claim.label == CONTRADICTS:
        text, label = turn_direction(claim.claim, rng), SUPPORTS
    else:
        return None
    return replace(claim, claim=text, label=label) if text else None


NOT_CONTRADICTED = 3
"""Training label of a claim that is either supported or neutral, but not contradicted."""


@dataclass(frozen=True)
class Example:
    """A claim and a passage, with the label of this pair, such as `NOT_CONTRADICTED`."""

    claim: str
    passage: str
    label: int


def build_claim_examples(claims: Iterable[LabelledClaim]) -> list[Example]:
    """Pair each claim with a passage of its document that contains the decisive sentences.

    The label `NOT_RELEVANT` is replaced by `NEUTRAL`.
    """
    return [
        Example(
            c.claim,
            build_passage(c.claim, c.sentences, c.title, c.rationale),
            NEUTRAL if c.label == NOT_RELEVANT else c.label,
        )
        for c in claims
    ]
