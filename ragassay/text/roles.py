"""Find comparisons whose two sides a passage does not confirm in their order.

"A lowers it more than B" and "B lowers it more than A" have the same words, and an inference model
may take either for support. A comparison is confirmed where a close sentence compares the same two
things the same way round, or the other way round in opposite words ("B lowers it less than A").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.text.bm25 import rank

N_CLOSEST = 4
"""Sentences of a passage that may confirm an order."""

MOST_WORDS, MOST_IN_PHRASE = 120, 7
"""Words of a sentence that are read, and words of the phrase behind "than"."""

_TOKEN = re.compile(r"[^\W_]+(?:[.,-]\d+)*|[^\w\s]")
_ENDINGS = re.compile(r"(?:ings?|ers?|ed|es|s|ics?|al)$")

_DROPPED = frozenset(
    "a an the and or of to as is are was were be been being has have had do does did that this "
    "these those it its their they than group groups arm arms treated receiving received given "
    "taking assigned randomized randomised alone therapy treatment patients participants "
    "people subjects individuals persons cohort who whom whose which there what when "
    "respectively".split()
)
"""Words that do not tell one side from the other."""

_PREPOSITIONS = frozenset("with in among for on after by during under from at within of".split())
_ENDS = frozenset("in at for after during over among by on from within across through via".split())
"""Prepositions that end the phrase behind "than"."""

_VERBS = frozenset(
    "is are was were has have had do does did can could may might will would should must but while "
    "whereas although though because if who which that".split()
)
_CLAUSES = frozenset({"whereas", "while", "but"})
_CONTROLS = frozenset("placebo control controls untreated sham comparator".split())
_VAGUE = frozenset(
    "expected previously previous before thought ever usual other one once half twice any average "
    "doubles doubled triples tripled baseline estimated reported required normal general "
    "all most".split()
)
"""Words behind "than" that name no second thing."""

_TO = frozenset("superior inferior noninferior preferable preferred favored favoured".split())
_OVER = frozenset(
    "superiority preferred preference advantage advantages favored favoured chosen benefit".split()
)
_BEATS = ("outperform", "exceed", "surpass", "outweigh")
_STOPS = frozenset(",.:?!")
_UNITS = frozenset(
    "day days week weeks month months year years hour hours h min minutes mg g kg ml mm cm points "
    "median mean ci".split()
)
_WITH = frozenset("compared comparison relative contrast opposed".split())
_UP = (
    "higher highest greater more longer larger stronger increas rais rise rising rose elevat "
    "enhanc upregulat prolong accelerat promot stimulat older"
).split()
_DOWN = (
    "lower lowest less fewer shorter smaller weaker decreas reduc declin fall fell drop diminish "
    "impair downregulat suppress inhibit shorten younger"
).split()
_GOOD = "better superior favor favour prefer safer effective efficacious outperform".split()
_BAD = "worse inferior ineffective".split()

Words = frozenset[str]
Kind = Literal["compared", "chosen", "changed"]


@dataclass(frozen=True)
class ComparedPair:
    """Two things that a sentence compares.

    Attributes:
        kind: "compared", "chosen" for "A rather than B", or "changed" for "from A to B".
        first: Stems of the words of the sentence that are not behind the comparing word.
        second: Stems of the words behind it.
        shown: The second as it is written.
        size: The direction of a size: 1 where it is higher with the first, -1 lower, 0 unknown.
        worth: The same for what is better.
    """

    kind: Kind
    first: Words
    second: Words
    shown: str
    size: int
    worth: int


def unconfirmed_roles(claim: str, sentences: Sequence[str]) -> str:
    """Return what a passage does not confirm of the order of two things compared, in words.

    Args:
        claim: The claim.
        sentences: The passage's.

    Returns:
        Empty where the claim compares nothing, or all its comparisons are confirmed.

    Example:
        >>> unconfirmed_roles("A1 eased pain more than B2.", ["B2 eased pain less than A1."])
        ''
        >>> unconfirmed_roles("B2 eased pain more than A1.", ["A1 eased pain more than B2."])
        'no close sentence confirms what stands against "a1"'
    """
    compared = [one for part in _clauses(claim) for one in _comparisons(part)]
    if not compared:
        return ""
    close = [sentences[place] for place, _ in rank(claim, sentences)[:N_CLOSEST]]
    parts = [part for sentence in close for part in _clauses(sentence)]
    for one in compared:
        if not _is_confirmed(one, parts):
            return f'no close sentence confirms what stands against "{one.shown}"'
    return ""


def _clauses(sentence: str) -> list[list[str]]:
    """Return the words of the clauses of a sentence, in lower case, without what is in brackets."""
    found: list[list[str]] = [[]]
    depth = 0
    for token in _TOKEN.findall(sentence.lower())[:MOST_WORDS]:
        depth = max(0, depth + (token in "([") - (token in ")]"))
        if token == ";" or token in _CLAUSES:
            found.append([])
        elif not depth and token not in ")]":
            found[-1].append(token)
    return [words for words in found if words]


def _comparisons(words: Sequence[str]) -> Iterator[ComparedPair]:
    for start, kind in _marks(words):
        second, end = _phrase(words, start)
        own = _stems(second)
        rest = [*words[:start], *words[end:]]
        others = _stems(rest)
        told = own - others
        if told and not set(second) <= _VAGUE | _DROPPED | _PREPOSITIONS:
            shown = " ".join(word for word in second if word[0].isalnum())
            yield ComparedPair(kind, others - own, told, shown, _size(words), _worth(words))


def _marks(words: Sequence[str]) -> Iterator[tuple[int, Kind]]:
    """Yield where the second thing of each comparison begins."""
    for n, word in enumerate(words[:-1]):
        before, behind, near = words[n - 1] if n else "", words[n + 1], words[max(0, n - 6) : n]
        if (word == "than" and before == "rather") or (word == "of" and before == "instead"):
            yield n + 1, "chosen"
        elif word == "than" and before != "other" and not _is_number(behind):
            yield n + 1, "compared"
        elif word in ("versus", "vs") and before != "-":
            yield n + (2 if behind == "." else 1), "compared"
        elif (word == "to" and before in _TO) or (word in ("to", "with") and before in _WITH):
            yield n + 1, "compared"
        elif word == "over" and not _OVER.isdisjoint(near):
            yield n + 1, "compared"
        elif word.startswith(_BEATS) and behind != "by" and not _is_number(behind):
            yield n + 1, "compared"
        elif word == "to" and _is_change(near) and not _is_number(behind):
            yield n + 1, "changed"


def _is_change(before: Sequence[str]) -> bool:
    """Return whether the words lead from one thing to another: "far from" does not."""
    return "from" in before and "far" not in before and not {",", "("} & set(before)


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word in ("half", "twice", "one", "two", "three")


def _phrase(words: Sequence[str], start: int) -> tuple[list[str], int]:
    """Return the words of the phrase that begins there, and its end."""
    found: list[str] = []
    begun, place = False, start
    while place < len(words) and len(found) < MOST_IN_PHRASE:
        word = words[place]
        if begun and (word in _VERBS or word in _STOPS or word in _ENDS):
            break
        if word not in _VERBS and word not in _STOPS:
            found.append(word)
            begun = begun or not (word in _PREPOSITIONS or word in _DROPPED or _is_value(word))
        place += 1
    return found, place


def _is_value(word: str) -> bool:
    return word[0].isdigit() or word in _UNITS or not word[0].isalnum()


def _stems(words: Sequence[str]) -> Words:
    return frozenset(
        _stem(word)
        for word in words
        if word[0].isalnum() and word not in _DROPPED and word not in _PREPOSITIONS
    )


def _stem(word: str) -> str:
    if word in _CONTROLS:
        return "control"
    cut = _ENDINGS.sub("", word)
    return cut if len(cut) > 3 else word


def _size(words: Sequence[str]) -> int:
    return _product(words, _UP, _DOWN)


def _worth(words: Sequence[str]) -> int:
    """Return the direction of "better", "less effective" and the like; 0 where there is none."""
    own = _product(words, _GOOD, _BAD)
    return -own if own and "less" in words else own


def _product(words: Sequence[str], up: Sequence[str], down: Sequence[str]) -> int:
    signs = [
        1 if word.startswith(tuple(up)) else -1 for word in words if word.startswith((*up, *down))
    ]
    return (-1) ** signs.count(-1) if signs else 0


def _is_confirmed(one: ComparedPair, parts: Sequence[Sequence[str]]) -> bool:
    """Return whether the first clause that compares the same things does so in the same order."""
    for words in parts:
        for other in _comparisons(words):
            if other.kind != one.kind:
                continue
            straight = len(one.second & other.second)
            turned = len(one.second & other.first) if one.first & other.second else 0
            if straight != turned:
                return _is_opposite(one, other) == (turned > straight)
    return False


def _is_opposite(one: ComparedPair, other: ComparedPair) -> bool:
    if one.worth and other.worth:
        return one.worth != other.worth
    return not (one.worth or other.worth) and one.size * other.size < 0
