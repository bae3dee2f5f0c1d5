"""Choose the passage of a document to compare a claim with: all of it where it fits.

A passage is one text: its first line is the title, empty for none, then one sentence a line.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ragassay.text.bm25 import rank
from ragassay.text.sentences import sentences_of

N_WORDS = 300
"""Most words to read of a document: with title and claim, some 512 word pieces."""

ALL_WORDS = 1_000_000
"""For models that read whole documents."""


def passage_of(claim: str, text: str, title: str = "", n_words: int = N_WORDS) -> str:
    """Return the passage of a document that a claim is compared with."""
    return passage_of_sentences(claim, sentences_of(text), title, n_words=n_words)


def passage_of_sentences(
    claim: str,
    sentences: Sequence[str],
    title: str = "",
    wanted: Collection[int] = (),
    n_words: int = N_WORDS,
) -> str:
    r"""Return the passage of a document that was cut into sentences.

    Args:
        claim: The claim.
        sentences: Of a document of more than `n_words` those are read that BM25 ranks closest to
            the claim, in their order.
        title: The document's title.
        wanted: Positions of sentences to read before others.
        n_words: Most words to read.

    Example:
        >>> passage_of_sentences("It fell.", ["Pressure fell.", "Pain rose."], "A trial")
        'A trial.\nPressure fell.\nPain rose.'
    """
    lengths = [len(sentence.split()) for sentence in sentences]
    kept = set(range(len(sentences)))
    if sum(lengths) > n_words:
        kept, room = set(), n_words
        ranked = [place for place, _ in rank(claim, sentences)]
        for place in sorted(ranked, key=lambda place: place not in wanted):
            if kept and lengths[place] > room:
                break
            kept.add(place)
            room -= lengths[place]
    lines = (" ".join(sentences[place].split()) for place in sorted(kept))
    return "\n".join([f"{title}." if title else "", *lines])


def with_closest(claim: str, passage: str) -> str:
    r"""Repeat the sentence closest to the claim, by BM25, in front of the others.

    Example:
        >>> with_closest("Pain rose.", "A trial.\nPressure fell.\nPain rose.\nAll was well.")
        'A trial.\nPain rose.\nPressure fell.\nPain rose.\nAll was well.'
    """
    title, *lines = passage.split("\n")
    if len(lines) < 3:
        return passage
    return "\n".join([title, lines[rank(claim, lines)[0][0]], *lines])
