"""Types of an attack and of its inputs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragassay.perturbations.answer import CutAnswer
from ragassay.perturbations.neighbours import Neighbours
from ragassay.perturbations.pools import Side
from ragassay.records import AttackFamily, Record, Severity

Rephrase = Callable[[str], str]
"""Paraphrases a sentence."""


@dataclass(frozen=True)
class Material:
    """The inputs of an attack on one answer.

    Attributes:
        record: The answer's record.
        rng: A generator of its own, so that other attacks and records do not change the result.
        side: The side whose texts it may use.
        neighbours: The other records.
        retracted: PMIDs of retracted articles, in order.
        rephrase: Paraphrases redundant sentences; None for rules.
    """

    record: Record
    rng: random.Random
    side: Side
    neighbours: Neighbours
    retracted: Sequence[str] = ()
    rephrase: Rephrase | None = None


@dataclass(frozen=True)
class Damage:
    """The result of an attack.

    Attributes:
        answer: The damaged answer.
        pool: The genre of the inserted text; empty where none came from a pool.
    """

    answer: CutAnswer
    pool: str = ""


Apply = Callable[[CutAnswer, Material], Damage | None]
"""Damages an answer of at least one sentence; returns None where it does not apply."""


@dataclass(frozen=True)
class Attack:
    """A way to damage an answer.

    Attributes:
        name: e.g. "off_topic".
        family: The kind of damage.
        severity: How obvious the damage is.
        targets: The scores that should fall ("rubric.relevancy", "citations.support"), and
            "findings.KIND" where a finding of that kind should appear.
        apply: The function that does it.
    """

    name: str
    family: AttackFamily
    severity: Severity
    targets: tuple[str, ...]
    apply: Apply


def rubrics(*names: str) -> tuple[str, ...]:
    """Return the score names of rubrics."""
    return tuple(f"rubric.{name}" for name in names)
