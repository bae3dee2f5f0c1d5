"""Find a quote in the text that it is taken from."""

from __future__ import annotations

from rapidfuzz import fuzz

LEAST_ALIKE = 90.0
"""Percent of a quote's characters that the text must have in a row (rapidfuzz's partial ratio)."""

LEAST_CHARS = 8
"""A shorter quote proves nothing."""

MOST_CHARS = 300
"""A longer quote is found by its beginning and its end: the time grows with the square of it."""


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Return the (start, end) of the place that a quote was taken from; None where there is none.

    Models change a quote's case, spaces and dashes. The closest place counts where nearly all is
    the same; what is shown of it is then the text's own.

    Example:
        >>> find_quote("The dose was 5 mg", "At first the dose  was 5 mg daily.")
        (10, 27)
    """
    wanted = " ".join(quote.split()).strip("\"'\u201c\u201d \u2026.")
    if len(wanted) < LEAST_CHARS or len(wanted) > len(text):
        return None
    wanted, text = _lower(wanted), _lower(text)
    if len(wanted) <= MOST_CHARS:
        return _place(wanted, text)
    first, last = _place(wanted[:MOST_CHARS], text), _place(wanted[-MOST_CHARS:], text)
    if first is None or last is None:
        return None
    span = first[0], last[1]
    least, most = len(wanted) * LEAST_ALIKE / 100, len(wanted) * 100 / LEAST_ALIKE
    return span if least <= span[1] - span[0] <= most else None


def _place(wanted: str, text: str) -> tuple[int, int] | None:
    found = fuzz.partial_ratio_alignment(wanted, text, score_cutoff=LEAST_ALIKE)
    return (found.dest_start, found.dest_end) if found else None


def _lower(text: str) -> str:
    """Return text in lower case, where that keeps each character at its place."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text
