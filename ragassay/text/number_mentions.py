"""Read the numbers that a text states, each with its kind and the words around it.

A kind says what may be compared: two shares, two spans of time, two counts. Numbers of names,
references and lists are left out, and so is the level of a confidence interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    words_near,
)
from ragassay.text.number_words import stems_of
from ragassay.text.quantities import Quantity, read_quantities
from ragassay.text.sentences import split_sentences

_DAY_S = 86_400
MONTH_S = Fraction(36525, 1200) * _DAY_S
WORD_SHARE = Fraction(1, 20)
"""How far, relative to it, a share in words may be off: "a quarter" is 24.6 %."""


@dataclass(frozen=True)
class NumberMention:
    """A number that a text states.

    Attributes:
        start: Its first character.
        end: One past its last, its unit included.
        quantity: The number as it was read.
        kind: What it measures.
        amount: Its size in the kind's base units, without a sign.
        step: Half a unit of its last digit, in base units: what rounding may hide.
        bound: Whether it is about, over or under that.
        in_interval: Whether it is an end of a confidence interval, or a spread.
        noun: Stems of the words that follow a count: what is counted.
        sentence: Number of its sentence, from 0.
        partner: Where the other end of its range is: 1 for the next number, -1 for the last one.
        near: Stems of the words of its clause that are not far from it.
        head: Stems of the words next to it, the closest first.
        names: Stems of the names of its clause and of `lead`.
        lead: Stems of the words between the sentence's start and its first number.
        words: Stems of the words of its sentence.
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
        found += _Sentence(text, (start, end), n, inside, topic).mentions()
    return tuple(found)


@dataclass(frozen=True)
class _Sentence:
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
        noun = noun_of(behind) if kind == "bare" else ()
        is_first = clause[0] == self.span[0]
        return NumberMention(
            start=start,
            end=last,
            quantity=one,
            kind="count" if noun else kind,
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
