"""Text split into pieces, so that a page can highlight parts of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.text.differences import find_difference_spans
from ragassay.text.search import rank_texts
from ragassay.text.sentences import split_sentences

Mark = Literal["", "wrong", "close", "against", "unsupported"]
MOST_CHARS = 520
"""Maximum number of characters of the passage shown with a finding."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text with an optional mark.

    Marks are "wrong" (wrong part of a claim), "close" (sentence closest to the claim), "against"
    (part of the passage that contradicts the claim) and "unsupported" (part of a claim that a
    token-level verifier does not find in the passage).
    """

    text: str
    mark: Mark = ""


def mark_places(text: str, places: Iterable[Span], mark: Mark = "wrong") -> tuple[Piece, ...]:
    """Split a text into marked and unmarked pieces.

    Args:
        places: (start, end) of the marked pieces. A place that overlaps an earlier one is skipped.

    Example:
        >>> [piece.text for piece in mark_places("by 5 mm", [(3, 4)])]
        ['by ', '5', ' mm']
    """
    pieces, position = [], 0
    for start, end in sorted(places):
        if position <= start < end <= len(text):
            pieces += [Piece(text[position:start]), Piece(text[start:end], mark)]
            position = end
    return tuple(piece for piece in (*pieces, Piece(text[position:])) if piece.text)


def mark_claim(claim: str, difference: str) -> tuple[Piece, ...]:
    """Mark the parts of a claim that the document does not support."""
    return mark_places(claim, find_difference_spans(difference, claim, "here"))


def mark_passage(passage: str, claim: str, difference: str = "") -> tuple[Piece, ...]:
    """Mark the sentence of a passage closest to a claim and truncate the text around it."""
    spans = split_sentences(passage)
    if not spans:
        return mark_places(passage, ())
    best = _choose_sentence(passage, spans, claim, difference)
    first, last = _choose_window(spans, best)
    before = passage[spans[first][0] : spans[best][0]]
    close = passage[slice(*spans[best])]
    after = passage[spans[best][1] : spans[last][1]]
    against = find_difference_spans(difference, close, "there")
    inner = tuple(
        Piece(piece.text, piece.mark or "close") for piece in mark_places(close, against, "against")
    )
    pieces = (
        Piece("\u2026 " if first else ""),
        Piece(before),
        *inner,
        Piece(after),
        Piece(" \u2026" if last + 1 < len(spans) else ""),
    )
    return tuple(piece for piece in pieces if piece.text)


def _choose_sentence(passage: str, spans: Sequence[Span], claim: str, difference: str) -> int:
    texts = [passage[start:end] for start, end in spans]
    ranked = [position for position, _ in rank_texts(claim, texts)]
    differing = (n for n in ranked if find_difference_spans(difference, texts[n], "there"))
    return next(differing, ranked[0])


def _choose_window(spans: Sequence[Span], best: int) -> tuple[int, int]:
    first = last = best
    while True:
        after = last + 1 if last + 1 < len(spans) else last
        before = first - 1 if first else first
        if spans[after][1] - spans[first][0] <= MOST_CHARS and after > last:
            last = after
        elif spans[last][1] - spans[before][0] <= MOST_CHARS and before < first:
            first = before
        else:
            return first, last
