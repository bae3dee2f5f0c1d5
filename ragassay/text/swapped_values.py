"""Find pairs of numbers that a claim gives to two things the other way round than a passage."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragassay.text.sides import (
    PREPOSITIONS,
    is_value,
    phrase_at,
    side_words,
    stem_of_side,
    stems_of_side,
)

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

    Args:
        claim: The claim.
        sentences: Those that may have the same numbers.

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
