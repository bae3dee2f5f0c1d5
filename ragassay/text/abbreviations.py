"""Find what a text's abbreviations stand for, by the letters (Schwartz and Hearst 2003)."""

from __future__ import annotations

import re

_DEFINED = re.compile(r"\(([A-Za-z][\w/-]{1,9})\)")
_WORD = re.compile(r"[^\W_]+(?:[-\u2013'][^\W_]+)*")
_CUT = re.compile(r"[.;:?!()\[\]]")


def long_forms(text: str) -> dict[str, str]:
    """Return the words that each abbreviation in brackets stands for; plurals without their s.

    As in the paper, each letter of the short form is looked for from its end backwards, and its
    first one at the beginning of a word.

    Args:
        text: English prose.

    Example:
        >>> long_forms("We used gas chromatography (GC) and quantum dots (QDs).")
        {'GC': 'gas chromatography', 'QD': 'quantum dots'}
    """
    found: dict[str, str] = {}
    for match in _DEFINED.finditer(text):
        short = match[1].removesuffix("s")
        if sum(letter.isupper() for letter in short) < 2:
            continue
        before = _CUT.split(text[max(0, match.start() - 120) : match.start()])[-1]
        words = list(_WORD.finditer(before))[-min(len(short) + 5, len(short) * 2) :]
        tail = before[words[0].start() :].rstrip() if words else ""
        long = _long_form(short, tail)
        if long:
            found.setdefault(short, long)
    return found


def _long_form(short: str, tail: str) -> str:
    place, last = len(tail), tail.rfind(" ")
    for i in range(len(short) - 1, -1, -1):
        letter = short[i].lower()
        if not letter.isalnum():
            continue
        place -= 1
        while place >= 0 and (
            tail[place].lower() != letter or (i == 0 and place > 0 and tail[place - 1].isalnum())
        ):
            place -= 1
        if place < 0 or (letter == short[-1].lower() and i == len(short) - 1 and place < last):
            return ""
    long = tail[place:]
    return long if len(long) > len(short) and short.lower() not in long.lower().split() else ""
