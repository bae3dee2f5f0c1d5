"""Check whether the numbers, names and words of a sentence are in the sources."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ragassay.text.numbers import numbers_of
from ragassay.text.words import tokenize

_NAME = re.compile(r"\b(?:[A-Za-z]*\d[\w-]*|[A-Z]{2,}[\w-]*|[a-z]+[A-Z]\w*)\b")


def names_of(text: str) -> set[str]:
    """Return abbreviations, genes, compounds: words with inner capitals or digits, lower-cased."""
    return {name.lower().rstrip("s") for name in _NAME.findall(text)}


class SourceFacts:
    """The numbers, names and words of some texts.

    Args:
        texts: The question and the sources, or a passage of them.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        joined = "\n".join(texts)
        self._numbers, self._names = numbers_of(joined), names_of(joined)
        self._words = frozenset(tokenize(joined))

    def unknown_numbers(self, sentence: str) -> int:
        """Return how many numbers of a sentence no source has."""
        return len(numbers_of(sentence) - self._numbers)

    def unknown_names(self, sentence: str) -> int:
        """Return how many names of a sentence no source has."""
        return len(names_of(sentence) - self._names - self._numbers)

    def unknown_words(self, sentence: str) -> int:
        """Return how many word stems of a sentence the texts do not have."""
        return len(set(tokenize(sentence)) - self._words)
