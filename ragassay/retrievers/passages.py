"""Passages: runs of three sentences of a document, with their character offsets."""

from __future__ import annotations

from ragassay.records import Document, EvidenceSpan

WINDOW = 3
"""Sentences of a passage; the best number for answers against documents (BioACE, 4.1.3)."""


def windows(document: Document, size: int = WINDOW) -> list[EvidenceSpan]:
    """All runs of `size` neighbouring sentences; the whole document where it has fewer.

    Args:
        document: An empty text gives no passage.
        size: Sentences of a passage, at least 1.
    """
    from ragassay.sentences import split_sentences

    spans = split_sentences(document.text)
    if not spans:
        return []
    runs = [spans[i : i + size] for i in range(max(1, len(spans) - size + 1))]
    return [
        EvidenceSpan(
            document=document.id,
            start=run[0][0],
            end=run[-1][1],
            text=document.text[run[0][0] : run[-1][1]],
        )
        for run in runs
    ]


def condense(documents: list[Document], query: str, n_chars: int) -> list[Document]:
    """Cut documents to a budget, keeping the sentences that BM25 finds closest to the query.

    Each document keeps its place and its title, so that numbering holds. Sentences keep their
    order; where one is left out stands "[...]".

    Args:
        documents: In their order.
        query: What the sentences are ranked against.
        n_chars: Budget over all texts.
    """
    from ragassay.retrievers.bm25 import rank
    from ragassay.sentences import split_sentences

    if sum(len(document.text) for document in documents) <= n_chars:
        return documents
    pieces = [
        (n, start, end)
        for n, document in enumerate(documents)
        for start, end in split_sentences(document.text)
    ]
    texts = [documents[n].text[start:end] for n, start, end in pieces]
    kept: set[int] = set()
    room = n_chars
    for position, _ in rank(query, texts):
        if len(texts[position]) <= room:
            kept.add(position)
            room -= len(texts[position])
    return [
        document.model_copy(
            update={"text": _joined([(i in kept, t) for i, (p, t) in
                                     enumerate(zip(pieces, texts, strict=True)) if p[0] == n])}
        )
        for n, document in enumerate(documents)
    ]


def _joined(pieces: list[tuple[bool, str]]) -> str:
    parts: list[str] = []
    for is_kept, text in pieces:
        if is_kept:
            parts.append(text)
        elif not parts or parts[-1] != "[...]":
            parts.append("[...]")
    return " ".join(parts)
