"""Passages: runs of three sentences of a document, with their character offsets."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ragassay.records import Document, EvidenceSpan
from ragassay.retrievers.bm25 import rank
from ragassay.sentences import split_sentences

WINDOW = 3
"""Sentences of a passage; the best number for answers against documents (BioACE, 4.1.3)."""

CUT = "[...]"
"""Stands where sentences were left out."""


def windows(document: Document, size: int = WINDOW) -> tuple[EvidenceSpan, ...]:
    """All runs of `size` neighbouring sentences; the whole document where it has fewer.

    Args:
        document: An empty text gives no passage.
        size: Sentences of a passage, at least 1.
    """
    return _windows(document.id, document.title, document.text, size)


@functools.lru_cache(maxsize=1024)
def _windows(identifier: str, title: str, text: str, size: int) -> tuple[EvidenceSpan, ...]:
    """The passages of a document; kept, as the same articles come up for many sentences."""
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
    """Cut documents to a budget, keeping the sentences that BM25 finds closest to the query.

    Each document keeps its place, id and title, so that numbering holds. Sentences keep their
    order; where one or more are left out stands "[...]".

    Args:
        documents: In their order.
        query: What the sentences are ranked against; where it shares no word with any, the first
            sentences are kept.
        n_chars: Budget over all texts. Below the length of one "[...]" a document it cannot hold.
    """
    if sum(len(document.text) for document in documents) <= n_chars:
        return list(documents)
    split = [[d.text[start:end] for start, end in split_sentences(d.text)] for d in documents]
    texts = [text for pieces in split for text in pieces]
    kept: set[int] = set()
    room = n_chars - len(CUT) * len(documents)
    for position, _ in rank(query, texts):
        # A sentence that is kept costs two spaces, and a further cut beside it.
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
    """Sentences in a row, neighbouring cuts as one."""
    pairs = zip(parts, ["", *parts], strict=False)
    return " ".join(part for part, before in pairs if not part == before == CUT)
