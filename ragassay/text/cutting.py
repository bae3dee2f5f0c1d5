"""Cut long texts into passages, at the ends of sentences."""

from __future__ import annotations

from ragassay.text.sentences import split_sentences

PASSAGE_WORDS = 400
"""Longest passage of a generated response (Dietz 2024, section 6)."""


def passages_of(text: str, most_words: int = PASSAGE_WORDS) -> tuple[str, ...]:
    """Cut a text into passages of whole sentences, each as long as it may be.

    Args:
        text: Any text.
        most_words: Most words of a passage, at least 1; a longer sentence is a passage of its own.

    Returns:
        The passages in order, without outer white space; the text itself where it is short enough,
        and where it has no sentence.

    Example:
        >>> passages_of("One two three. Four five. Six.", most_words=5)
        ('One two three. Four five.', 'Six.')
    """
    spans = split_sentences(text)
    if len(text.split()) <= most_words or not spans:
        return (text,)
    pieces: list[tuple[int, int]] = []
    for start, end in spans:
        if pieces and len(text[pieces[-1][0] : end].split()) <= most_words:
            pieces[-1] = (pieces[-1][0], end)
        else:
            pieces.append((start, end))
    return tuple(text[start:end] for start, end in pieces)
