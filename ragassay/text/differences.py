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

N_CLOSEST = 2
"""Sentences of a document in which directions are looked for."""

_NUMBER = re.compile(r"(?<![\w.^])\d+(?:[.,\u00b7]\d+)*")
_REFERENCE = re.compile(
    r"\b(?:papers?|stud(?:y|ies)|ref(?:erence)?s?\.?|articles?|sources?)\s\d+(?:(?:,|\sand)?\s\d+)*",
    re.IGNORECASE,
)
"""What looks like a figure and names a source."""

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
_NEGATION = re.compile(
    r"\b(?:not|no|never|cannot|without|nor|neither|fail(?:s|ed)?|unable|absence)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_OPPOSITES = (
    (
        "increas rais rise rising rose elevat higher highest greater more enhanc improv upregulat "
        "up-regulat longer prolonged accelerat stronger larger better gain promot stimulat activat "
        "overexpress majority above",
        "decreas reduc lower lowest fewer less declin fall fell drop diminish impair worse "
        "downregulat down-regulat shorter shorten delay weaker smaller loss suppress inhibit block "
        "underexpress minority below",
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
    claim: str, sentences: Sequence[str], title: str = "", beside: str = ""
) -> Difference | None:
    """Return the first difference of a claim from a document; None where there is none.

    Args:
        claim: The claim.
        sentences: The document's.
        title: The document's.
        beside: Other documents that the claim rests on: their numbers are known, too.

    Example:
        >>> difference_of("It fell by 5 mm.", ["It fell by 2 mm."])
        Difference(kind='number', words='it has no 5')
        >>> difference_of("It raised pressure.", ["It reduced pressure."])
        Difference(kind='direction', words='"raised" here, "reduced" there')
    """
    if not sentences:
        return None
    closest = [sentences[place] for place, _ in rank(claim, sentences)[:N_CLOSEST]]
    return (
        _number(claim, " ".join([title, *sentences, beside]))
        or _direction(claim.lower(), " ".join(closest).lower())
        or _negation(claim, closest[0])
    )


def _number(claim: str, whole: str) -> Difference | None:
    missing = sorted(_numbers(_REFERENCE.sub("", claim)) - _numbers(whole))
    return Difference("number", f"it has no {' and no '.join(missing)}") if missing else None


def _numbers(text: str) -> set[str]:
    return {n.replace(",", "").replace("\u00b7", ".") for n in _NUMBER.findall(text)}


def _direction(claim: str, near: str) -> Difference | None:
    ours, theirs = _WORD.findall(claim), _WORD.findall(near)
    for pair in _SIDES:
        for side, other in (pair, pair[::-1]):
            said = next((word for word in ours if word.startswith(side)), None)
            against = next((word for word in theirs if word.startswith(other)), None)
            if said and against and not any(word.startswith(side) for word in theirs):
                return Difference("direction", f'"{said}" here, "{against}" there')
    return None


def _negation(claim: str, closest: str) -> Difference | None:
    ours, theirs = _NEGATION.search(claim), _NEGATION.search(closest)
    if bool(ours) == bool(theirs):
        return None
    found = ours or theirs
    where = "here" if ours else "there"
    return Difference("negation", f'"{found[0]}" {where} alone') if found else None
