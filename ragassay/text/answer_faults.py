"""Faults of a whole answer that can be told without a model: cut off, refused, wrong language."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

N_REFUSAL_SENTENCES = 4
"""A longer answer gives something besides its refusal."""

LEAST_LANGUAGE_SHARE = 0.5
"""Probability from which a language is believed; shorter texts stay below it."""

_CLOSED = re.compile(r"[.!?:;\u2026\u3002\uff01\uff1f|][\"'\u201d\u2019)\]*_\s]*$")
_OPEN_END = re.compile(
    r"(?:[,(\u2013\u2014-]|\b(?:a|an|the|of|and|or|with|in|to|for|by|from|at|on|into|"
    r"between|than|as|that|which|this|these|its|their|is|are|was|were|be|been|has|have|had|may|"
    r"might|can|could|will|would|should|not))$",
    re.IGNORECASE,
)
_SOURCE = r"(?:context|snippet|document|passage|source|abstract|text)s?"
_KNOWLEDGE = r"(?:information|snippet|document|answer|passage|source|abstract)s?"
_NOTHING = re.compile(
    rf"\b{_SOURCE}\b[^.;]{{0,30}}\b(?:do|does|did) not (?:\w+ )?(?:contain|provide|mention|"
    rf"address|include|specify|discuss|offer|give)\b"
    rf"|\b(?:do|does|did) not provide (?:\w+ )?(?:information|details) (?:on|about|regarding)\b"
    rf"|\b(?:no|not enough|insufficient)\b(?: \w+){{0,2}} {_KNOWLEDGE} (?:\w+ )?"
    rf"(?:provided|available|given|found|mentioned)\b"
    rf"|\bI (?:can ?not|can't|could not|do not|don't|am (?:not able|unable))\b"
    rf"|\bnot (?:specified|mentioned|provided|addressed|stated) in the (?:\w+ )?{_SOURCE}\b"
    rf"|\bunable to (?:answer|provide|construct)\b"
    rf"|\bplease (?:share|provide|specify|clarify)\b",
    re.IGNORECASE,
)
"""Wordings of an answer that gives none."""
_APOLOGY = re.compile(
    r"\b(?:I'm|I am) (?:sorry|not able|unable)\b|\bas an? (?:AI|(?:large )?language model)\b",
    re.IGNORECASE,
)
_ENGLISH = frozenset("the of and is in to with for that are".split())
_WORD = re.compile(r"[^\W\d_]+")


def is_cut_off(sentences: Sequence[str]) -> bool:
    """Return whether an answer stops within its last sentence.

    It does where that ends with a comma, an open bracket or a word that another must follow, or
    without a mark where all others end with one.
    """
    if not sentences:
        return False
    last = sentences[-1].rstrip()
    if _CLOSED.search(last):
        return False
    others = [one for one in sentences[:-1] if not _CLOSED.search(one)]
    return bool(_OPEN_END.search(last)) or (len(sentences) > 1 and not others)


def says_nothing(sentence: str) -> bool:
    """Return whether a sentence only says that there is nothing to say, or asks."""
    return sentence.rstrip().endswith("?") or bool(_NOTHING.search(sentence))


def refuses(sentences: Sequence[str]) -> bool:
    """Return whether an answer is a refusal: short, and it opens by saying that it has none."""
    if not 0 < len(sentences) <= N_REFUSAL_SENTENCES:
        return False
    return any(pattern.search(sentences[0]) for pattern in (_NOTHING, _APOLOGY))


def languages(question: str, answer: str) -> tuple[str, str] | None:
    """Return the languages of a question and its answer where they surely differ.

    Returns:
        Two ISO 639-1 codes; None where they are one, or too short to tell.
    """
    if _is_english(question) and _is_english(answer):
        return None
    first, second = (_identifier().classify(text) for text in (question, answer))
    if first[0] == second[0] or min(first[1], second[1]) < LEAST_LANGUAGE_SHARE:
        return None
    return first[0], second[0]


def _is_english(text: str) -> bool:
    """Return whether a text surely is English: the identifier takes half a second to load."""
    return len(_ENGLISH & {word.lower() for word in _WORD.findall(text)}) > 1


@functools.cache
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
