"""Compare what stands around a place of one text with what stands around a place of another."""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.text.words import words_with_places

STRETCH = 40
"""Words of a stretch of text: a word counts the less, the more stretches have it."""


@dataclass(frozen=True)
class Surroundings:
    """The words of a text, by place.

    Attributes:
        words: Its words in order.
        starts: Their first characters.
        weights: How much each word tells, by word.
    """

    words: Sequence[str]
    starts: Sequence[int]
    weights: Mapping[str, float]

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
        return cls(words, [start for start, _ in placed], weights)

    def around(self, start: int, end: int, n: int) -> tuple[Sequence[str], Sequence[str]]:
        """Return up to n words before a span, and up to n behind it."""
        first, last = bisect.bisect_left(self.starts, start), bisect.bisect_left(self.starts, end)
        return self.words[max(0, first - n) : first], self.words[last : last + n]

    def overlap(self, words: set[str], others: set[str]) -> float:
        """Return the share of words, by weight, that others have; 1 where none is this text's."""
        total = math.fsum(self.weights.get(word, 0.0) for word in words)
        shared = math.fsum(self.weights.get(word, 0.0) for word in words & others)
        return shared / total if total else 1.0
