"""Find comparisons whose direction a passage does not confirm.

"A lowers it more than B" and "B lowers it more than A" have the same words, so an inference model
may treat either claim as supported. A comparison is confirmed if a similar sentence compares the
same two things in the same direction, or in the opposite direction with opposite words ("B lowers
it less than A").
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.text.search import rank_texts

MOST_WORDS, MOST_IN_PHRASE = 120, 7
"""Maximum numbers of tokens that are read from a sentence and from a phrase."""

_TOKEN = re.compile(r"[^\W_]+(?:[.,\u00b7-]\d+)*|[^\w\s]")
_LETTERED = re.compile(r"\b(groups?|arms?|cohort|cluster|phase) ([a-d1-4]|i{1,3})\b")
_ENDINGS = re.compile(r"(?:ings?|ers?|ed|es?|s|ics?|al)$")

_DULL = frozenset(
    "a an the and or of to as is are was were be been being has have had do does did that this "
    "these those it its their they than group groups arm arms treated receiving received given "
    "taking assigned randomized randomised alone therapy treatment patients participants people "
    "subjects individuals persons cohort who whom whose which there what when respectively".split()
)
"""Words that say nothing about which of two things is meant, such as "group" and "treated"."""

_PREPOSITIONS = frozenset("with in among for on after by during under from at within of".split())
_ENDS = frozenset("in at for after during over among by on from to within across through".split())
_VERBS = frozenset(
    "is are was were has have had do does did can could may might will would should must but while "
    "whereas although though because if who which that improved reduced increased decreased led "
    "resulted showed caused lowered raised prevented developed produced provided achieved".split()
)
_STOPS = frozenset(",.:?!")
"""Punctuation that ends a phrase once the phrase contains a specific word."""

_CLAUSES = frozenset({"whereas", "while", "but"})
_CONTROLS = frozenset("placebo control controls untreated sham comparator".split())
_UNITS = frozenset(
    "day days week weeks month months year years hour hours h min minutes mg g kg ml mm cm points "
    "median mean ci".split()
)


def _split_tokens(sentence: str) -> list[str]:
    """Return the lower-case words, numbers and punctuation of a sentence."""
    plain = sentence.lower().replace("\u00b7", ".").replace("non-", "non")
    return _TOKEN.findall(_LETTERED.sub(r"\1\2", plain))[:MOST_WORDS]


def _split_clauses(sentence: str) -> list[list[str]]:
    """Return the tokens of each clause of a sentence, without text in brackets."""
    clauses: list[list[str]] = [[]]
    depth = 0
    for token in _split_tokens(sentence):
        depth = max(0, depth + (token in "([") - (token in ")]"))
        if token == ";" or token in _CLAUSES:
            clauses.append([])
        elif not depth and token not in ")]":
            clauses[-1].append(token)
    return [words for words in clauses if words]


def _read_phrase(words: Sequence[str], start: int) -> tuple[list[str], int]:
    """Return the words of the phrase that starts at an index, and the index of its end.

    In "with placebo in men", the phrase at 0 is "with placebo", and its end is 2.
    """
    phrase: list[str] = []
    begun = False
    for index, word in enumerate(words[start:], start):
        if len(phrase) == MOST_IN_PHRASE or (begun and word in _VERBS | _STOPS | _ENDS):
            return phrase, index
        if word not in _VERBS | _STOPS:
            phrase.append(word)
            begun = begun or not (word in _PREPOSITIONS | _DULL or _is_value(word))
    return phrase, len(words)


def _is_value(word: str) -> bool:
    """Return whether a token is a number, a unit or punctuation."""
    return word[0].isdigit() or word in _UNITS or not word[0].isalnum()


def _collect_side_stems(words: Sequence[str]) -> frozenset[str]:
    """Return the stems of the words that may tell which of two things is meant."""
    return frozenset(
        _stem_side_word(word)
        for word in words
        if word[0].isalnum() and word not in _DULL and word not in _PREPOSITIONS
    )


def _stem_side_word(word: str) -> str:
    """Return a word without its ending, or "control" for any word for a control group."""
    if word in _CONTROLS:
        return "control"
    cut = _ENDINGS.sub("", word)
    return cut if len(cut) > 3 else word


N_BESIDE_NUMBER, N_BETWEEN, N_AROUND = 7, 12, 20
"""Number of words next to a number that may describe it, maximum number of words between two
numbers of a pair, and number of words around a pair that are searched in a passage."""

_JOINTS = frozenset("and or versus vs whereas while but compared with ,".split())

Stems = frozenset[str]


@dataclass(frozen=True)
class _ValuePair:
    """Two numbers in a sentence, with the stems that describe only the first or only the second."""

    numbers: tuple[str, str]
    first: Stems
    second: Stems


def _find_swapped_values(claim: str, sentences: Sequence[str]) -> tuple[str, str] | None:
    """Return the first two numbers in a claim that sentences state in the opposite order, or None.

    Numbers have the same order as the things that they measure in any construction: "12% with A and
    20% with B", "A 12%, B 20%", "12% and 20% with A and B".
    """
    read = [_split_tokens(sentence) for sentence in sentences]
    for pair in _find_value_pairs(_split_tokens(claim)):
        orders = [order for words in read if (order := _compare_order(pair, words)) is not None]
        if orders and not any(orders):
            return pair.numbers
    return None


def _find_value_pairs(words: Sequence[str]) -> Iterator[_ValuePair]:
    numbers = [n for n, word in enumerate(words) if word[0].isdigit()]
    for left, right in itertools.pairwise(numbers):
        joints = [n for n in range(left + 1, right) if words[n] in _JOINTS]
        if right - left > N_BETWEEN or not joints or words[left] == words[right]:
            continue
        for one, other in _find_things(words, left, right, joints[-1]):
            if one - other and other - one:
                yield _ValuePair((words[left], words[right]), one - other, other - one)
                break


def _find_things(
    words: Sequence[str], left: int, right: int, joint: int
) -> Iterator[tuple[Stems, Stems]]:
    if "respectively" in words[right:]:
        end = words.index("respectively", right)
        yield _split_things(words[right + 1 : end])
        yield _split_things(words[max(0, left - N_AROUND) : left])
        return
    yield _collect_stems_after(words, left, joint), _collect_stems_after(words, right, len(words))
    start = max(0, left - N_BESIDE_NUMBER)
    yield _collect_name_stems(words[start:left]), _collect_name_stems(words[joint:right])
    yield _split_things(words[max(0, left - N_AROUND) : left])


def _collect_stems_after(words: Sequence[str], index: int, end: int) -> Stems:
    phrase, _ = _read_phrase([*words[index + 1 : min(end, index + 1 + N_BESIDE_NUMBER)], "."], 0)
    return _collect_name_stems(phrase)


def _split_things(words: Sequence[str]) -> tuple[Stems, Stems]:
    joints = [n for n, word in enumerate(words) if word in _JOINTS or word in ("than", "to")]
    if not joints:
        return frozenset(), frozenset()
    begins = [n + 1 for n, word in enumerate(words[: joints[-1]]) if word in _PREPOSITIONS]
    before, after = words[max(begins, default=0) : joints[-1]], words[joints[-1] + 1 :]
    return _collect_name_stems(before), _collect_name_stems(after)


def _collect_name_stems(words: Sequence[str]) -> Stems:
    words = [word for word in words if word not in _JOINTS and word != "than"]
    return frozenset(stem for stem in _collect_side_stems(words) if not _is_value(stem))


def _compare_order(pair: _ValuePair, words: Sequence[str]) -> bool | None:
    """Return whether numbers and things have the same order as in the claim, or None if unclear."""
    if not set(pair.numbers) <= set(words):
        return None
    indices = [words.index(number) for number in pair.numbers]
    start, end = max(0, min(indices) - N_AROUND), max(indices) + N_AROUND
    stems = [_stem_side_word(word) for word in words[start:end]]
    firsts = [stems.index(stem) for stem in pair.first if stem in stems]
    seconds = [stems.index(stem) for stem in pair.second if stem in stems]
    if not (firsts and seconds):
        return None
    # The words of the first thing may include the outcome, which can occur anywhere.
    is_straight = indices[0] < indices[1]
    return any((first < min(seconds)) == is_straight for first in firsts)


N_CLOSEST = 4
"""Number of sentences of a passage, closest to the claim, that may confirm a comparison."""

_VAGUE = frozenset(
    "expected previously previous before thought ever usual other one once half twice any average "
    "doubles doubled triples tripled baseline estimated reported required normal general "
    "all most time course".split()
)
"""Words after "than" that name no second thing, as in "than expected"."""

_TO = frozenset("superior inferior noninferior preferable preferred favored favoured".split())
_OVER = tuple("superior prefer advantage favo chose choose benefit recommend improv".split())
_BEATS = ("outperform", "exceed", "surpass", "outweigh")
_ACTIONS = tuple(
    "inhibit activat induc suppress block increas reduc decreas enhanc potentiat caus promot "
    "displac replac prevent improv stimulat regulat trigger worsen precede antagoni raise "
    "lowers lowered".split()
)
_BE = frozenset("is are was were be been being".split())
N_BESIDE = 5
"""Number of words on each side of a verb in which its agent and object are searched."""

_WITH = frozenset("compared comparison relative contrast opposed".split())
_UP = tuple(
    "higher highest greater more longer larger stronger increas rais rise rising rose elevat "
    "enhanc upregulat prolong accelerat promot stimulat older".split()
)
_DOWN = tuple(
    "lower lowest less fewer shorter smaller weaker decreas reduc declin fall fell drop diminish "
    "impair downregulat suppress inhibit shorten younger".split()
)
_GOOD = tuple("better superior favor favour prefer safer effective efficacious outperform".split())
_BAD = tuple("worse inferior ineffective".split())

Kind = Literal["compared", "chosen", "changed"]


@dataclass(frozen=True)
class _ComparedPair:
    """Two things that a sentence compares.

    Attributes:
        kind: "chosen" for "A rather than B", "changed" for "from A to B", or else "compared".
        first: Stems of all other words in the clause.
        second: Stems of the phrase after a word such as "than".
        shown: Phrase after a word such as "than", in lower case.
        size: 1 if the clause says "higher", -1 if it says "lower", 0 if it says neither.
        benefit: 1 if the clause says "better", -1 if it says "worse", 0 if it says neither.
    """

    kind: Kind
    first: Stems
    second: Stems
    shown: str
    size: int
    benefit: int


@dataclass(frozen=True)
class _Action:
    """A verb with the stems of the words for its agent and its object."""

    verb: str
    agent: Stems
    object: Stems


def explain_unconfirmed(claim: str, sentences: Sequence[str]) -> str:
    """Explain which comparison in a claim the sentences of a passage do not confirm.

    Return "" if the claim makes no comparison or if all comparisons are confirmed.

    Example:
        >>> explain_unconfirmed("A1 eased pain more than B2.", ["B2 eased pain less than A1."])
        ''
        >>> explain_unconfirmed("B2 eased pain more than A1.", ["A1 eased pain more than B2."])
        'no similar sentence confirms the comparison with "a1"'
    """
    clauses = _split_clauses(claim)
    compared = [one for part in clauses for one in _find_comparisons(part)]
    acted = [] if compared else [one for part in clauses for one in _find_actions(part)]
    if not (compared or acted or any(letter.isdigit() for letter in claim)):
        return ""
    close = [sentences[index] for index, _ in rank_texts(claim, sentences)[:N_CLOSEST]]
    parts = [part for sentence in close for part in _split_clauses(sentence)]
    for one in compared:
        if not _is_confirmed(one, parts):
            return f'no similar sentence confirms the comparison with "{one.shown}"'
    if swapped := _find_swapped_values(claim, close):
        return f"a similar sentence states {swapped[0]} and {swapped[1]} in the opposite order"
    theirs = [one for part in parts for one in _find_actions(part)]
    for one in acted:
        if _is_turned(one, theirs):
            return f'a similar sentence uses "{one.verb}" in the opposite direction'
    return ""


def _find_comparisons(words: Sequence[str]) -> Iterator[_ComparedPair]:
    for start, kind in _find_marks(words):
        second, end = _read_phrase(words, start)
        own = _collect_side_stems(second)
        rest = [*words[:start], *words[end:]]
        others = _collect_side_stems(rest)
        distinct = own - others or own
        if distinct and not set(second) <= _VAGUE | _DULL | _PREPOSITIONS:
            shown = " ".join(word for word in second if word[0].isalnum())
            size = _multiply_signs(words, _UP, _DOWN)
            yield _ComparedPair(kind, others - own, distinct, shown, size, _detect_benefit(words))


def _find_marks(words: Sequence[str]) -> Iterator[tuple[int, Kind]]:
    for n, word in enumerate(words[:-1]):
        before, after, near = words[n - 1] if n else "", words[n + 1], words[max(0, n - 6) : n]
        is_number = after[0].isdigit() or after in ("half", "twice", "one", "two", "three")
        if (before, word) in (("rather", "than"), ("instead", "of")):
            yield n + 1, "chosen"
        elif word in ("versus", "vs") and before != "-":
            yield n + (2 if after == "." else 1), "compared"
        elif (word == "to" and before in _TO) or (word in ("to", "with") and before in _WITH):
            yield n + 1, "compared"
        elif not is_number and (
            (word == "than" and before != "other")
            or (word == "over" and any(one.startswith(_OVER) for one in near))
            or (word.startswith(_BEATS) and after != "by")
        ):
            yield n + 1, "compared"
        elif word == "to" and not is_number and _is_change(near):
            yield n + 1, "changed"


def _is_change(before: Sequence[str]) -> bool:
    """Return whether words before "to" describe a change, as in "from 5 to 7"."""
    if "from" not in before or "far" in before:
        return False
    return {",", "("}.isdisjoint(before[before.index("from") :])


def _detect_benefit(words: Sequence[str]) -> int:
    """Return 1 for words such as "better", -1 for words such as "less effective", or 0."""
    own = _multiply_signs(words, _GOOD, _BAD)
    return -own if own and "less" in words else own


def _multiply_signs(words: Sequence[str], up: tuple[str, ...], down: tuple[str, ...]) -> int:
    """Return -1 for an odd number of words for "down", otherwise 1, or 0 without such words."""
    n_up = sum(word.startswith(up) for word in words)
    n_down = sum(word.startswith(down) and not word.startswith(up) for word in words)
    return (-1) ** n_down if n_up or n_down else 0


def _is_confirmed(one: _ComparedPair, parts: Sequence[Sequence[str]]) -> bool:
    """Return whether the first clause that compares the same things states the same direction."""
    for words in parts:
        for other in _find_comparisons(words):
            if other.kind != one.kind:
                continue
            straight = len(one.second & other.second)
            turned = len(one.second & other.first) if one.first & other.second else 0
            if straight != turned:
                return _is_opposite(one, other) == (turned > straight)
    return False


def _is_opposite(one: _ComparedPair, other: _ComparedPair) -> bool:
    if one.benefit and other.benefit:
        return one.benefit != other.benefit
    return not (one.benefit or other.benefit) and one.size * other.size < 0


def _find_actions(words: Sequence[str]) -> Iterator[_Action]:
    for n, word in enumerate(words):
        if not word.startswith(_ACTIONS):
            continue
        before = _collect_side_stems(words[max(0, n - N_BESIDE) : n])
        after = _collect_side_stems(words[n + 1 : n + 1 + N_BESIDE])
        is_passive = word.endswith("ed") and not _BE.isdisjoint(words[max(0, n - 2) : n])
        if before and after:
            yield _Action(word, *((after, before) if is_passive else (before, after)))


def _is_turned(one: _Action, others: Sequence[_Action]) -> bool:
    """Return whether all other uses of the verb have the agent and the object swapped."""
    same = [
        other
        for other in others
        if _stem_side_word(other.verb)[:5] == _stem_side_word(one.verb)[:5]
    ]
    agent, object_ = one.agent - one.object, one.object - one.agent
    crossed = any(agent & o.object and object_ & o.agent for o in same)
    return crossed and not any(agent & o.agent for o in same)
