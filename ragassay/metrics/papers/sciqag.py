"""Score QA pairs, and look up the answers' numbers in the source paper (Wan et al. 2024, 3.3)."""

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
from ragassay.text.search import find_word_positions

STRETCH = 40
"""Number of words in a text segment. Words that occur in many segments have a low weight."""

MOST_ROW = 2000
"""Maximum number of characters to read from a table row, to limit the run time."""

_TABLE = re.compile(r"^[^\n\t]*\t[^\n]*(?:\n[^\n\t]*\t[^\n]*)*", re.MULTILINE)
_LINE = re.compile(r"[^\n]+")

Row = tuple[int, int, frozenset[str]]
"""Start and end offsets of a table row, and the words in the row and the table header."""


@dataclass(frozen=True)
class Surroundings:
    """Words of a text, with their positions.

    Attributes:
        weights: Inverse segment frequency, keyed by word.
        rows: Table rows in the order of the text. A table consists of lines with tabs.
    """

    words: Sequence[str]
    starts: Sequence[int]
    weights: Mapping[str, float]
    rows: Sequence[Row] = ()

    @classmethod
    def from_text(cls, text: str) -> Surroundings:
        """Read the words and tables of a text."""
        located = find_word_positions(text)
        words = [word for _, word in located]
        segments: dict[str, set[int]] = {}
        for i, word in enumerate(words):
            segments.setdefault(word, set()).add(i // STRETCH)
        n = len(words) // STRETCH + 1
        weights = {word: math.log(1 + n / len(used_in)) for word, used_in in segments.items()}
        return cls(words, [start for start, _ in located], weights, _find_rows(text))

    def list_words_around(
        self, start: int, end: int, n: int
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Return up to n words before and after a span."""
        first, last = bisect.bisect_left(self.starts, start), bisect.bisect_left(self.starts, end)
        return self.words[max(0, first - n) : first], self.words[last : last + n]

    def find_row_words(self, place: int) -> frozenset[str] | None:
        """Return the words of the table row that contains an offset, with its header, or None."""
        n = bisect.bisect_right(self.rows, place, key=lambda row: row[0]) - 1
        return self.rows[n][2] if n >= 0 and place < self.rows[n][1] else None

    def compute_overlap(self, words: set[str], others: set[str]) -> float:
        """Return the weighted share of words that are in `others`, or 1 if no word has a weight."""
        total = math.fsum(self.weights.get(word, 0.0) for word in words)
        shared = math.fsum(self.weights.get(word, 0.0) for word in words & others)
        return shared / total if total else 1.0


def _find_rows(text: str) -> list[Row]:
    rows: list[Row] = []
    for table in _TABLE.finditer(text):
        lines = [*_LINE.finditer(text, *table.span())]
        header = _collect_words(lines[0])
        rows += [(*line.span(), frozenset(header | _collect_words(line))) for line in lines]
    return rows


def _collect_words(line: re.Match[str]) -> set[str]:
    return {word for _, word in find_word_positions(line[0][:MOST_ROW])}


MOST_ROUNDING = Fraction(1, 20)
"""Maximum relative difference between an approximate number and the number in the paper."""

WORDS_OF_ANSWER, WORDS_OF_SOURCE = 8, 20
"""Number of words to compare on each side of a number, in the answer and in the paper."""

MOST_PLACES = 500
"""Maximum number of occurrences to compare for one number, to limit the run time."""

LEAST_OVERLAP = 0.6
"""Minimum weighted share of the words next to the answer's number that occur near the paper's
number."""
SAME_UNIT, ONE_UNIT, SAME_WORD = -0.3, 0.3, -0.2
"""Changes to `LEAST_OVERLAP` for an equal unit, for a unit of only one number, and for each equal
adjacent word."""
IN_TABLE = -0.3
"""Change to `LEAST_OVERLAP` for a number in a table, where the words of its row and header are
compared."""

_Powers = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class SourceNumbers:
    """Numbers in a paper, indexed for lookup.

    Attributes:
        by_value: Quantities, keyed by value. A quantity with an ambiguous notation is listed under
            each possible value.
        by_amount: Quantities with a unit, keyed by their value in base units.
    """

    all: tuple[Quantity, ...]
    by_size: tuple[Quantity, ...]
    by_value: dict[Fraction, list[Quantity]]
    by_power: dict[Fraction, list[Quantity]]
    by_amount: dict[tuple[Fraction, _Powers], list[Quantity]]
    surroundings: Surroundings

    @classmethod
    def from_text(cls, text: str) -> SourceNumbers:
        """Read the numbers of a text."""
        quantities = tuple(one for one in read_quantities(text) if not one.is_name)
        source = cls(
            quantities,
            tuple(sorted(quantities, key=lambda one: one.value)),
            defaultdict(list),
            defaultdict(list),
            defaultdict(list),
            Surroundings.from_text(text),
        )
        for one in quantities:
            for value in {one.value, *one.also}:
                source.by_value[value].append(one)
                if one.unit:
                    source.by_amount[value * one.unit.factor, one.unit.powers].append(one)
            if one.power is not None:
                source.by_power[one.power].append(one)
        return source

    def find_places(self, one: Quantity) -> list[Quantity]:
        """Return all occurrences of a number, in any notation."""
        same = self.by_value.get(one.value, ())[:MOST_PLACES]
        powers = self.by_power.get(one.power, ()) if one.power is not None else ()
        matches = [other for other in (*same, *powers[:MOST_PLACES]) if _has_same_unit(one, other)]
        if one.unit:
            amount = one.value * one.unit.factor, one.unit.powers
            matches += self.by_amount.get(amount, ())[:MOST_PLACES]
        return matches or (self._find_rounding_numbers(one) if one.is_about else [])

    def _find_rounding_numbers(self, about: Quantity) -> list[Quantity]:
        """Return the numbers that round to an approximate number, such as 2.98 for "about 3"."""
        off = min(MOST_ROUNDING * abs(about.value), Fraction(10) ** -about.digits / 2)
        first = bisect.bisect_left(self.by_size, about.value - off, key=lambda one: one.value)
        last = bisect.bisect_right(self.by_size, about.value + off, key=lambda one: one.value)
        nearby = self.by_size[first:last][:MOST_PLACES]
        return [one for one in nearby if _has_same_unit(about, one)]


def check_answer_numbers(answer: str, source: SourceNumbers) -> tuple[AnswerNumber, ...]:
    """Return the numbers in an answer, and whether each occurs in its paper.

    `is_found` is equation 2 of Wan et al.: the number occurs anywhere in the source paper.
    `is_near`, which is not in the paper, also requires a compatible unit and similar surrounding
    words, because a wrong number can occur elsewhere in the source paper.

    Returns:
        Numbers in the order of the answer. `where` is the offset of the occurrence in the paper
        with the most similar surroundings.

    Example:
        >>> source = SourceNumbers.from_text("after 120 min")
        >>> numbers = check_answer_numbers("It took 2 h, not 5 h.", source)
        >>> [(one.text, one.is_found) for one in numbers]
        [('2', True), ('5', False)]
    """
    context = Surroundings.from_text(answer)
    numbers: list[AnswerNumber] = []
    for one in read_quantities(answer):
        if one.is_name:
            continue
        margin, match = _find_best_match(one, context, source)
        numbers.append(
            AnswerNumber(
                text=answer[one.start : one.end],
                start=one.start,
                end=one.end,
                is_found=match is not None,
                where=None if match is None else match.start,
                is_near=match is not None and margin >= 0,
            )
        )
    return tuple(numbers)


def _find_best_match(
    one: Quantity, context: Surroundings, source: SourceNumbers
) -> tuple[float, Quantity | None]:
    before, after = context.list_words_around(one.start, _find_end(one), WORDS_OF_ANSWER)
    best: tuple[float, Quantity | None] = (-math.inf, None)
    for match in source.find_places(one):
        margin = _compute_margin(one, match, before, after, source.surroundings)
        if margin > best[0]:
            best = margin, match
    return best


def _compute_margin(
    one: Quantity,
    match: Quantity,
    before: Sequence[str],
    after: Sequence[str],
    source: Surroundings,
) -> float:
    row = source.find_row_words(match.start)
    if row is not None:
        return source.compute_overlap({*before, *after}, set(row)) - LEAST_OVERLAP - IN_TABLE
    left, right = source.list_words_around(match.start, _find_end(match), WORDS_OF_SOURCE)
    n_equal = (before[-1:] == left[-1:] != []) + (after[:1] == right[:1] != [])
    unit = (0.0, ONE_UNIT, SAME_UNIT)[(one.unit is not None) + (match.unit is not None)]
    overlap = source.compute_overlap({*before, *after}, {*left, *right})
    return overlap - LEAST_OVERLAP - unit - SAME_WORD * n_equal


def _find_end(one: Quantity) -> int:
    return max(one.end, one.unit.end) if one.unit else one.end


def _has_same_unit(one: Quantity, other: Quantity) -> bool:
    """Return whether two quantities have the same unit or at least one has no unit."""
    if one.unit is None or other.unit is None:
        return True
    return (one.unit.powers, one.unit.factor) == (other.unit.powers, other.unit.factor)


def score_racar_ratings(ratings: Sequence[RacarRating], judge: str) -> dict[str, Score]:
    """Return the mean rating, from 1 to 3, on each rated RACAR dimension."""
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
    """Remove the value and interval of a mean if any rating is undecided.

    Ratings are not undecided at random, so the mean of the remaining ratings would be biased. The
    bounds remain valid with undecided ratings.
    """
    if not any(one.is_undecided for one in ratings):
        return mean
    none: dict[str, None] = {"value": None, "low": None, "high": None}
    return mean.model_copy(update=none)


def average_intent_scores(found: Sequence[IntentSimilarity], judge: str) -> dict[str, Score]:
    """Return the mean intent similarity, from 0 to 100, or an empty dict without similarities."""
    if not found:
        return {}
    scale = (0.0, float(MOST_INTENT))
    return {"intent.similarity": mean_score([one.score for one in found], scale, judge)}
