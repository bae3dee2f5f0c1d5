"""Split documents into passages: runs of three sentences, with character offsets."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ragassay.records import Document, EvidenceSpan
from ragassay.text.bm25 import rank
from ragassay.text.sentences import split_sentences

WINDOW = 3
"""Sentences of a passage; the best number for answers against documents (BioACE, 4.1.3)."""

CUT = "[...]"
"""Marks omitted sentences."""


def windows(document: Document, size: int = WINDOW) -> tuple[EvidenceSpan, ...]:
    """Return all runs of `size` neighbouring sentences; the whole document where it has fewer.

    Args:
        document: An empty text gives no passage.
        size: Sentences of a passage, at least 1.
    """
    return _windows(document.id, document.title, document.text, size)


@functools.lru_cache(maxsize=1024)
def _windows(identifier: str, title: str, text: str, size: int) -> tuple[EvidenceSpan, ...]:
    """Return the passages of a document; cached, as the same articles recur for many sentences."""
    spans = split_sentences(text)
    if not spans:
        return ()
    runs = [spans[i : i + size] for i in range(max(1, len(spans) - size + 1))]
    places = [(run[0][0], run[-1][1]) for run in runs]
    return tuple(
        EvidenceSpan(document=identifier, start=start, end=end, text=text[start:end], title=title)
        for start, end in places
    )


def condense(documents: Sequence[Document], query: str, n_chars: int) -> list[Document]:
    """Shorten documents to a budget, keeping the sentences that BM25 ranks closest to the query.

    Each document keeps its position, id and title, so that numbering is unchanged. Sentences keep
    their order; "[...]" marks omitted ones.

    Args:
        documents: In their order.
        query: The text that sentences are ranked against; where it shares no word with any, the
            first sentences are kept.
        n_chars: Budget over all texts. Exceeded where it is below one "[...]" a document.
    """
    if sum(len(document.text) for document in documents) <= n_chars:
        return list(documents)
    split = [[d.text[start:end] for start, end in split_sentences(d.text)] for d in documents]
    texts = [text for pieces in split for text in pieces]
    kept: set[int] = set()
    room = n_chars - len(CUT) * len(documents)
    for position, _ in rank(query, texts):
        # A kept sentence costs two spaces, and possibly another cut next to it.
        cost = len(texts[position]) + len(CUT) + 2
        if cost <= room:
            kept.add(position)
            room -= cost
    shown: list[Document] = []
    first = 0
    for document, pieces in zip(documents, split, strict=True):
        parts = [text if first + i in kept else CUT for i, text in enumerate(pieces)]
        shown.append(document.model_copy(update={"text": _joined(parts)}))
        first += len(pieces)
    return shown


def _joined(parts: Sequence[str]) -> str:
    """Join sentences in a row, neighbouring cuts as one."""
    pairs = zip(parts, ["", *parts], strict=False)
    return " ".join(part for part, before in pairs if not part == before == CUT)
