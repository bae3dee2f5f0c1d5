"""Find the numbers of a text."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"\d+(?:[.,\u00b7]\d+)*")
_ALONE = re.compile(rf"(?<![\w.^]){_NUMBER.pattern}")
_REFERENCE = re.compile(
    r"\b(?:papers?|stud(?:y|ies)|ref(?:erence)?s?\.?|articles?|sources?)\s\d+(?:(?:,|\sand)?\s\d+)*",
    re.IGNORECASE,
)
"""Figures that name a source."""


def numbers_of(text: str) -> set[str]:
    """Return the numbers of a text, decimal points unified, without signs and units."""
    return set(map(_plain, _NUMBER.findall(text)))


def stated_numbers(text: str) -> set[str]:
    """Return those that stand alone: not in a name ("p53"), an exponent, or "Paper 2".

    Example:
        >>> sorted(stated_numbers("Paper 2 says that p53 rose by 1,200 to 10^7."))
        ['10', '1200']
    """
    return set(map(_plain, _ALONE.findall(_REFERENCE.sub("", text))))


def _plain(number: str) -> str:
    return number.replace(",", "").replace("\u00b7", ".")
