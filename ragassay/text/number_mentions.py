"""Find the numbers stated in a text, and match them with the numbers in a claim."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from ragassay.text.number_context import (
    AFTER,
    BEFORE,
    LEAD,
    NOT_MORE,
    Bound,
    Kind,
    classify_number,
    collect_concepts,
    collect_head_stems,
    collect_name_stems,
    collect_noun_stems,
    detect_bound,
    extract_nearby_text,
    find_clause_spans,
    find_range_partners,
    find_unit_end,
    is_change,
    is_in_interval,
    is_period,
)
from ragassay.text.number_qualifiers import Qualifier, find_qualifiers
from ragassay.text.quantities import Quantity, read_quantities
from ragassay.text.sentences import split_sentences
from ragassay.text.units import MOLAR_MASS_G

_NEGATION = re.compile(
    rf"(?!{NOT_MORE}|not? (?:less|fewer) than)\b(?:not|no|nor|never|cannot)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_SLASH_AFTER, _SLASH_BEFORE = re.compile(r"\s?/\s?\d"), re.compile(r"\d\s?/\s?$")
_DAY_S = 86_400
MONTH_S = Fraction(36525, 1200) * _DAY_S
WORD_SHARE = Fraction(1, 20)
"""Maximum relative difference for shares in words, so that "a quarter" matches 24.6 %."""


@dataclass(frozen=True)
class NumberMention:
    """A number stated in a text.

    Attributes:
        end: Offset after the number and its unit.
        amount: Absolute value in base units.
        step: Maximum rounding error in base units: half a unit of the last digit.
        in_interval: Whether the number is a limit of a confidence interval, or a measure of spread.
        noun: Stems of the nouns that follow a count, or that a rate counts.
        sentence: 0-based index of the sentence in the text.
        partner: 1 if the number starts a range, -1 if it ends a range, otherwise 0.
        near: Stems of the words near the number in the same clause.
        head: Stems of the words next to the number, first before it, then after it.
        names: Stems of the names near the number and at the start of the sentence.
        lead: Stems of the words between the start of the sentence and its first number.
        change: Whether the number is the size of a difference, as in "5% lower".
        period: Whether the number is a period over which something was measured.
        qualifiers: Words that restrict the number to a group, a dose or a point in time.
        topic: Stems of the words in the first sentence of the text, which may be its title.
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
    qualifiers: frozenset[Qualifier]
    topic: frozenset[str]


@lru_cache(maxsize=64)
def read_mentions(text: str) -> tuple[NumberMention, ...]:
    """Return the numbers stated in a text, in order.

    Example:
        >>> [(m.kind, str(m.amount)) for m in read_mentions("It fell in 12% of 40 type 2 cases.")]
        [('share', '3/25'), ('count', '40')]
    """
    quantities = [one for one in read_quantities(text) if not one.is_name]
    spans = split_sentences(text)
    topic = collect_concepts(text[slice(*spans[0])]) if spans else frozenset[str]()
    starts = [one.start for one in quantities]
    mentions: list[NumberMention] = []
    for n, span in enumerate(spans):
        first, last = (bisect_left(starts, edge) for edge in span)
        if first < last:
            mentions += _read_sentence(text, span, n, quantities[first:last], topic)
    return tuple(mentions)


def _read_sentence(
    text: str,
    span: tuple[int, int],
    number: int,
    quantities: Sequence[Quantity],
    topic: frozenset[str],
) -> Iterator[NumberMention]:
    """Yield the numbers in a sentence, except the levels of confidence intervals."""
    lead_text = text[max(span[0], quantities[0].start - LEAD) : quantities[0].start]
    lead, lead_names, words = (
        collect_concepts(lead_text),
        collect_name_stems(lead_text),
        collect_concepts(text[slice(*span)]),
    )
    clauses, partners = (
        find_clause_spans(text, span, quantities),
        find_range_partners(text, quantities),
    )
    for one, clause, partner in zip(quantities, clauses, partners, strict=True):
        start, last = one.start, find_unit_end(one, text)
        before = text[max(span[0], start - BEFORE) : start]
        after = text[last : min(span[1], last + AFTER)]
        sentence_start = text[max(span[0], start - LEAD) : start]
        kind = classify_number(one, before, text[one.end : one.end + 24], after, sentence_start)
        if kind is None:
            continue
        amount, step = _compute_amount(one)
        near = extract_nearby_text(text, start, last, clause)
        is_counted = bool(one.unit) and one.unit.numbered_from is not None and last == one.end
        noun = collect_noun_stems(after) if kind == "bare" or is_counted else ()
        is_first = clause[0] == span[0]
        in_interval = is_in_interval(before, bool(partner))
        yield NumberMention(
            start=start,
            end=last,
            quantity=one,
            kind="count" if noun and kind == "bare" else kind,
            amount=abs(amount),
            step=step,
            bound=detect_bound(one, before, after),
            in_interval=in_interval,
            noun=noun,
            sentence=number,
            partner=partner,
            near=collect_concepts(" ".join(near)),
            head=collect_head_stems(*near),
            names=lead_names
            | collect_name_stems(near[0], is_first)
            | collect_name_stems(near[1], False),
            lead=lead,
            words=words,
            is_negated=bool(_NEGATION.search(" ".join(near))),
            change=is_change(before, after),
            period=kind == "time" and is_period(before),
            qualifiers=find_qualifiers(f"{near[0]}{text[start:last]}{near[1]}", lead_text)
            | _find_place(text, one, kind, partner if in_interval else 0),
            topic=topic,
        )


def _find_place(text: str, one: Quantity, kind: Kind, partner: int) -> frozenset[Qualifier]:
    """Return which limit of an interval, or which number of "120/80 mm Hg", a number is."""
    if partner:
        return frozenset({("limit", "lower" if partner > 0 else "upper")})
    if kind != PRESSURE:
        return frozenset()
    if _SLASH_AFTER.match(text, one.end):
        return frozenset({("pressure", "systolic")})
    is_second = _SLASH_BEFORE.search(text, max(0, one.start - 8), one.start)
    return frozenset({("pressure", "diastolic")} if is_second else ())


def _compute_amount(one: Quantity) -> tuple[Fraction, Fraction]:
    """Return the value of a number and its maximum rounding error in base units."""
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
"""Maximum relative differences of numbers that are rounded in the claim and in the text."""
ABOUT, BEYOND, CALENDAR = Fraction(3, 25), Fraction(3, 2), Fraction(1, 10)
"""Maximum relative difference for "about", maximum ratio of a number to its bound ("over"), and
maximum relative difference between calendar units (3 months are 12 weeks)."""

MOST_NUMBERS = 20
"""Maximum distance between two combined numbers, counted in numbers. The limit bounds the run
time."""

_FOLD_WORDS = (
    (re.compile(r"\b(?:doubl\w+|twice)\b", re.IGNORECASE), Fraction(2)),
    (re.compile(r"\b(?:tripl\w+|thrice|trebl\w+)\b", re.IGNORECASE), Fraction(3)),
    (re.compile(r"\bquadrupl\w+\b", re.IGNORECASE), Fraction(4)),
    (re.compile(r"\bhalv(?:ed|es|ing)\b", re.IGNORECASE), Fraction(1, 2)),
)
PRESSURE = "mmHg1"
"""Kind of pressures in mm Hg, such as blood pressure."""
RATE = "month-1"
"""Kind of rates such as "12 per 1,000 person-years" and "1.2 % a year", whose unit is 1/month."""
_MASS_IN_VOLUME, _MOLES_IN_VOLUME = "g1 m-3", "m-3 mol1"
_TEMPERATURES = frozenset({"celsius1", "fahrenheit1"})
_UNITLESS = frozenset({"bare", "count", "ratio", "p", "statistic", "year"})


def is_same(claimed: NumberMention, stated: NumberMention) -> bool:
    """Return whether a text states the same number as a claim.

    Example:
        >>> is_same(read_mentions("nearly 2 g")[0], read_mentions("1930 mg")[0])
        True
    """
    if claimed.kind == stated.kind:
        return _is_near(claimed, stated.amount, stated)
    if "year" in (claimed.kind, stated.kind):
        return claimed.quantity.value == stated.quantity.value
    if {claimed.kind, stated.kind} == {"share", RATE}:
        # "1.2 % a year" and "12 per 1,000" if the year is mentioned elsewhere.
        return _is_near(
            _convert_to_yearly(claimed),
            _convert_to_yearly(stated).amount,
            _convert_to_yearly(stated),
        )
    if {claimed.kind, stated.kind} == {_MASS_IN_VOLUME, _MOLES_IN_VOLUME}:
        return _is_same_concentration(claimed, stated)
    if {claimed.kind, stated.kind} == _TEMPERATURES:
        celsius, fahrenheit = sorted((claimed, stated), key=lambda one: one.kind)
        return abs(celsius.amount * 9 / 5 + 32 - fahrenheit.amount) <= 1
    if _is_written_as_decimal(claimed, stated) or _is_written_as_decimal(stated, claimed):
        return _is_near(claimed, stated.amount, stated)
    if claimed.kind in _UNITLESS or stated.kind in _UNITLESS:
        values = {abs(value) for value in (stated.quantity.value, *stated.quantity.also)}
        return abs(claimed.quantity.value) in values or (
            {claimed.kind, stated.kind} <= _UNITLESS and _is_near(claimed, stated.amount, stated)
        )
    return False


def _is_written_as_decimal(share: NumberMention, one: NumberMention) -> bool:
    """Return whether a number may be a share without a percent sign, such as 0.87 for 87 %."""
    is_decimal = one.kind in ("bare", "ratio") and one.amount < 1 and one.quantity.digits > 1
    return share.kind == "share" and is_decimal


def _is_same_concentration(one: NumberMention, other: NumberMention) -> bool:
    """Return whether a mass and an amount in moles are equal, such as 126 mg/dL of glucose."""
    mass, moles = (one, other) if one.kind == _MASS_IN_VOLUME else (other, one)
    masses = (MOLAR_MASS_G[word] for word in one.words if word in MOLAR_MASS_G)
    return any(
        abs(Fraction(per_mole) * moles.amount - mass.amount) <= COARSE * mass.amount
        for per_mole in masses
    )


def _convert_to_yearly(one: NumberMention) -> NumberMention:
    return replace(one, amount=12 * one.amount, step=12 * one.step) if one.kind == RATE else one


def _is_near(claimed: NumberMention, amount: Fraction, stated: NumberMention | None = None) -> bool:
    """Return whether an amount agrees with a claimed number, given rounding, bounds and "about"."""
    mine, off = claimed.amount, abs(claimed.amount - amount)
    if off == 0 or (off <= claimed.step and off <= ROUNDING * amount):
        return True
    if stated and off <= stated.step and off <= COARSE * mine:
        return True
    if "about" in (claimed.bound, stated.bound if stated else "") and off <= ABOUT * amount:
        return True
    if claimed.kind == "time" and stated and _has_other_unit(claimed, stated):
        return off <= CALENDAR * amount
    is_bound = claimed.bound in ("over", "under") and claimed.kind != "p"
    if stated and is_bound and claimed.bound == stated.bound:
        # Of two thresholds, the claim's may be only slightly wider than the text's.
        is_wider = mine < amount if claimed.bound == "over" else mine > amount
        return is_wider and off <= COARSE * amount and claimed.kind not in _TEMPERATURES
    bounds = ((claimed.bound, mine, amount), (stated.bound if stated else "", amount, mine))
    is_p = claimed.kind == "p"
    return any(
        (bound == "over" and least <= value and (is_p or value <= BEYOND * least))
        or (bound == "under" and value <= least and (is_p or least <= BEYOND * value))
        for bound, least, value in bounds
    )


def _has_other_unit(one: NumberMention, other: NumberMention) -> bool:
    first, second = one.quantity.unit, other.quantity.unit
    return bool(first and second and first.powers != second.powers)


def can_compute_number(claimed: NumberMention, stated: Sequence[NumberMention], text: str) -> bool:
    """Return whether a claimed number can be computed from the numbers in a text in one step.

    A step is a difference, a sum, a share of a count, a percent change, or 1 minus a ratio. Words
    in the text such as "doubled" also state a factor. `stated` must be in text order.
    """
    if claimed.kind == "fold" and any(
        _is_near(claimed, value) and word.search(text) for word, value in _FOLD_WORDS
    ):
        return True
    steps = (step for one in stated for step in _derive_from_one(claimed, one))
    more = (step for pair in _pair_neighbours(stated) for step in _derive_from_two(claimed, *pair))
    return any(_is_near(claimed, amount) for amount in itertools.chain(steps, more))


def _derive_from_one(claimed: NumberMention, one: NumberMention) -> Iterator[Fraction]:
    is_ratio = one.kind == "ratio" and not one.in_interval
    if claimed.kind == "share" and claimed.change and (is_ratio or one.kind == "fold"):
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


def completes_share(claimed: NumberMention, stated: Sequence[NumberMention]) -> bool:
    """Return whether a share in a claim and a share in a text add up to 100 %."""
    return claimed.kind == "share" and any(
        one.kind == "share" and _is_near(claimed, abs(1 - one.amount)) for one in stated
    )


def _pair_neighbours(
    stated: Sequence[NumberMention],
) -> Iterator[tuple[NumberMention, NumberMention]]:
    usable = [one for one in stated if not one.in_interval and one.kind not in ("year", "p")]
    for index, one in enumerate(usable):
        for other in usable[index + 1 : index + MOST_NUMBERS]:
            if other.sentence > one.sentence + 1:
                break
            yield one, other
            yield other, one


def _derive_from_two(
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
        # A rounded share of a count.
        exact = a * b
        if abs(claimed.amount - exact) <= max(one.step * b, Fraction(1, 2)):
            yield claimed.amount
