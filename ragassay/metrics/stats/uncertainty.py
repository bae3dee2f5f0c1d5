"""The uncertainty of a verdict, and the condition for asking a second judge."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ragassay.errors import SettingsError
from ragassay.records import NOTHING_TO_JUDGE, Judgment, VerdictBase

POSSIBLE = (
    "'entropy>X' (bits, of the distribution over the ratings or labels), 'confidence<X' (the "
    "probability of what was said) and 'undecided' (nothing that was decided), joined by 'and' or "
    "'or', such as 'entropy>1.0 or confidence<0.5'"
)

_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)"
_TERMS = {
    "entropy": re.compile(rf"entropy\s*>\s*{_NUMBER}"),
    "confidence": re.compile(rf"confidence\s*<\s*{_NUMBER}"),
    "undecided": re.compile(r"undecided()"),
    "unscored": re.compile(r"unscored()"),
}

MISSING = ("undecided", "unscored")
"""Terms that hold for no verdict that was given; "unscored" is the older word."""


@dataclass(frozen=True)
class Term:
    """One condition on a verdict: a value beyond a bound."""

    what: Literal["entropy", "confidence", "undecided", "unscored"]
    bound: float = 0.0

    def holds(self, verdict: VerdictBase) -> bool:
        """Return whether a scored verdict meets it; an unknown value counts as not sure."""
        if self.what in MISSING:
            return False
        if self.what == "entropy":
            entropy = entropy_of(verdict)
            return entropy is None or entropy > self.bound
        confidence = confidence_of(verdict)
        return confidence is None or confidence < self.bound


@dataclass(frozen=True)
class Condition:
    """A condition for an uncertain verdict: any of several ways, each of several terms.

    Attributes:
        text: The condition in normalised spelling.
        ways: Alternatives, each of terms that must all hold; "and" binds closer than "or".
    """

    text: str
    ways: tuple[tuple[Term, ...], ...]

    def is_unsure(self, verdict: VerdictBase) -> bool:
        """Return whether a verdict should be asked for again.

        One that failed or is undecided always should, whatever the condition, unless the reason
        lies in the data: nothing to compare with, nothing to rate.
        """
        if verdict.failure is not None:
            return verdict.failure.reason not in NOTHING_TO_JUDGE
        return any(all(term.holds(verdict) for term in way) for way in self.ways)


def parse_condition(text: str) -> Condition:
    """Read a condition.

    Raises:
        SettingsError: A part is invalid; the message lists the possible ones.

    Example:
        >>> parse_condition("entropy>1 or confidence < .5").text
        'entropy>1 or confidence<0.5'
    """
    ways = tuple(
        tuple(_term(part, text) for part in way.strip().split(" and "))
        for way in " ".join(text.lower().split()).split(" or ")
    )
    written = " or ".join(" and ".join(map(_write_term, way)) for way in ways)
    return Condition(written, ways)


def _term(part: str, text: str) -> Term:
    for what, pattern in _TERMS.items():
        match = pattern.fullmatch(part)
        if match:
            bound = float(match[1] or 0)
            if what == "confidence" and not 0 < bound <= 1:
                raise SettingsError(f"{part!r}: a confidence lies between 0 and 1")
            return Term(what, bound)  # type: ignore[arg-type]
    whole = "" if part == text else f" in {text!r}"
    raise SettingsError(f"{part!r}{whole} is not a condition; there are {POSSIBLE}")


def _write_term(term: Term) -> str:
    sign = {"entropy": ">", "confidence": "<"}.get(term.what, "")
    return f"{term.what}{sign}{f'{term.bound:g}' if sign else ''}"


def entropy_bits(shares: Iterable[float]) -> float | None:
    """Return the Shannon entropy of a distribution.

    H = - sum p log2 p, over the shares normalised to 1.

    Returns:
        In bits: from 0 for a single outcome to log2 n for n equal ones. None if all shares are 0.

    Example:
        >>> entropy_bits([0.5, 0.25, 0.25])
        1.5
    """
    known = [share for share in shares if share > 0]
    total = math.fsum(known)
    if not total:
        return None
    return abs(math.fsum(share / total * math.log2(total / share) for share in known))


def rounded_bits(shares: Iterable[float] | None) -> float | None:
    """Return the entropy as stored in a record; None without a distribution."""
    found = None if shares is None else entropy_bits(shares)
    return None if found is None else round(found, 4)


def entropy_of(verdict: VerdictBase) -> float | None:
    """Return the entropy of a verdict's distribution, in bits; None if the judge gave none."""
    if isinstance(verdict, Judgment):
        return None if verdict.distribution is None else entropy_bits(verdict.distribution)
    return verdict.entropy_bits


def confidence_of(verdict: VerdictBase) -> float | None:
    """Return the probability of a judge's value, in [0, 1]; for a rating, the likeliest one's."""
    if isinstance(verdict, Judgment):
        return None if verdict.distribution is None else max(verdict.distribution)
    return verdict.confidence
