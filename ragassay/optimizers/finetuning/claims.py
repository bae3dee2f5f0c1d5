"""Labelled claims for training: read, turned into contradictions, and paired with passages."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from pydantic import AliasChoices, Field
from scipy.cluster.hierarchy import DisjointSet

from ragassay.formats.problems import Problem, found_text, validate
from ragassay.formats.reviews import claim_items
from ragassay.formats.rows import Row
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.perturbations.counterfactuals import Change, turn_direction, turn_negation
from ragassay.perturbations.numbers import change_number
from ragassay.records import Rejection, Verdict
from ragassay.text.search import passage_of_sentences
from ragassay.text.sentences import sentences_of

NOT_RELEVANT = 3
"""The label of a claim paired with a document on another subject."""

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
"""Labels by the words of several collections (SciFact, HealthVer, FEVER), in lower case."""

WORDS: dict[int, Verdict] = {
    SUPPORTS: "supports",
    CONTRADICTS: "contradicts",
    NEUTRAL: "neutral",
    NOT_RELEVANT: "not_relevant",
}


R = TypeVar("R", bound=Row)
T = TypeVar("T")


@dataclass(frozen=True)
class LabelledClaim:
    """A claim, a document, and the label of the pair.

    Attributes:
        title: The document's title; may be empty.
        rationale: The decisive sentences, 0-based; empty if unknown.
        label: `SUPPORTS`, `CONTRADICTS`, `NEUTRAL` or `NOT_RELEVANT`.
        group: Claims with a shared text have one group; no split divides a group.
    """

    claim: str
    title: str
    sentences: tuple[str, ...]
    rationale: tuple[int, ...]
    label: int
    group: str


class LabelledClaimRow(Row):
    """A row of a claims file (SciFact's pairs, HealthVer): a claim, its document and the label."""

    claim: str = Field(min_length=1)
    text: str = Field(default="", validation_alias=AliasChoices("evidence", "passage", "abstract"))
    sentences: list[str] = Field(default_factory=list[str])
    title: str = ""
    marked: list[int] = Field(
        default_factory=list[int], validation_alias=AliasChoices("evidence_sentences", "rationale")
    )
    label: str


def read_claims(path: Path) -> tuple[list[LabelledClaim], list[Rejection]]:
    """Read the labelled claims of a file, grouped by claim and document.

    Args:
        path: JSON lines or an array, plain or gzip, of claim, evidence (or passage, abstract,
            sentences), label, and perhaps title and evidence_sentences (0-based); or a run folder
            whose verdicts people reviewed.

    Returns:
        The claims, and the rows that could not be read.

    Raises:
        InputError: The file cannot be opened.
    """
    claims, rejections = read_labelled(path, LabelledClaimRow, _claim)
    return group_claims(claims), rejections


def read_labelled(
    path: Path, kind: type[R], make: Callable[[R], T | Problem]
) -> tuple[list[T], list[Rejection]]:
    """Read the rows of a file of claims, or of a run folder that people reviewed.

    Args:
        kind: The model of a row.
        make: Makes of a row what is wanted, or says what is wrong with it.

    Returns:
        What was made, and the rows that could not be read.

    Raises:
        InputError: The file cannot be opened.
    """
    found: list[T] = []
    rejections: list[Rejection] = []
    for item in claim_items(path):
        if isinstance(item, Rejection):
            rejections.append(item)
            continue
        row = validate(kind, item.fields)
        made = row if isinstance(row, Problem) else make(row)
        if isinstance(made, Problem):
            rejections.append(item.place.reject(made))
        else:
            found.append(made)
    return found, rejections


def _claim(row: LabelledClaimRow) -> LabelledClaim | Problem:
    sentences = tuple(row.sentences or sentences_of(row.text))
    if not sentences:
        return Problem("evidence", "no text to compare the claim with", "evidence, or sentences")
    label = label_of(row.label)
    if label is None:
        return Problem(
            "label",
            f"found the text {found_text(row.label)}",
            " or ".join(dict.fromkeys(WORDS.values())),
        )
    if any(not 0 <= place < len(sentences) for place in row.marked):
        wanted = f"numbers from 0 to {len(sentences) - 1}"
        return Problem("evidence_sentences", f"found {row.marked}", wanted)
    return LabelledClaim(row.claim, row.title, sentences, tuple(row.marked), label, "")


def claim_names(claim: LabelledClaim) -> tuple[str, str]:
    """Return the two names that link a claim to others: its own text, and its document's."""
    return f"claim {claim.claim}", f"document {' '.join(claim.sentences)}"


def group_claims(claims: Sequence[LabelledClaim]) -> list[LabelledClaim]:
    """Give the claims that share a text or a document the same group."""
    groups = link_names(map(claim_names, claims))
    return [replace(claim, group=groups[claim_names(claim)[0]]) for claim in claims]


def label_of(text: str) -> int | None:
    """Return the label of a collection's word; None for an unknown word.

    Example:
        >>> label_of("REFUTES") == CONTRADICTS, label_of("maybe")
        (True, None)
    """
    return LABEL_OF.get(text.strip().lower())


def link_names(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Group names that pairs link: the group's name, by name.

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
"""Share of the supported claims whose number may be changed: with more such examples a verifier
takes any sentence full of figures for a contradiction."""


def contradict(sentence: str, rng: random.Random, *, numbers: bool = True) -> str | None:
    """Make one change after which a sentence's evidence contradicts it.

    Args:
        rng: Draws the change; a reversed direction is twice as likely as any other.
        numbers: Whether a number may be changed.

    Returns:
        None where no change applies.

    Example:
        >>> contradict("Drug A, then.", random.Random(0)) is None
        True
        >>> contradict("Drug A gave higher pressure.", random.Random(0))
        'Drug A gave lower pressure.'
    """
    changes: list[Change] = [turn_direction, turn_direction, turn_negation]
    if numbers:
        changes.append(change_number)
    found = [changed for change in changes if (changed := change(sentence, rng))]
    return rng.choice(found) if found else None


def contrary(claim: LabelledClaim, rng: random.Random) -> LabelledClaim | None:
    """Reverse a labelled claim; of a contradicted one, only its direction.

    If a document contradicts a claim, it does not necessarily state the claim's negation.

    Returns:
        None for a neutral claim, or if no change applies.
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
"""The label of a pair that is supported or neutral, nobody knows which; for training alone."""


@dataclass(frozen=True)
class Example:
    """A claim, a passage, and `SUPPORTS`, `CONTRADICTS`, `NEUTRAL` or `NOT_CONTRADICTED`."""

    claim: str
    passage: str
    label: int


def claim_examples(claims: Iterable[LabelledClaim]) -> list[Example]:
    """Pair claims with what is read of their documents; `NOT_RELEVANT` becomes neutral.

    Sentences that people marked as decisive are read before others.
    """
    return [
        Example(
            c.claim,
            passage_of_sentences(c.claim, c.sentences, c.title, c.rationale),
            NEUTRAL if c.label == NOT_RELEVANT else c.label,
        )
        for c in claims
    ]
