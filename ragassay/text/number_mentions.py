"""Read the numbers that a text states, and match a claimed number with them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from ragassay.text.number_context import (
    AFTER,
    BEFORE,
    LEAD,
    Bound,
    Kind,
    bound_of,
    clauses_of,
    end_of,
    head_of,
    is_change,
    is_in_interval,
    is_period,
    kind_of,
    names_of,
    noun_of,
    partners_of,
    stems_of,
    words_near,
)
from ragassay.text.quantities import Quantity, read_quantities
from ragassay.text.sentences import split_sentences

_NEGATION = re.compile(r"\b(?:not|no|nor|never|cannot)\b|n['\u2019]t\b", re.IGNORECASE)
_DAY_S = 86_400
MONTH_S = Fraction(36525, 1200) * _DAY_S
WORD_SHARE = Fraction(1, 20)
"""How far, relative to it, a share in words may be off: "a quarter" is 24.6 %."""


@dataclass(frozen=True)
class NumberMention:
    """A number that a text states.

    Attributes:
        end: One past its last, its unit included.
        quantity: The number as it was read.
        amount: Its size in the kind's base units, without a sign.
        step: Half a unit of its last digit, in base units: what rounding may hide.
        bound: Whether it is about, over or under that.
        in_interval: Whether it is an end of a confidence interval, or a spread.
        noun: Stems of the words that follow a count or stand in a rate: what is counted.
        sentence: Number of its sentence, from 0.
        partner: Where the other end of its range is: 1 for the next number, -1 for the last one.
        near: Stems of the words of its clause that are not far from it.
        head: Stems of the words next to it, the closest first.
        names: Stems of the names of its clause and of `lead`.
        lead: Stems of the words between the sentence's start and its first number.
        is_negated: Whether its clause denies something.
        change: Whether it says by how much something differs.
        period: Whether it is a time that says when something was measured.
        topic: Stems of the words of the text's first sentence, or of its title.
    """

    start: int
    end: int
    quantity: Quantity
    kind: Kind
    amount: Fraction
    step: Fraction
    bound: Bound
    in_interval: bool
    noun: tuple[str, ...]
    sentence: int
    partner: Literal[-1, 0, 1]
    near: frozenset[str]
    head: tuple[str, ...]
    names: frozenset[str]
    lead: frozenset[str]
    words: frozenset[str]
    is_negated: bool
    change: bool
    period: bool
    topic: frozenset[str]


@lru_cache(maxsize=64)
def read_mentions(text: str) -> tuple[NumberMention, ...]:
    """Return the numbers that a text states, in order.

    Example:
        >>> [(m.kind, str(m.amount)) for m in read_mentions("It fell in 12% of 40 type 2 cases.")]
        [('share', '3/25'), ('count', '40')]
    """
    quantities = [one for one in read_quantities(text) if not one.is_name]
    spans = split_sentences(text)
    topic = stems_of(text[slice(*spans[0])]) if spans else frozenset[str]()
    found: list[NumberMention] = []
    place = 0
    for n, (start, end) in enumerate(spans):
        inside: list[Quantity] = []
        while place < len(quantities) and quantities[place].start < end:
            if quantities[place].start >= start:
                inside.append(quantities[place])
            place += 1
        found += _SentenceWords(text, (start, end), n, inside, topic).mentions()
    return tuple(found)


@dataclass(frozen=True)
class _SentenceWords:
    """A sentence with the numbers in it: what all of its mentions share."""

    text: str
    span: tuple[int, int]
    number: int
    quantities: Sequence[Quantity]
    topic: frozenset[str]

    def mentions(self) -> list[NumberMention]:
        """Return the mentions of its numbers."""
        if not self.quantities:
            return []
        first = self.quantities[0].start
        lead = self.text[max(self.span[0], first - LEAD) : first]
        words = stems_of(self.text[slice(*self.span)])
        clauses = clauses_of(self.text, self.span, self.quantities)
        partners = partners_of(self.text, self.quantities)
        shared = stems_of(lead), names_of(lead), words
        found = map(self._mention, self.quantities, clauses, partners, [shared] * len(partners))
        return [one for one in found if one]

    def _mention(
        self,
        one: Quantity,
        clause: tuple[int, int],
        partner: Literal[-1, 0, 1],
        shared: tuple[frozenset[str], frozenset[str], frozenset[str]],
    ) -> NumberMention | None:
        """Return the mention of a number; None for the level of an interval."""
        text, start, last = self.text, one.start, end_of(one, self.text)
        before = text[max(self.span[0], start - BEFORE) : start]
        behind = text[last : min(self.span[1], last + AFTER)]
        kind = kind_of(one, before, text[one.end : one.end + 24], behind, self._until(start))
        if kind is None:
            return None
        lead, lead_names, words = shared
        amount, step = _amount(one)
        near = words_near(text, start, last, clause)
        is_counted = bool(one.unit) and one.unit.numbered_from is not None and last == one.end
        noun = noun_of(behind) if kind == "bare" or is_counted else ()
        is_first = clause[0] == self.span[0]
        return NumberMention(
            start=start,
            end=last,
            quantity=one,
            kind="count" if noun and kind == "bare" else kind,
            amount=abs(amount),
            step=step,
            bound=bound_of(one, before, behind),
            in_interval=is_in_interval(before, bool(partner)),
            noun=noun,
            sentence=self.number,
            partner=partner,
            near=stems_of(" ".join(near)),
            head=head_of(*near),
            names=lead_names | names_of(near[0], is_first) | names_of(near[1], False),
            lead=lead,
            words=words,
            is_negated=bool(_NEGATION.search(" ".join(near))),
            change=is_change(before, behind),
            period=kind == "time" and is_period(before),
            topic=self.topic,
        )

    def _until(self, start: int) -> str:
        return self.text[max(self.span[0], start - LEAD) : start]


def _amount(one: Quantity) -> tuple[Fraction, Fraction]:
    """Return a number's size and half the unit of its last digit, in base units."""
    factor = one.unit.factor if one.unit else Fraction(1)
    if one.unit and one.unit.powers == (("month", 1),):
        factor *= MONTH_S
    elif one.unit and ("s", -1) in one.unit.powers:
        factor *= _DAY_S
    half = Fraction(10) ** -max(one.digits, 0) / 2 * one.factor
    if one.value.denominator > 1 and not one.digits:
        return one.value * factor, one.value * factor * WORD_SHARE
    return one.value * factor, half * factor


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
RATE = "month-1"
"""The kind of "12 per 1,000 person-years" and "1.2 % a year", per month as they are read."""
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
    if {claimed.kind, stated.kind} == {"share", RATE}:
        # "1.2 % a year" and "12 per 1,000", where the year stands elsewhere.
        return _is_near(_per_year(claimed), _per_year(stated).amount, _per_year(stated))
    if claimed.kind in _UNITLESS or stated.kind in _UNITLESS:
        values = {abs(value) for value in (stated.quantity.value, *stated.quantity.also)}
        return abs(claimed.quantity.value) in values or (
            {claimed.kind, stated.kind} <= _UNITLESS and _is_near(claimed, stated.amount, stated)
        )
    return False


def _per_year(one: NumberMention) -> NumberMention:
    """Return a rate as the share of a year that it is; others as they are."""
    return replace(one, amount=12 * one.amount, step=12 * one.step) if one.kind == RATE else one


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
    if (
        stated
        and claimed.bound == stated.bound != "about"
        and claimed.bound
        and claimed.kind != "p"
    ):
        # Two thresholds: the claim's may only be a little wider than the text's.
        is_wider = mine < amount if claimed.bound == "over" else mine > amount
        return is_wider and off <= COARSE * amount
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

    A difference, a sum, a share of a count, a change in percent, 1 minus a ratio; "doubled" is
    looked for in the text, whose numbers stand in order.
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
