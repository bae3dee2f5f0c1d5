"""Split text into sentences: answers, references and documents alike."""

from __future__ import annotations

import re
import unicodedata

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
_TAIL_CHARS = 16
"""More than the longest abbreviation; keeps checking a piece's end cheap."""


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return (start, end) character offsets of sentences, in order, without outer white space.

    By sentencex, except that it does not split after `JOINED_ABBREVIATIONS` and list numbers, and
    that pieces without a word are joined to their neighbour.

    Args:
        text: English prose; without a sentence the list is empty.
    """
    # A compiled module without type stubs.
    from sentencex import get_sentence_boundaries  # pyright: ignore[reportAttributeAccessIssue]

    spans: list[tuple[int, int]] = []
    for boundary in get_sentence_boundaries("en", text):
        start, end = boundary["start_index"], boundary["end_index"]
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
