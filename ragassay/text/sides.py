"""Read the words that tell the sides of a comparison apart: arms, drugs, groups."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST_WORDS, MOST_IN_PHRASE = 120, 7
"""Words of a sentence, and of a phrase, that are read."""

_TOKEN = re.compile(r"[^\W_]+(?:[.,\u00b7-]\d+)*|[^\w\s]")
_LETTERED = re.compile(r"\b(groups?|arms?|cohort|cluster|phase) ([a-d1-4]|i{1,3})\b")
_ENDINGS = re.compile(r"(?:ings?|ers?|ed|es?|s|ics?|al)$")

DULL = frozenset(
    "a an the and or of to as is are was were be been being has have had do does did that this "
    "these those it its their they than group groups arm arms treated receiving received given "
    "taking assigned randomized randomised alone therapy treatment patients participants people "
    "subjects individuals persons cohort who whom whose which there what when respectively".split()
)
"""Words that do not tell one side from the other."""

PREPOSITIONS = frozenset("with in among for on after by during under from at within of".split())
_ENDS = frozenset("in at for after during over among by on from to within across through".split())
_VERBS = frozenset(
    "is are was were has have had do does did can could may might will would should must but while "
    "whereas although though because if who which that improved reduced increased decreased led "
    "resulted showed caused lowered raised prevented developed produced provided achieved".split()
)
_STOPS = frozenset(",.:?!")
"""What ends a phrase, once a word in it names something."""

_CLAUSES = frozenset({"whereas", "while", "but"})
_CONTROLS = frozenset("placebo control controls untreated sham comparator".split())
_UNITS = frozenset(
    "day days week weeks month months year years hour hours h min minutes mg g kg ml mm cm points "
    "median mean ci".split()
)


def side_words(sentence: str) -> list[str]:
    """Return the words, numbers and marks of a sentence, in lower case."""
    plain = sentence.lower().replace("\u00b7", ".").replace("non-", "non")
    return _TOKEN.findall(_LETTERED.sub(r"\1\2", plain))[:MOST_WORDS]


def plain_clauses(sentence: str) -> list[list[str]]:
    """Return the words of the clauses of a sentence, without what is in brackets.

    Example:
        >>> plain_clauses("A (n=5) fell; B rose")
        [['a', 'fell'], ['b', 'rose']]
    """
    found: list[list[str]] = [[]]
    depth = 0
    for token in side_words(sentence):
        depth = max(0, depth + (token in "([") - (token in ")]"))
        if token == ";" or token in _CLAUSES:
            found.append([])
        elif not depth and token not in ")]":
            found[-1].append(token)
    return [words for words in found if words]


def phrase_at(words: Sequence[str], start: int) -> tuple[list[str], int]:
    """Return the words of the phrase that begins at a word, and the place where it ends.

    Example:
        >>> phrase_at(["with", "placebo", "in", "men"], 0)
        (['with', 'placebo'], 2)
    """
    found: list[str] = []
    begun, place = False, start
    while place < len(words) and len(found) < MOST_IN_PHRASE:
        word = words[place]
        if begun and (word in _VERBS or word in _STOPS or word in _ENDS):
            break
        if word not in _VERBS and word not in _STOPS:
            found.append(word)
            begun = begun or not (word in PREPOSITIONS or word in DULL or is_value(word))
        place += 1
    return found, place


def is_value(word: str) -> bool:
    """Return whether a word is a number, a unit or a mark."""
    return word[0].isdigit() or word in _UNITS or not word[0].isalnum()


def stems_of_side(words: Sequence[str]) -> frozenset[str]:
    """Return the stems of the words that may tell a side."""
    return frozenset(
        stem_of_side(word)
        for word in words
        if word[0].isalnum() and word not in DULL and word not in PREPOSITIONS
    )


def stem_of_side(word: str) -> str:
    """Return a word without its ending; all controls are one word.

    Example:
        >>> stem_of_side("smokers"), stem_of_side("placebo")
        ('smok', 'control')
    """
    if word in _CONTROLS:
        return "control"
    cut = _ENDINGS.sub("", word)
    return cut if len(cut) > 3 else word
