"""Compare what stands around a place of one text with what stands around a place of another."""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.text.words import words_with_places

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
