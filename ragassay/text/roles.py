"""Find comparisons whose two sides a passage does not confirm in their order.

"A lowers it more than B" and "B lowers it more than A" have the same words, and an inference model
may take either for support. A comparison is confirmed where a close sentence compares the same two
things the same way round, or the other way round in opposite words ("B lowers it less than A").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.text.search import rank
from ragassay.text.sides import (
    DULL,
    PREPOSITIONS,
    phrase_at,
    plain_clauses,
    stem_of_side,
    stems_of_side,
    swapped_values,
)

N_CLOSEST = 4
"""Sentences of a passage that may confirm an order."""

_VAGUE = frozenset(
    "expected previously previous before thought ever usual other one once half twice any average "
    "doubles doubled triples tripled baseline estimated reported required normal general "
    "all most time course".split()
)
"""Words behind "than" that name no second thing."""

_TO = frozenset("superior inferior noninferior preferable preferred favored favoured".split())
_OVER = (
    "superior",
    "prefer",
    "advantage",
    "favo",
    "chose",
    "choose",
    "benefit",
    "recommend",
    "improv",
)
_BEATS = ("outperform", "exceed", "surpass", "outweigh")
_ACTIONS = (
    "inhibit activat induc suppress block increas reduc decreas enhanc potentiat caus promot "
    "displac replac prevent improv stimulat regulat trigger worsen precede antagoni raise "
    "lowers lowered"
).split()
_BE = frozenset("is are was were be been being".split())
N_BESIDE = 5
"""Words on either side of a verb that are read."""

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


@dataclass(frozen=True)
class Action:
    """A verb with the stems of the words before it, and behind it; a passive is turned round."""

    verb: str
    agent: Words
    object: Words


def unconfirmed_roles(claim: str, sentences: Sequence[str]) -> str:
    """Return what a passage does not confirm of the order of two things compared, in words.

    Empty where the claim compares nothing, or all its comparisons are confirmed.

    Example:
        >>> unconfirmed_roles("A1 eased pain more than B2.", ["B2 eased pain less than A1."])
        ''
        >>> unconfirmed_roles("B2 eased pain more than A1.", ["A1 eased pain more than B2."])
        'no close sentence confirms what stands against "a1"'
    """
    clauses = plain_clauses(claim)
    compared = [one for part in clauses for one in _comparisons(part)]
    acted = [] if compared else [one for part in clauses for one in _actions(part)]
    if not (compared or acted or any(letter.isdigit() for letter in claim)):
        return ""
    close = [sentences[place] for place, _ in rank(claim, sentences)[:N_CLOSEST]]
    parts = [part for sentence in close for part in plain_clauses(sentence)]
    for one in compared:
        if not _is_confirmed(one, parts):
            return f'no close sentence confirms what stands against "{one.shown}"'
    if swapped := swapped_values(claim, close):
        return f"a close sentence gives {swapped[0]} and {swapped[1]} the other way round"
    theirs = [one for part in parts for one in _actions(part)]
    turned = next((one for one in acted if _is_turned(one, theirs)), None)
    return f'a close sentence turns "{turned.verb}" round' if turned else ""


def _comparisons(words: Sequence[str]) -> Iterator[ComparedPair]:
    for start, kind in _marks(words):
        second, end = phrase_at(words, start)
        own = stems_of_side(second)
        rest = [*words[:start], *words[end:]]
        others = stems_of_side(rest)
        told = own - others or own
        if told and not set(second) <= _VAGUE | DULL | PREPOSITIONS:
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
        elif (
            word == "over" and not _is_number(behind) and any(one.startswith(_OVER) for one in near)
        ):
            yield n + 1, "compared"
        elif word.startswith(_BEATS) and behind != "by" and not _is_number(behind):
            yield n + 1, "compared"
        elif word == "to" and _is_change(near) and not _is_number(behind):
            yield n + 1, "changed"


def _is_change(before: Sequence[str]) -> bool:
    """Return whether the words lead from one thing to another: "far from" does not."""
    if "from" not in before or "far" in before:
        return False
    return {",", "("}.isdisjoint(before[before.index("from") :])


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word in ("half", "twice", "one", "two", "three")


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


def _actions(words: Sequence[str]) -> Iterator[Action]:
    for n, word in enumerate(words):
        if not word.startswith(tuple(_ACTIONS)):
            continue
        before = stems_of_side(words[max(0, n - N_BESIDE) : n])
        behind = stems_of_side(words[n + 1 : n + 1 + N_BESIDE])
        is_passive = word.endswith("ed") and not _BE.isdisjoint(words[max(0, n - 2) : n])
        if before and behind:
            yield Action(word, behind if is_passive else before, before if is_passive else behind)


def _is_turned(one: Action, others: Sequence[Action]) -> bool:
    """Return whether the same verb stands between the same words only the other way round."""
    same = [other for other in others if stem_of_side(other.verb)[:5] == stem_of_side(one.verb)[:5]]
    agent, object_ = one.agent - one.object, one.object - one.agent
    crossed = any(agent & o.object and object_ & o.agent for o in same)
    return crossed and not any(agent & o.agent for o in same)
