"""Measure how uncertain verdicts are, and parse conditions for asking a second judge."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ragassay.errors import SettingsError
from ragassay.records import NOTHING_TO_JUDGE, Judgment, VerdictBase

POSSIBLE = (
    "'entropy>X' (entropy of the ratings or labels in bits), 'confidence<X' (probability of the "
    "verdict) or 'undecided' (verdicts without a decision), joined by 'and' or 'or', such as "
    "'entropy>1.0 or confidence<0.5'"
)

_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)"
_TERMS = {
    "entropy": re.compile(rf"entropy\s*>\s*{_NUMBER}"),
    "confidence": re.compile(rf"confidence\s*<\s*{_NUMBER}"),
    "undecided": re.compile(r"undecided()"),
    "unscored": re.compile(r"unscored()"),
}

MISSING = ("undecided", "unscored")
"""Terms that no scored verdict satisfies. "unscored" is the old name for "undecided"."""


@dataclass(frozen=True)
class Term:
    """Comparison of a verdict's entropy or confidence with a bound, or the term "undecided"."""

    what: Literal["entropy", "confidence", "undecided", "unscored"]
    bound: float = 0.0

    def is_satisfied_by(self, verdict: VerdictBase) -> bool:
        """Return whether a scored verdict satisfies the term; unknown values always satisfy it."""
        if self.what in MISSING:
            return False
        if self.what == "entropy":
            entropy = find_entropy(verdict)
            return entropy is None or entropy > self.bound
        confidence = find_confidence(verdict)
        return confidence is None or confidence < self.bound


@dataclass(frozen=True)
class Condition:
    """Condition under which a verdict is uncertain, so that a second judge is asked.

    Attributes:
        ways: Lists of terms. The condition is true if all terms of at least one list are true.
    """

    text: str
    ways: tuple[tuple[Term, ...], ...]

    def is_unsure(self, verdict: VerdictBase) -> bool:
        """Return whether a second judge should be asked.

        The second judge is always asked about failed and undecided verdicts, unless there was
        nothing to judge.
        """
        if verdict.failure is not None:
            return verdict.failure.reason not in NOTHING_TO_JUDGE
        return any(all(term.is_satisfied_by(verdict) for term in way) for way in self.ways)


def parse_condition(text: str) -> Condition:
    """Parse a condition, in which "and" has precedence over "or".

    Raises:
        SettingsError: If a term is invalid.

    Example:
        >>> parse_condition("entropy>1 or confidence < .5").text
        'entropy>1 or confidence<0.5'
    """
    ways = tuple(
        tuple(_parse_term(part, text) for part in way.strip().split(" and "))
        for way in " ".join(text.lower().split()).split(" or ")
    )
    normalized = " or ".join(" and ".join(map(_write_term, way)) for way in ways)
    return Condition(normalized, ways)


def _parse_term(part: str, text: str) -> Term:
    for what, pattern in _TERMS.items():
        match = pattern.fullmatch(part)
        if match:
            bound = float(match[1] or 0)
            if what == "confidence" and not 0 < bound <= 1:
                raise SettingsError(f"{part!r}: a confidence must be between 0 and 1")
            return Term(what, bound)  # type: ignore[arg-type]
    location = "" if part == text else f" in {text!r}"
    raise SettingsError(f"{part!r}{location} is not a condition; use {POSSIBLE}")


def _write_term(term: Term) -> str:
    sign = {"entropy": ">", "confidence": "<"}.get(term.what, "")
    return f"{term.what}{sign}{f'{term.bound:g}' if sign else ''}"


def entropy_bits(shares: Iterable[float]) -> float | None:
    """Return the Shannon entropy H = - sum p log2 p of shares normalized to 1.

    Returns:
        Entropy in bits, from 0 to log2 n, or None if all shares are 0.

    Example:
        >>> entropy_bits([0.5, 0.25, 0.25])
        1.5
    """
    known = [share for share in shares if share > 0]
    total = math.fsum(known)
    if not total:
        return None
    return abs(math.fsum(share / total * math.log2(total / share) for share in known))


def round_entropy(shares: Iterable[float] | None) -> float | None:
    """Return the entropy in bits, rounded to four digits, or None if there is no distribution."""
    entropy = None if shares is None else entropy_bits(shares)
    return None if entropy is None else round(entropy, 4)


def find_entropy(verdict: VerdictBase) -> float | None:
    """Return the entropy of a verdict's distribution in bits, or None if unknown."""
    if isinstance(verdict, Judgment):
        return None if verdict.distribution is None else entropy_bits(verdict.distribution)
    return verdict.entropy_bits


def find_confidence(verdict: VerdictBase) -> float | None:
    """Return the probability of a verdict's value or of the most likely rating, in [0, 1]."""
    if isinstance(verdict, Judgment):
        return None if verdict.distribution is None else max(verdict.distribution)
    return verdict.confidence
