"""Attacks that remove connectives (YESciEval, appendix B.3, Integration)."""

from __future__ import annotations

import functools
import re

import yaml

from ragassay.perturbations.answer import CutAnswer
from ragassay.perturbations.attack import Attack, Damage, Material, rubrics
from ragassay.perturbations.pools import data_text


@functools.cache
def _pattern() -> re.Pattern[str]:
    words = sorted(yaml.safe_load(data_text("connectives.yaml")), key=len, reverse=True)
    # Neither "and/or" nor a part of a compound: "follow-up", "if-then".
    return re.compile(rf"(?<![\w/-])(?:{'|'.join(words)})(?![\w/-])", re.IGNORECASE)


def _find(text: str) -> list[re.Match[str]]:
    # "OR 1.4" is an odds ratio.
    return [m for m in _pattern().finditer(text) if len(m[0]) > 3 or not m[0].isupper()]


def without_connectives(text: str, *, first_only: bool = False) -> str:
    """Return a sentence without its connectives, its capital letter and commas repaired.

    A sentence of nothing else is unchanged.

    Args:
        text: One sentence.
        first_only: Remove the first connective only.

    Example:
        >>> without_connectives("However, it fell, and then rose (1).")
        'It fell, rose (1).'
    """
    found = _find(text)[: 1 if first_only else None]
    for place in reversed(found):
        shorter = _removed(text, place)
        text = shorter if re.search(r"[^\W\d_]", shorter) else text
    return text


def _removed(text: str, found: re.Match[str]) -> str:
    left, right = text[: found.start()], text[found.end() :]
    opens = not re.search(r"\w", left)
    closed = left.rstrip()
    if opens or closed.endswith((",", ";", ":")):
        right = right.removeprefix(",")
    if right.lstrip()[:1] in tuple(".,;:)") or not right.strip():
        return closed.removesuffix(",") + right.lstrip()
    right = right.lstrip()
    if opens:
        return left + _capitalised(right)
    return left + right if left.endswith((" ", "(", "\n")) else f"{left} {right}"


def _capitalised(text: str) -> str:
    """Capitalise a sentence, unless its first word has its own spelling ("mRNA")."""
    word = re.match(r"[^\W\d_]+", text)
    return text[0].upper() + text[1:] if word and word[0].islower() else text


def _first_connective(answer: CutAnswer, material: Material) -> Damage | None:
    for place in answer.places:
        piece = answer.pieces[place]
        text = without_connectives(piece.text, first_only=True)
        if text != piece.text:
            return Damage(answer.with_piece(place, piece.changed(text)))
    return None


def _all_connectives(answer: CutAnswer, material: Material) -> Damage | None:
    damaged = answer
    for place in answer.places:
        piece = answer.pieces[place]
        text = without_connectives(piece.text)
        if text != piece.text:
            damaged = damaged.with_piece(place, piece.changed(text))
    return Damage(damaged)


CONNECTIVES: tuple[Attack, ...] = (
    Attack("first_connective", "rubric", "subtle", rubrics("integration"), _first_connective),
    Attack("all_connectives", "rubric", "extreme", rubrics("integration"), _all_connectives),
)
