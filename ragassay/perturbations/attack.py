"""What an attack is, and what it has at hand."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragassay.perturbations.answer import CutAnswer
from ragassay.perturbations.neighbours import Neighbours
from ragassay.perturbations.pools import Side
from ragassay.records import AttackFamily, Record, Severity

Rephrase = Callable[[str], str]
"""Says a sentence again in other words."""


@dataclass(frozen=True)
class Material:
    """What an attack on one answer may draw from.

    Attributes:
        record: Whose answer it is.
        rng: Its own, so that no other attack and no other record changes what it does.
        side: Which texts it may use.
        neighbours: The other records.
        retracted: PMIDs of retracted articles, in order.
        rephrase: Writes redundant sentences; None for rules.
    """

    record: Record
    rng: random.Random
    side: Side
    neighbours: Neighbours
    retracted: Sequence[str] = ()
    rephrase: Rephrase | None = None


@dataclass(frozen=True)
class Damage:
    """What an attack did.

    Attributes:
        answer: After it.
        pool: The genre of the text that it put in; empty where it put in none from a pool.
    """

    answer: CutAnswer
    pool: str = ""


Apply = Callable[[CutAnswer, Material], Damage | None]
"""Damages an answer of at least one sentence; None where there is nothing to do."""


@dataclass(frozen=True)
class Attack:
    """A way to damage an answer.

    Attributes:
        name: e.g. "off_topic".
        family: What it is about.
        severity: How plain the damage is.
        targets: The scores that ought to fall ("rubric.relevancy", "citations.support"), and
            "findings.KIND" where it is a finding of that kind that ought to come up.
        apply: Does it.
    """

    name: str
    family: AttackFamily
    severity: Severity
    targets: tuple[str, ...]
    apply: Apply


def rubrics(*names: str) -> tuple[str, ...]:
    """The score names of rubrics."""
    return tuple(f"rubric.{name}" for name in names)
