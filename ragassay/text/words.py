"""Words of a text as searches compare them."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+(?:[-.]\w+)*")
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


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
