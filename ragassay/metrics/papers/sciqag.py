"""Scores of pairs by a judge, and their numbers looked up in the paper (Wan et al. 2024, 3.3)."""

from __future__ import annotations

import bisect
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ragassay.metrics.stats.intervals import mean_score
from ragassay.records import MOST_INTENT, RACAR, RACAR_SCALE, IntentSimilarity, RacarRating, Score
from ragassay.records.qa import AnswerNumber
from ragassay.text.quantities import Quantity, read_quantities
from ragassay.text.search import words_with_places

STRETCH = 40
"""Words of a stretch of text: a word counts the less, the more stretches have it."""

MOST_ROW = 2000
"""Characters of a table's row that are read; bounds the time that a hostile one takes."""

_TABLE = re.compile(r"^[^\n\t]*\t[^\n]*(?:\n[^\n\t]*\t[^\n]*)*", re.MULTILINE)
_LINE = re.compile(r"[^\n]+")

Row = tuple[int, int, frozenset[str]]
"""First character of a table's row, one past its last, its words and those of the table's head."""


@dataclass(frozen=True)
class Surroundings:
    """The words of a text, by place.

    Attributes:
        words: Its words in order.
        starts: Their first characters.
        weights: How much each word tells, by word.
        rows: Rows of its tables, which are lines with tabs, in order.
    """

    words: Sequence[str]
    starts: Sequence[int]
    weights: Mapping[str, float]
    rows: Sequence[Row] = ()

    @classmethod
    def of(cls, text: str) -> Surroundings:
        """Read the words of a text."""
        placed = words_with_places(text)
        words = [word for _, word in placed]
        stretches: dict[str, set[int]] = {}
        for place, word in enumerate(words):
            stretches.setdefault(word, set()).add(place // STRETCH)
        n = len(words) // STRETCH + 1
        weights = {word: math.log(1 + n / len(found)) for word, found in stretches.items()}
        return cls(words, [start for start, _ in placed], weights, _rows(text))

    def around(self, start: int, end: int, n: int) -> tuple[Sequence[str], Sequence[str]]:
        """Return up to n words before a span, and up to n behind it."""
        first, last = bisect.bisect_left(self.starts, start), bisect.bisect_left(self.starts, end)
        return self.words[max(0, first - n) : first], self.words[last : last + n]

    def row_at(self, place: int) -> frozenset[str] | None:
        """Return the words of a cell's row and of its table's head; None outside tables."""
        n = bisect.bisect_right(self.rows, place, key=lambda row: row[0]) - 1
        return self.rows[n][2] if n >= 0 and place < self.rows[n][1] else None

    def overlap(self, words: set[str], others: set[str]) -> float:
        """Return the share of words, by weight, that others have; 1 where none is this text's."""
        total = math.fsum(self.weights.get(word, 0.0) for word in words)
        shared = math.fsum(self.weights.get(word, 0.0) for word in words & others)
        return shared / total if total else 1.0


def _rows(text: str) -> list[Row]:
    found: list[Row] = []
    for table in _TABLE.finditer(text):
        lines = [*_LINE.finditer(text, *table.span())]
        head = _words(lines[0])
        found += [(*line.span(), frozenset(head | _words(line))) for line in lines]
    return found


def _words(line: re.Match[str]) -> set[str]:
    return {word for _, word in words_with_places(line[0][:MOST_ROW])}


MOST_ROUNDING = Fraction(1, 20)
"""How far, relative to it, "about" may be from the paper's number."""

WORDS_OF_ANSWER, WORDS_OF_SOURCE = 8, 20
"""Words before and behind a number that are compared."""

MOST_PLACES = 500
"""Places of one number that are compared; bounds the time that a long list of ones takes."""

LEAST_OVERLAP = 0.6
"""Share of the answer's words that the place in the paper must have, by weight ..."""
SAME_UNIT, ONE_UNIT, SAME_WORD = -0.3, 0.3, -0.2
"""... and what a unit that both name, that one names, and each equal word next to it change."""
IN_TABLE = -0.3
"""What a table's cell changes, whose words are its row's and its table's head's."""

_Powers = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class SourceNumbers:
    """The numbers of a paper, read once.

    Attributes:
        all: Its quantities, in order.
        by_size: The same by value.
        by_value: The same by each value that their notation allows.
        by_power: Those that may be powers of ten.
        by_amount: Those with a unit, by their value in base units.
        surroundings: Its words.
    """

    all: tuple[Quantity, ...]
    by_size: tuple[Quantity, ...]
    by_value: dict[Fraction, list[Quantity]]
    by_power: dict[Fraction, list[Quantity]]
    by_amount: dict[tuple[Fraction, _Powers], list[Quantity]]
    surroundings: Surroundings

    @classmethod
    def of(cls, text: str) -> SourceNumbers:
        """Read the numbers of a paper's text."""
        quantities = tuple(one for one in read_quantities(text) if not one.is_name)
        source = cls(
            quantities,
            tuple(sorted(quantities, key=lambda one: one.value)),
            defaultdict(list),
            defaultdict(list),
            defaultdict(list),
            Surroundings.of(text),
        )
        for one in quantities:
            source._add(one)
        return source

    def _add(self, one: Quantity) -> None:
        for value in {one.value, *one.also}:
            self.by_value[value].append(one)
            if one.unit:
                self.by_amount[value * one.unit.factor, one.unit.powers].append(one)
        if one.power is not None:
            self.by_power[one.power].append(one)

    def places(self, one: Quantity) -> list[Quantity]:
        """Return where a paper has a number, in whatever notation; at most `MOST_PLACES`."""
        same = self.by_value.get(one.value, ())[:MOST_PLACES]
        powers = self.by_power.get(one.power, ()) if one.power is not None else ()
        found = [other for other in (*same, *powers[:MOST_PLACES]) if _is_like(one, other)]
        if one.unit:
            amount = one.value * one.unit.factor, one.unit.powers
            found += self.by_amount.get(amount, ())[:MOST_PLACES]
        return found or (self._near(one) if one.is_about else [])

    def _near(self, about: Quantity) -> list[Quantity]:
        """Return what "about 3" may be: 2.98, rounded to its last figure, and not far off."""
        off = min(MOST_ROUNDING * abs(about.value), Fraction(10) ** -about.digits / 2)
        first = bisect.bisect_left(self.by_size, about.value - off, key=lambda one: one.value)
        last = bisect.bisect_right(self.by_size, about.value + off, key=lambda one: one.value)
        return [one for one in self.by_size[first:last][:MOST_PLACES] if _is_like(about, one)]


def answer_numbers(answer: str, source: SourceNumbers) -> tuple[AnswerNumber, ...]:
    """Return the numbers that an answer states, and whether its paper has each.

    Equation 2 asks whether a number occurs in the paper (`is_found`). A wrong one may occur
    elsewhere in it; `is_near` asks for more: the same unit, and words around it that the answer has
    around it too. That goes beyond the paper.

    Returns:
        In order; empty for an answer without a number. `where` is the place most like the answer.

    Example:
        >>> found = answer_numbers("It took 2 h, not 5 h.", SourceNumbers.of("after 120 min"))
        >>> [(one.text, one.is_found) for one in found]
        [('2', True), ('5', False)]
    """
    own = Surroundings.of(answer)
    found: list[AnswerNumber] = []
    for one in read_quantities(answer):
        if one.is_name:
            continue
        spare, place = _best_place(one, own, source)
        found.append(
            AnswerNumber(
                text=answer[one.start : one.end],
                start=one.start,
                end=one.end,
                is_found=place is not None,
                where=None if place is None else place.start,
                is_near=place is not None and spare >= 0,
            )
        )
    return tuple(found)


def _best_place(
    one: Quantity, own: Surroundings, source: SourceNumbers
) -> tuple[float, Quantity | None]:
    """Return the place of a number that is most like the answer, and its overlap to spare."""
    before, behind = own.around(one.start, _end(one), WORDS_OF_ANSWER)
    best: tuple[float, Quantity | None] = (-math.inf, None)
    for place in source.places(one):
        spare = _spare(one, place, before, behind, source.surroundings)
        if spare > best[0]:
            best = spare, place
    return best


def _spare(
    one: Quantity,
    place: Quantity,
    before: Sequence[str],
    behind: Sequence[str],
    source: Surroundings,
) -> float:
    """Return by how much what stands around a place is more like the answer than it must be."""
    row = source.row_at(place.start)
    if row is not None:
        return source.overlap({*before, *behind}, set(row)) - LEAST_OVERLAP - IN_TABLE
    left, right = source.around(place.start, _end(place), WORDS_OF_SOURCE)
    n_equal = (before[-1:] == left[-1:] != []) + (behind[:1] == right[:1] != [])
    unit = (0.0, ONE_UNIT, SAME_UNIT)[(one.unit is not None) + (place.unit is not None)]
    overlap = source.overlap({*before, *behind}, {*left, *right})
    return overlap - LEAST_OVERLAP - unit - SAME_WORD * n_equal


def _end(one: Quantity) -> int:
    return max(one.end, one.unit.end) if one.unit else one.end


def _is_like(one: Quantity, other: Quantity) -> bool:
    """Return whether two quantities have one unit, as far as both name theirs."""
    if one.unit is None or other.unit is None:
        return True
    return (one.unit.powers, one.unit.factor) == (other.unit.powers, other.unit.factor)


def racar_scores(ratings: Sequence[RacarRating], judge: str) -> dict[str, Score]:
    """Return the mean rating of pairs in each dimension, 1 to 3; empty without ratings."""
    low, high = map(float, RACAR_SCALE)
    by_dimension = {name: [r for r in ratings if r.dimension == name] for name in RACAR}
    return {
        f"racar.{name}": drop_undecided_mean(
            mean_score([r.score for r in own], (low, high), judge), own
        )
        for name, own in by_dimension.items()
        if own
    }


def drop_undecided_mean(mean: Score, ratings: Sequence[RacarRating]) -> Score:
    """Return a mean, without its value where some ratings are undecided.

    What leaves pairs undecided decides some values more readily than others, so that a mean over
    the rest would be no estimate: its bounds stay.
    """
    if not any(one.is_undecided for one in ratings):
        return mean
    none: dict[str, None] = {"value": None, "low": None, "high": None}
    return mean.model_copy(update=none)


def intent_scores(found: Sequence[IntentSimilarity], judge: str) -> dict[str, Score]:
    """Return the mean similarity of questions by intent, 0 to 100; empty without a comparison."""
    if not found:
        return {}
    scale = (0.0, float(MOST_INTENT))
    return {"intent.similarity": mean_score([one.score for one in found], scale, judge)}
