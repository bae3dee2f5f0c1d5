"""Tell the sides of a comparison apart, and find numbers that were given to the wrong side."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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


N_BESIDE, N_BETWEEN, N_AROUND = 7, 12, 20
"""Words beside a number that name its thing; most words between the two numbers of a pair; words
around them in which a passage may name the things."""

_JOINTS = frozenset("and or versus vs whereas while but compared with ,".split())

Stems = frozenset[str]


@dataclass(frozen=True)
class ValuePair:
    """Two numbers of a sentence, and the stems of the words that only one of them has beside it."""

    numbers: tuple[str, str]
    first: Stems
    second: Stems


def swapped_values(claim: str, sentences: Sequence[str]) -> tuple[str, str] | None:
    """Return the first two numbers of a claim that a sentence has the other way round.

    Numbers and the things that they belong to are named in the same order, in whichever way the
    sentence is built: "12% with A and 20% with B", "A 12%, B 20%", "12% and 20% with A and B".

    The sentences are those that may have the same numbers.

    Example:
        >>> swapped_values("It was 9% in men and 4% in women.", ["Men had 4%, women 9%."])
        ('9', '4')
    """
    read = [side_words(sentence) for sentence in sentences]
    for pair in _pairs(side_words(claim)):
        orders = [order for words in read if (order := _order(pair, words)) is not None]
        if orders and not any(orders):
            return pair.numbers
    return None


def _pairs(words: Sequence[str]) -> Iterator[ValuePair]:
    places = [n for n, word in enumerate(words) if word[0].isdigit()]
    for left, right in itertools.pairwise(places):
        joints = [n for n in range(left + 1, right) if words[n] in _JOINTS]
        if right - left > N_BETWEEN or not joints or words[left] == words[right]:
            continue
        for one, other in _things(words, left, right, joints[-1]):
            if one - other and other - one:
                yield ValuePair((words[left], words[right]), one - other, other - one)
                break


def _things(
    words: Sequence[str], left: int, right: int, joint: int
) -> Iterator[tuple[Stems, Stems]]:
    """Yield what two numbers may belong to: behind them, before them, or "respectively"."""
    if "respectively" in words[right:]:
        end = words.index("respectively", right)
        yield _split_things(words[right + 1 : end])
        yield _split_things(words[max(0, left - N_AROUND) : left])
        return
    yield _behind(words, left, joint), _behind(words, right, len(words))
    start = max(0, left - N_BESIDE)
    yield _stems_of_name(words[start:left]), _stems_of_name(words[joint:right])
    yield _split_things(words[max(0, left - N_AROUND) : left])


def _behind(words: Sequence[str], place: int, end: int) -> Stems:
    phrase, _ = phrase_at([*words[place + 1 : min(end, place + 1 + N_BESIDE)], "."], 0)
    return _stems_of_name(phrase)


def _split_things(words: Sequence[str]) -> tuple[Stems, Stems]:
    """Return the two things of "A and B", or of "A than B"."""
    joints = [n for n, word in enumerate(words) if word in _JOINTS or word in ("than", "to")]
    if not joints:
        return frozenset(), frozenset()
    begins = [n + 1 for n, word in enumerate(words[: joints[-1]]) if word in PREPOSITIONS]
    return _stems_of_name(words[max(begins, default=0) : joints[-1]]), _stems_of_name(
        words[joints[-1] + 1 :]
    )


def _stems_of_name(words: Sequence[str]) -> Stems:
    words = [word for word in words if word not in _JOINTS and word != "than"]
    return frozenset(stem for stem in stems_of_side(words) if not is_value(stem))


def _order(pair: ValuePair, words: Sequence[str]) -> bool | None:
    """Return whether a sentence has numbers and things in one order; None where it lacks one."""
    if not set(pair.numbers) <= set(words):
        return None
    places = [words.index(number) for number in pair.numbers]
    start, end = max(0, min(places) - N_AROUND), max(places) + N_AROUND
    stems = [stem_of_side(word) for word in words[start:end]]
    firsts = [stems.index(stem) for stem in pair.first if stem in stems]
    seconds = [stems.index(stem) for stem in pair.second if stem in stems]
    if not (firsts and seconds):
        return None
    # The words of the first thing may have the outcome among them, which stands anywhere.
    is_straight = places[0] < places[1]
    return any((first < min(seconds)) == is_straight for first in firsts)
