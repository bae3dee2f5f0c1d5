"""Find the words near a number that restrict it to a group, a dose or a point in time.

Two numbers with contrasting words, such as "systolic" and "diastolic", measure different things.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from ragassay.text.units import SYMBOL

_CONTRASTS: dict[str, dict[str, str]] = {
    "sex": {"men": "men man males? boys?", "women": "women woman females? girls?"},
    "age": {
        "children": "child(?:ren)? pa?ediatric infants? adolescents? newborns? young",
        "adults": "adults?",
        "old": "elderly",
    },
    "arm": {
        "control": "placebo controls? untreated unvaccinated",
        "treated": r"(?!placebo|control|same|other|both|each|this|the)\w+\s(?:group|arm) "
        r"vaccinated (?:with|on)\s(?:the\s)?(?:drug|treatment|intervention)",
    },
    "time": {
        "before": "baseline before pre-?treatment",
        "after": r"after post-?treatment (?:at|by)\s(?:week|month|day|year)\s\d+",
    },
    "pressure": {"systolic": "systolic", "diastolic": "diastolic"},
    "side": {"left": "left", "right": "right"},
    "scale": {"relative": "relative", "absolute": "absolute"},
    "accuracy": {"sensitivity": "sensitivity", "specificity": "specificity"},
    "outcome": {
        "overall": "overall",
        "free": "(?:progression|disease|event|relapse|recurrence|metastasis)-free",
        "complete": "complete",
        "partial": "partial",
    },
    "order": {
        "1": r"first 1st (?:one|single|1)\sdose",
        "2": r"second 2nd (?:two|both|2)\sdoses",
        "3": r"third 3rd (?:three|3)\sdoses",
        "4": "fourth 4th",
    },
    "limit": {
        "lower": r"lower\s(?:[\w%]+\s){0,3}(?:limit|bound)",
        "upper": r"upper\s(?:[\w%]+\s){0,3}(?:limit|bound)",
    },
    "dose": {"start": "starting initial loading", "keep": "maintenance", "most": "maxim(?:um|al)"},
}
"""Words that exclude each other, as regular expressions, by contrast and member."""

_NARROWING: dict[str, dict[str, str]] = {
    "severity": {"mild": "mild", "moderate": "moderate", "severe": "severe serious fatal"},
    "cause": {
        "drug": "(?:drug|treatment)-related",
        "other": r"(?!drug|treatment)\w+-(?:related|mediated|induced|associated)",
    },
    "unit": {"points": r"percentage\spoints?"},
    "frequency": {
        "2": r"twice\s(?:daily|a\sday) bid every\s12\sh(?:ours)?",
        "3": r"(?:three|3)\stimes\s(?:daily|a\sday) tid every\s8\sh(?:ours)?",
        "4": r"(?:four|4)\stimes\s(?:daily|a\sday) qid every\s6\sh(?:ours)?",
    },
}
"""Contrasts whose members also exclude a number that has no such word."""

_WORDS = [
    (contrast, name, re.compile(rf"\b(?:{'|'.join(words.split())})\b", re.IGNORECASE))
    for contrast, members in (_CONTRASTS | _NARROWING).items()
    for name, words in members.items()
]
_NUMBERED = re.compile(
    r"\b(?:(?P<kind>grade|stage|type|class|phase|category|day|week|month|year)s?\s"
    r"(?P<number>[0-9]{1,3}|[IV]{1,3}|(?-i:[A-E]))"
    r"|(?P<group>group|arm|cohort|drug|treatment|regimen|vaccine)s?\s(?P<name>[1-4]|I{1,3}|(?-i:[A-E])))"
    rf"(?![\w-]|\.[0-9]|\s?[%\u00b0]|\s(?-i:{SYMBOL})\b)",
    re.IGNORECASE,
)
_ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5"}
_PREPOSITION = re.compile(r"\b(with|without|against)\s(?:the\s|an?\s)?([^\W\d_]+)", re.IGNORECASE)
Qualifier = tuple[str, str]
"""A contrast, and one of its members: ("stage", "2")."""


def find_qualifiers(clause: str, lead: str) -> frozenset[Qualifier]:
    """Return the restricting words of a number, from its clause or the start of its sentence.

    Example:
        >>> sorted(find_qualifiers("25% of women with cancer of stage II", "Of men and"))
        [('sex', 'women'), ('stage', '2'), ('with cancer', 'with')]
    """
    own = _read_qualifiers(clause)
    contrasts = {contrast for contrast, _ in own}
    return own | {one for one in _read_qualifiers(lead) if one[0] not in contrasts}


def is_contrast(ours: Collection[Qualifier], theirs: Collection[Qualifier]) -> bool:
    """Return whether two numbers belong to different groups, doses or points in time.

    Example:
        >>> is_contrast([("sex", "men")], [("sex", "women")])
        True
        >>> is_contrast([("sex", "men")], [])
        False
    """
    for contrast in {contrast for contrast, _ in (*ours, *theirs)}:
        mine, others = ({name for of, name in side if of == contrast} for side in (ours, theirs))
        if not mine & others and (contrast in _NARROWING or (mine and others)):
            return True
    return False


def is_of_group(
    ours: Collection[Qualifier], theirs: Collection[Qualifier], others: Collection[Qualifier]
) -> bool:
    """Return whether a number belongs to the same group as `theirs`, but to another than `others`.

    Example:
        >>> is_of_group([("sex", "men")], [("sex", "men")], [("sex", "women")])
        True
        >>> is_of_group([("sex", "men")], [("sex", "men")], [])
        False
    """
    contrasts = {contrast for contrast, _ in others}
    contrasts -= {contrast for contrast, _ in {*ours} & {*others}}
    return any(contrast in contrasts for contrast, _ in {*ours} & {*theirs})


@lru_cache(maxsize=4_000)
def _read_qualifiers(text: str) -> frozenset[Qualifier]:
    found = {(contrast, name) for contrast, name, words in _WORDS if words.search(text)}
    for match in _NUMBERED.finditer(text):
        kind, number = (match["kind"] or match["group"]), (match["number"] or match["name"])
        found.add((kind.lower(), _ROMAN.get(number.lower(), number.lower())))
    for match in _PREPOSITION.finditer(text):
        word, noun = match[1].lower(), match[2].lower()
        found.add(("against", noun) if word == "against" else (f"with {noun}", word))
    return frozenset(found)
