"""Measure how an answer is written: openings, connectives, repetition and register."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_OPENING = re.compile(r"[A-Za-z]+|,")
_TAG = re.compile(r"(?:^|\s)[#@]\w+")
_DEFINED = re.compile(r"\(([A-Z][A-Za-z0-9-]{1,9}?)s?\)")

CONNECTIVES = frozenset(
    # Coordinators, subordinators and relatives.
    "and or but nor yet so because although though while whereas since unless if when as that "
    "which who whose where both either neither than including such for "
    # Adverbs that join sentences.
    "however therefore thus hence moreover furthermore additionally consequently nevertheless "
    "nonetheless meanwhile likewise similarly instead otherwise also then finally overall".split()
)
"""The closed classes of English words that join clauses and sentences (Huddleston and Pullum
2002, chapters 11, 12 and 15), one word each."""

N_GRAM = 3
"""Words in a row that count as a repetition when they recur."""


def opening(sentence: str) -> list[str]:
    """Return the first words, one by one and in pairs, in lower case; a comma is a word."""
    words = [w.lower() for w in _OPENING.findall(" ".join(sentence.split()[:3]))]
    return [*words, *(f"{a} {b}" for a, b in itertools.pairwise(words))]


def connective_rate(sentences: Sequence[str]) -> float:
    """Return connectives a sentence, on average; 0 without a sentence."""
    n = sum(word.lower() in CONNECTIVES for s in sentences for word in _WORD.findall(s))
    return n / len(sentences) if sentences else 0.0


def repeated_runs(sentences: Sequence[str]) -> float:
    """Return repeated runs of three words as log(1 + n); further text never lowers it."""
    grams: Counter[tuple[str, ...]] = Counter()
    for sentence in sentences:
        words = [word.lower() for word in _WORD.findall(sentence)]
        grams.update(tuple(words[i : i + N_GRAM]) for i in range(len(words) - N_GRAM + 1))
    return math.log1p(sum(grams.values()) - len(grams))


def register_features(sentence: str) -> dict[str, float]:
    """Return features of spelling that tell chat from scholarly prose; shares or counts."""
    words = _WORD.findall(sentence)
    n = max(1, len(words))
    marks = Counter(unicodedata.category(c) for c in sentence)
    return {
        "pictures": min(3.0, marks["So"] + marks["Sk"]),
        "tags": min(3.0, float(len(_TAG.findall(sentence)))),
        "exclamations": min(3.0, float(sentence.count("!") + sentence.count("?"))),
        "trailing_dots": min(3.0, float(sentence.count("...") + sentence.count("\u2026"))),
        "dashes": min(3.0, float(sentence.count(" - ") + sentence.count("\u2014"))),
        "contractions": sum("'" in w or "\u2019" in w for w in words) / n,
        "capitals": sum(w.isupper() and len(w) > 3 for w in words) / n,
        "small_start": float(sentence[:1].islower()),
        "word_length": sum(len(w) for w in words) / n,
        "long_words": sum(len(w) > 8 for w in words) / n,
        "n_words": min(60.0, float(len(words))),
    }


def definitions(sentences: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Return which sentences define an abbreviation in brackets, and which use another's.

    Returns:
        Two lists, shape (n_sentences,) each.
    """
    defined = [set(_DEFINED.findall(s)) for s in sentences]
    known = set().union(*defined) if defined else set()
    uses = [
        any(re.search(rf"\b{re.escape(name)}s?\b", s) for name in known - own)
        for s, own in zip(sentences, defined, strict=True)
    ]
    return [bool(own) for own in defined], uses
