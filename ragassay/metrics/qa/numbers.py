"""Look up the numbers of answers in their paper (SciQAG, section 3.3, equation 2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ragassay.metrics.intervals import share_interval
from ragassay.metrics.scoring import build_score, rounded
from ragassay.records import Score
from ragassay.records.qa_measures import AnswerNumber
from ragassay.text.quantities import Quantity, read_quantities

MOST_ROUNDING = Fraction(1, 20)
"""How far, relative to it, "about" may be from the paper's number."""


_Powers = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class SourceNumbers:
    """The numbers of a paper, read once.

    Attributes:
        text: The paper's text.
        by_value: Its quantities, by each value that their notation allows.
        by_power: Those that may be powers of ten.
        by_amount: Those with a unit, by their value in base units.
    """

    text: str
    by_value: dict[Fraction, list[Quantity]]
    by_power: dict[Fraction, list[Quantity]]
    by_amount: dict[tuple[Fraction, _Powers], list[Quantity]]

    @classmethod
    def of(cls, text: str) -> SourceNumbers:
        """Read the numbers of a paper's text."""
        source = cls(text, defaultdict(list), defaultdict(list), defaultdict(list))
        for one in read_quantities(text):
            if not one.is_name:
                source._add(one)
        return source

    def _add(self, one: Quantity) -> None:
        for value in {one.value, *one.also}:
            self.by_value[value].append(one)
            if one.unit:
                self.by_amount[value * one.unit.factor, one.unit.powers].append(one)
        if one.power is not None:
            self.by_power[one.power].append(one)


def answer_numbers(answer: str, source: SourceNumbers) -> tuple[AnswerNumber, ...]:
    """Return the numbers that an answer states, and whether its paper has each.

    Args:
        answer: The answer.
        source: The numbers of its paper.

    Returns:
        In order; empty for an answer without a number.

    Example:
        >>> found = answer_numbers("It took 2 h, not 5 h.", SourceNumbers.of("after 120 min"))
        >>> [(one.text, one.is_found) for one in found]
        [('2', True), ('5', False)]
    """
    found: list[AnswerNumber] = []
    for one in read_quantities(answer):
        if one.is_name:
            continue
        place = _place(one, source)
        found.append(
            AnswerNumber(
                text=answer[one.start : one.end],
                start=one.start,
                end=one.end,
                is_found=place is not None,
                where=place,
            )
        )
    return tuple(found)


def _place(one: Quantity, source: SourceNumbers) -> int | None:
    """Return where a paper has a number; None where it has not."""
    same = [q for q in source.by_value.get(one.value, ()) if _is_like(one, q)]
    if one.unit:
        same += source.by_amount.get((one.value * one.unit.factor, one.unit.powers), ())
    if one.power is not None:
        same += [q for q in source.by_power.get(one.power, ()) if _is_like(one, q)]
    if not same and one.is_about:
        same = [q for q in _all(source) if _is_like(one, q) and _rounds_to(q.value, one)]
    return same[0].start if same else None


def _all(source: SourceNumbers) -> list[Quantity]:
    return [one for same in source.by_value.values() for one in same]


def _is_like(one: Quantity, other: Quantity) -> bool:
    """Return whether two quantities have one unit, as far as both name theirs."""
    if one.unit is None or other.unit is None:
        return True
    return (one.unit.powers, one.unit.factor) == (other.unit.powers, other.unit.factor)


def _rounds_to(exact: Fraction, about: Quantity) -> bool:
    """Return whether "about 3" is 2.98 rounded: to its last figure, and not far off."""
    step = Fraction(10) ** -about.digits
    is_near = abs(exact - about.value) <= MOST_ROUNDING * abs(about.value)
    return is_near and abs(exact - about.value) <= step / 2


def answers_with_numbers(answers: Sequence[Sequence[AnswerNumber]]) -> Score:
    """Return the share of answers that state a number, with Wilson's interval.

    Args:
        answers: The numbers of each answer.

    Returns:
        In [0, 1]; without a value for no answer.
    """
    n_hits = sum(bool(numbers) for numbers in answers)
    return _share(n_hits, len(answers))


def numbers_found(answers: Sequence[Sequence[AnswerNumber]]) -> Score:
    """Return the share of the answers' numbers that their paper has (equation 2).

    Numbers of one answer resemble each other; Wilson's interval takes them as apart, and is
    therefore somewhat narrow.

    Args:
        answers: The numbers of each answer.

    Returns:
        In [0, 1]; without a value for no number.
    """
    numbers = [one for answer in answers for one in answer]
    return _share(sum(one.is_found for one in numbers), len(numbers))


def _share(n_hits: int, n: int) -> Score:
    return rounded(build_score(n_hits / n if n else None, n, 0, share_interval(n_hits, n)))
