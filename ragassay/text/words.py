"""Words of a text as searches compare them."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+(?:[-.]\w+)*")
_SIMPLE_WORD = re.compile(r"[^\W\d_]\w*")
_STOPWORDS = frozenset(
    {
        *("a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "for", "from"),
        *("had", "has", "have", "in", "into", "is", "it", "its", "may", "not", "of", "on", "or"),
        *("our", "than", "that", "the", "their", "there", "these", "they", "this", "those", "to"),
        *("was", "we", "were", "which", "with"),
    }
)


def tokenize(text: str) -> list[str]:
    """Return lower-case words and numbers, without stop words and plural endings."""
    words = (match.group().lower() for match in _WORD.finditer(text))
    return [_stem(word) for word in words if word not in _STOPWORDS]


def words_with_places(text: str) -> list[tuple[int, str]]:
    """Return the words that begin with a letter, as `tokenize` writes them, each with its start.

    Example:
        >>> words_with_places("Of 5-day cycles")
        [(5, 'day'), (9, 'cycle')]
    """
    words = ((match.start(), match.group().lower()) for match in _SIMPLE_WORD.finditer(text))
    return [(start, _stem(word)) for start, word in words if word not in _STOPWORDS]


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
