"""Match a number of a claim with a text: rounded, hedged, in another unit, or by one step."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from ragassay.text.number_mentions import NumberMention

ROUNDING, COARSE = Fraction(1, 5), Fraction(1, 20)
"""Furthest, relative to it, that a number rounded by the claim, or by the text, may be off ..."""
ABOUT, BEYOND, CALENDAR = Fraction(3, 25), Fraction(3, 2), Fraction(1, 10)
"""... that "about" may be; how far past its bound "more than" reaches; 3 months are 12 weeks."""

MOST_NUMBERS = 20
"""Numbers of two sentences that steps are taken with; bounds the time that a table takes."""

_FOLD_WORDS = (
    (re.compile(r"\b(?:doubl\w+|twice)\b", re.IGNORECASE), Fraction(2)),
    (re.compile(r"\b(?:tripl\w+|thrice|trebl\w+)\b", re.IGNORECASE), Fraction(3)),
    (re.compile(r"\bquadrupl\w+\b", re.IGNORECASE), Fraction(4)),
    (re.compile(r"\bhalv(?:ed|es|ing)\b", re.IGNORECASE), Fraction(1, 2)),
)
_UNITLESS = frozenset({"bare", "count", "ratio", "p", "year"})


def is_same(claimed: NumberMention, stated: NumberMention) -> bool:
    """Return whether a text states the number of a claim.

    Example:
        >>> from ragassay.text.number_mentions import read_mentions
        >>> is_same(read_mentions("nearly 2 g")[0], read_mentions("1930 mg")[0])
        True
    """
    if claimed.kind == stated.kind:
        return _is_near(claimed, stated.amount, stated)
    if "year" in (claimed.kind, stated.kind):
        return claimed.quantity.value == stated.quantity.value
    if claimed.kind in _UNITLESS or stated.kind in _UNITLESS:
        values = {abs(value) for value in (stated.quantity.value, *stated.quantity.also)}
        return abs(claimed.quantity.value) in values or (
            {claimed.kind, stated.kind} <= _UNITLESS and _is_near(claimed, stated.amount, stated)
        )
    return False


def _is_near(claimed: NumberMention, amount: Fraction, stated: NumberMention | None = None) -> bool:
    """Return whether an amount is what a claim says, as exactly as it says it."""
    mine, off = claimed.amount, abs(claimed.amount - amount)
    if off == 0 or (off <= claimed.step and off <= ROUNDING * amount):
        return True
    if stated and off <= stated.step and off <= COARSE * mine:
        return True
    if "about" in (claimed.bound, stated.bound if stated else "") and off <= ABOUT * amount:
        return True
    if claimed.kind == "time" and stated and _units_differ(claimed, stated):
        return off <= CALENDAR * amount
    bounds = ((claimed.bound, mine, amount), (stated.bound if stated else "", amount, mine))
    return any(
        (bound == "over" and least <= value <= BEYOND * least)
        or (bound == "under" and (value <= least <= BEYOND * value or claimed.kind == "p"))
        for bound, least, value in bounds
    )


def _units_differ(one: NumberMention, other: NumberMention) -> bool:
    first, second = one.quantity.unit, other.quantity.unit
    return bool(first and second and first.powers != second.powers)


def follows(claimed: NumberMention, stated: Sequence[NumberMention], text: str) -> bool:
    """Return whether the number of a claim follows from numbers of a text by one step.

    A difference, a sum, a share of a count, a change in percent, 1 minus a ratio.

    Args:
        claimed: A number of the claim.
        stated: The text's numbers, in order.
        text: The text, in which "doubled" is looked for.
    """
    if claimed.kind == "fold" and any(
        _is_near(claimed, value) and word.search(text) for word, value in _FOLD_WORDS
    ):
        return True
    steps = itertools.chain.from_iterable(_steps_of_one(claimed, one) for one in stated)
    pairs = _neighbours(stated)
    more = itertools.chain.from_iterable(_steps_of_two(claimed, *pair) for pair in pairs)
    return any(_is_near(claimed, amount) for amount in itertools.chain(steps, more))


def _steps_of_one(claimed: NumberMention, one: NumberMention) -> Iterator[Fraction]:
    is_ratio = one.kind == "ratio" and not one.in_interval
    if claimed.kind == "share":
        if is_ratio and claimed.change:
            yield abs(1 - one.amount)
        if one.kind == "fold" and claimed.change:
            yield abs(1 - one.amount)
    if claimed.kind == "fold":
        if is_ratio and abs(claimed.amount - one.amount) <= ABOUT * one.amount:
            yield claimed.amount
        if one.kind == "share" and one.change:
            yield 1 + one.amount
    if claimed.kind == "ratio" and one.kind == "share" and one.change:
        yield from (1 - one.amount, 1 + one.amount)
    if claimed.kind == "ratio" and one.kind == "fold":
        yield one.amount


def completes(claimed: NumberMention, stated: Sequence[NumberMention]) -> bool:
    """Return whether a share of a claim and one of a text come to 100 %."""
    return claimed.kind == "share" and any(
        one.kind == "share" and _is_near(claimed, abs(1 - one.amount)) for one in stated
    )


def _neighbours(stated: Sequence[NumberMention]) -> Iterator[tuple[NumberMention, NumberMention]]:
    """Yield the pairs of numbers of one sentence or two that follow each other, in both orders."""
    usable = [one for one in stated if not one.in_interval and one.kind not in ("year", "p")]
    for place, one in enumerate(usable):
        for other in usable[place + 1 : place + MOST_NUMBERS]:
            if other.sentence > one.sentence + 1:
                break
            yield one, other
            yield other, one


def _steps_of_two(
    claimed: NumberMention, one: NumberMention, other: NumberMention
) -> Iterator[Fraction]:
    a, b = one.amount, other.amount
    kinds = {one.kind, other.kind}
    is_one_kind = len(kinds) == 1 or kinds <= {"bare", "count"}
    if is_one_kind and (claimed.kind == one.kind or {claimed.kind, *kinds} <= {"bare", "count"}):
        if claimed.change:
            yield abs(a - b)
        if claimed.kind == "count" and one.sentence == other.sentence:
            yield a + b
    if claimed.kind == "share" and is_one_kind and b:
        if claimed.change:
            yield abs(a - b) / b
        elif kinds <= {"bare", "count"} and a < b:
            yield a / b
    if claimed.kind == "fold" and is_one_kind and b:
        yield a / b
    if claimed.kind == "count" and one.kind == "share" and other.kind in ("bare", "count"):
        # A share of a count that was itself rounded.
        exact = a * b
        if abs(claimed.amount - exact) <= max(one.step * b, Fraction(1, 2)):
            yield claimed.amount
