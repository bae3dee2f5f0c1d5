"""Find the numbers of a text."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"\d+(?:[.,\u00b7]\d+)*")
_ALONE = re.compile(rf"(?<![\w.^]){_NUMBER.pattern}")
_WORD = re.compile(r"[a-z]+")
_REFERENCE = re.compile(
    r"\b(?:papers?|stud(?:y|ies)|ref(?:erence)?s?\.?|articles?|sources?)\s\d+(?:(?:,|\sand)?\s\d+)*",
    re.IGNORECASE,
)
"""Figures that name a source."""

_SPELLED = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
}


def numbers_of(text: str) -> set[str]:
    """Return the numbers of a text, decimal points unified, without signs and units."""
    return set(map(_plain, _NUMBER.findall(text)))


def places_of(text: str, number: str) -> list[tuple[int, int]]:
    """Return where a text has a number, written as `numbers_of` writes it.

    Example:
        >>> places_of("It fell by 1,200 and by 1200.", "1200")
        [(11, 16), (24, 28)]
    """
    return [found.span() for found in _NUMBER.finditer(text) if _plain(found[0]) == number]


def spelled_numbers(text: str) -> set[str]:
    """Return the numbers up to twenty that a text has in words, as figures."""
    return {_SPELLED[word] for word in _WORD.findall(text.lower()) if word in _SPELLED}


def stated_numbers(text: str) -> set[str]:
    """Return those that stand alone: not in a name ("p53"), an exponent, or "Paper 2".

    Example:
        >>> sorted(stated_numbers("Paper 2 says that p53 rose by 1,200 to 10^7."))
        ['10', '1200']
    """
    return set(map(_plain, _ALONE.findall(_REFERENCE.sub("", text))))


def _plain(number: str) -> str:
    return number.replace(",", "").replace("\u00b7", ".")
