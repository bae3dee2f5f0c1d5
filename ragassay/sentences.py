"""Sentence boundaries, the same for answers, references and documents."""

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
"""Abbreviations that sentencex takes for the end of a sentence, and what must follow for them not
to be one: anything, a number or label, a small letter."""

_LAST_WORD = re.compile(r"(?:^|[\s(\[/])([A-Za-z]+)\.$")
_LIST_NUMBER = re.compile(r"\(?(?:\d{1,3}|[ivxIVX]{1,5}|[a-zA-Z])[.)]$")
_TAIL_CHARS = 16
"""More than the longest abbreviation; keeps a look at a piece's end cheap."""


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Boundaries as (start, end) character offsets, in order, without surrounding white space.

    By sentencex, but for its cuts behind `JOINED_ABBREVIATIONS` and list numbers, and for pieces
    that hold no word: those go with their neighbour.

    Args:
        text: English prose; of no sentence gives an empty list.
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
    """Whether two neighbouring pieces belong to one sentence."""
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
    """Whether there is a letter, a number or a picture, not punctuation alone."""
    return any(unicodedata.category(c)[0] in "LN" or unicodedata.category(c) == "So" for c in piece)


def sentences_of(text: str) -> list[str]:
    """The sentences of a text."""
    return [text[start:end] for start, end in split_sentences(text)]
