"""Words in which a claim differs from what a document says: the witness of a contradiction.

An inference model that says "contradicts" may be wrong. It is right far more often where the claim
also has a number that the document does not have, a direction opposite to that of the closest
sentences, or a negation where the closest sentence has none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.text.bm25 import rank
from ragassay.text.numbers import numbers_of, places_of, spelled_numbers, stated_numbers
from ragassay.text.words import tokenize

N_CLOSEST = 2
"""Sentences of a document in which directions are looked for."""

N_AROUND, N_AROUND_COMPARED = 3, 2
"""Words on either side of a direction, or of a comparative, of which one must be the same."""

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_THAN_NUMBER = re.compile(
    r"\b(?:more|less|fewer|greater|higher|lower|longer|shorter)\sthan\s\d", re.IGNORECASE
)
"""A bound, and no direction."""

_NEGATION = re.compile(
    r"\b(?:not|no|never|cannot|without|nor|neither|fail(?:s|ed)?|unable|absence|avoid(?:s|ed)?"
    r"|contraindicated|(?:advis|recommend)\w*\sagainst)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_COMPARED = (
    "higher highest greater more longer larger stronger better",
    "lower lowest fewer less shorter smaller weaker worse",
)
_OPPOSITES = (
    _COMPARED,
    (
        "increas rais rise rising rose elevat enhanc improv upregulat up-regulat prolonged gain "
        "accelerat promot stimulat activat overexpress majority above",
        "decreas reduc declin fall fell drop diminish impair worsen downregulat down-regulat loss "
        "shorten delay suppress inhibit block underexpress minority below",
    ),
    ("effectiv beneficial protect", "ineffectiv harmful"),
    ("superior", "inferior"),
    ("positiv", "negativ"),
    ("sensitiv", "resistan"),
    ("common widespread frequent", "rare infrequent uncommon"),
    ("early earlier", "late later"),
    ("before", "after"),
    ("high strong", "low weak"),
    ("safe well-tolerated", "unsafe poorly-tolerated"),
    ("presence", "absence"),
    ("mild", "severe"),
    ("agonist", "antagonist"),
)
"""Beginnings of words, one sense and the opposite one."""

Span = tuple[int, int]
_LACKS, _NOR = "it has no ", " and no "
_SIDES = tuple(tuple(tuple(side.split()) for side in pair) for pair in _OPPOSITES)


@dataclass(frozen=True)
class Difference:
    """A word of a claim that its document does not bear out.

    Attributes:
        kind: What kind of word it is.
        words: The words, for a reader.
    """

    kind: Literal["number", "direction", "negation"]
    words: str


def difference_of(
    claim: str, sentences: Sequence[str], title: str = "", beside: Sequence[str] | None = None
) -> Difference | None:
    """Return the first difference of a claim from a document; None where there is none.

    Args:
        claim: The claim.
        sentences: The document's.
        title: The document's.
        beside: Other documents that the claim rests on; empty for none. A number counts that none
            of them has. With any, directions and negations do not count: which document they are
            from cannot be told. None where the sentences are not all of the document: what they
            do not have may stand in the rest, so that no number counts.

    Example:
        >>> difference_of("It fell by 5 mm.", ["It fell by 2 mm."], beside=[])
        Difference(kind='number', words='it has no 5')
        >>> difference_of("It raised pressure.", ["It reduced pressure."])
        Difference(kind='direction', words='"raised" here, "reduced" there')
    """
    if not sentences:
        return None
    number = None if beside is None else _number(claim, " ".join([title, *sentences, *beside]))
    if number or beside:
        return number
    closest = [sentences[place] for place, _ in rank(claim, sentences)[:N_CLOSEST]]
    return _direction(claim.lower(), " ".join(closest).lower()) or _negation(claim, closest)


def places_of_difference(words: str, text: str, of: Literal["here", "there"]) -> list[Span]:
    """Return where a text has the words that a difference names.

    Args:
        words: Of a `Difference`.
        text: The claim, or its document.
        of: Which of them the text is: the claim is "here".

    Example:
        >>> places_of_difference("it has no 5", "It fell by 5 mm.", "here")
        [(11, 12)]
        >>> places_of_difference('"raised" here, "reduced" there', "It reduced pressure.", "there")
        [(3, 10)]
    """
    places = [
        found.span()
        for word in re.findall(rf'"([^"]+)" {of}', words)
        for found in re.finditer(rf"\b{re.escape(word)}\b", text, re.IGNORECASE)
    ]
    if of == "here" and words.startswith(_LACKS):
        for number in words.removeprefix(_LACKS).split(_NOR):
            places += places_of(text, number)
    return sorted(places)


def _number(claim: str, whole: str) -> Difference | None:
    missing = sorted(stated_numbers(claim) - numbers_of(whole) - spelled_numbers(whole))
    return Difference("number", f"{_LACKS}{_NOR.join(missing)}") if missing else None


def _direction(claim: str, near: str) -> Difference | None:
    ours, theirs = (_WORD.findall(_THAN_NUMBER.sub("", text)) for text in (claim, near))
    for pair in _SIDES if _same_comparator(ours, theirs) else _SIDES[1:]:
        for side, other in (pair, pair[::-1]):
            if any(word.startswith(side) for word in theirs):
                continue
            n = N_AROUND_COMPARED if pair is _SIDES[0] else N_AROUND
            for place, against in enumerate(theirs):
                if not against.startswith(other):
                    continue
                said = _in_place_of(ours, side, _around(theirs, place, n), n)
                if said:
                    return Difference("direction", f'"{said}" here, "{against}" there')
    return None


def _same_comparator(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Return whether "than" leads to the same: "less than A" may say what "more than B" says."""
    ends = [
        {word for n, one in enumerate(words) if one == "than" for word in words[n + 1 : n + 4]}
        for words in (ours, theirs)
    ]
    return not any(ends) or bool(
        set(tokenize(" ".join(ends[0]))) & set(tokenize(" ".join(ends[1])))
    )


def _in_place_of(
    ours: Sequence[str], side: tuple[str, ...], around: set[str], n: int
) -> str | None:
    """Return our word of a sense that stands among the same words as theirs of the opposite one."""
    for own, word in enumerate(ours):
        if word.startswith(side) and around & _around(ours, own, n):
            return word
    return None


def _around(words: Sequence[str], place: int, n: int) -> set[str]:
    near = [*words[max(0, place - n) : place], *words[place + 1 : place + 1 + n]]
    return set(tokenize(" ".join(near)))


def _negation(claim: str, closest: Sequence[str]) -> Difference | None:
    ours = _NEGATION.search(claim)
    theirs = _NEGATION.search(" ".join(closest) if ours else closest[0])
    if ours and theirs:
        return None
    found = ours or theirs
    return found and Difference("negation", f'"{found[0]}" {"here" if ours else "there"} alone')
