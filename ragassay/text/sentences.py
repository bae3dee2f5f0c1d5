"""Split text into sentences: answers, references and documents alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

JOINED_ABBREVIATIONS: tuple[tuple[frozenset[str], re.Pattern[str]], ...] = (
    (frozenset({"approx", "excl", "incl", "vit"}), re.compile(r"\S")),
    (
        frozenset(
            {"ch", "chap", "eq", "eqs", "figs", "refs", "suppl", "tab", "tabs", "vol", "vols"}
        ),
        re.compile(r"[a-z0-9]|[A-Z]\d"),
    ),
    (
        frozenset(
            {
                *("avg", "conc", "cv", "diff", "est", "kg", "max", "mg", "ml", "resp", "seq", "sp"),
                *("spp", "ssp", "subsp", "temp", "var", "wk", "wt", "yr"),
            }
        ),
        re.compile(r"[a-z]"),
    ),
)
"""Abbreviations that sentencex mistakes for the end of a sentence, and what must follow for them
not to end one: anything, a number or label, a lower-case letter."""

_LAST_WORD = re.compile(r"(?:^|[\s(\[/])([A-Za-z]+)\.$")
_LIST_NUMBER = re.compile(r"\(?(?:\d{1,3}|[ivxIVX]{1,5}|[a-zA-Z])[.)]$")
_LONGEST_CHARS = 800
"""Beyond this, a piece is no sentence: sentencex does not split between brackets or quotation
marks, and one without its other half can keep it from splitting half a paper."""

_MARKS = "()[]{}\"\u201c\u201d\u2018\u2019\u00ab\u00bb\u201e\u201a'"
_PAIRED = str.maketrans(dict.fromkeys(_MARKS, " "))
_MOST_PAIRED = 2_000
"""Beyond this, a paragraph's brackets and quotation marks are none to sentencex, whose time grows
with the square of those without their other half."""

_TAIL_CHARS = 16
"""More than the longest abbreviation; keeps checking a piece's end cheap."""


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return (start, end) character offsets of sentences, in order, without outer white space.

    By sentencex, except that it does not split after `JOINED_ABBREVIATIONS` and list numbers, and
    that pieces without a word are joined to their neighbour.

    Args:
        text: English prose; without a sentence the list is empty.
    """
    spans: list[tuple[int, int]] = []
    for start, end in _pieces(text):
        piece = text[start:end]
        start += len(piece) - len(piece.lstrip())
        end -= len(piece) - len(piece.rstrip())
        if start >= end:
            continue
        if spans and _is_one(text, spans[-1], (start, end)):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return [span for span in spans if _has_word(text[span[0] : span[1]])]


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    for start, end in _boundaries(_without_crowds(text)):
        if end - start <= _LONGEST_CHARS:
            yield start, end
        else:
            inner = _boundaries(text[start:end].translate(_PAIRED))
            yield from ((start + first, start + last) for first, last in inner)


def _without_crowds(text: str) -> str:
    """Return a text of the same length without brackets and quotation marks where they crowd."""
    return "\n\n".join(
        part.translate(_PAIRED) if sum(map(part.count, _MARKS)) > _MOST_PAIRED else part
        for part in text.split("\n\n")
    )


def _boundaries(text: str) -> list[tuple[int, int]]:
    # A compiled module without type stubs.
    from sentencex import get_sentence_boundaries  # pyright: ignore[reportAttributeAccessIssue]

    return [(one["start_index"], one["end_index"]) for one in get_sentence_boundaries("en", text)]


def _is_one(text: str, left: tuple[int, int], right: tuple[int, int]) -> bool:
    """Return whether two neighbouring pieces belong to one sentence."""
    if text.count("\n", left[1], right[0]) > 1:
        return False
    if not _has_word(text[right[0] : right[1]]):
        return True
    tail = text[max(left[0], left[1] - _TAIL_CHARS) : left[1]]
    if left[1] - left[0] <= _TAIL_CHARS and (_LIST_NUMBER.fullmatch(tail) or not _has_word(tail)):
        return True
    word = _LAST_WORD.search(tail)
    return word is not None and any(
        word[1].lower() in names and follower.match(text, right[0])
        for names, follower in JOINED_ABBREVIATIONS
    )


def _has_word(piece: str) -> bool:
    """Return whether there is a letter, a number or a picture, not punctuation alone."""
    return any(unicodedata.category(c)[0] in "LN" or unicodedata.category(c) == "So" for c in piece)


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [text[start:end] for start, end in split_sentences(text)]
