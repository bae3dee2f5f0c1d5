"""Make small changes of words that keep the grammar intact."""

from __future__ import annotations

import re

_FUNCTION_WORDS = frozenset(
    "a an the this these that those it its they their we our he she there in on at by for from of "
    "to with as both each all some many most several such other others one two three when while "
    "if although because since during after before among between however no not".split()
)
_NAME = re.compile(r"[A-Z][a-z]+(?:'s)? [A-Z][a-z]|[A-Z][a-z]+'s ")
_AN = re.compile(r"(?:[aeio]|u(?!ni|se|til))", re.IGNORECASE)
_ARTICLE_CHARS = 16
_ARTICLE = re.compile(r"(?<!\w)(an?)(\s+)$", re.IGNORECASE)


def like(model: str, word: str) -> str:
    """Capitalise a word as a model word is: first letter, all letters, or none.

    Example:
        >>> like("Higher", "lower"), like("HIGHER", "lower"), like("higher", "lower")
        ('Lower', 'LOWER', 'lower')
    """
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def decapitalised(sentence: str, known: str) -> str:
    """Return a sentence for use inside another; names and acronyms keep their capital.

    Args:
        sentence: Starts with a capital letter.
        known: Running text: a word that is lower case in it is not a name.
    """
    first = re.match(r"[^\W\d_]+(?!\w|-[^a-z])", sentence)
    if not first or (len(first[0]) > 1 and not first[0][1:].islower()):
        return sentence
    word, small = first[0], first[0].lower()
    is_word = small in _FUNCTION_WORDS or re.search(rf"(?<![\w-]){small}(?![\w-])", known)
    # A name is capitalised in mid-sentence, or before another name.
    is_name = re.search(rf"[a-z,] {word}(?![\w-])", known) or _NAME.match(sentence)
    return sentence if is_name and not is_word else small + sentence[len(small) :]


def replaced(text: str, start: int, end: int, other: str) -> str:
    """Return a text with a stretch of it replaced, and the article before it adjusted.

    Example:
        >>> replaced("Shows an increase.", 9, 17, "decrease")
        'Shows a decrease.'
    """
    left = text[:start]
    article = _ARTICLE.search(left, max(0, start - _ARTICLE_CHARS))
    if article and other:
        fitting = like(article[1], "an" if _AN.match(other) else "a")
        left = left[: article.start()] + fitting + article[2]
    return left + other + text[end:]
