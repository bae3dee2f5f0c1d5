"""Which sources a citation stands for: one, or all passages of the document that it names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragassay.records import Case, Citation, Document

_NUMBER = re.compile(r"\d{1,9}")


def cited_sources(citation: Citation, sources: Sequence[Document]) -> tuple[Document, ...]:
    """Return the sources that a citation is checked against, in their order.

    A citation that names a document by its id is checked against all its passages. One that counts
    sources, as [2], means that passage alone.

    Args:
        citation: The citation; one that points nowhere has no source.
        sources: The case's sources.
    """
    own = next((one for one in sources if one.id == citation.document), None)
    if own is None:
        return ()
    if not own.part_of or own.id != own.part_of or _is_position(citation.marker, own, sources):
        return (own,)
    return tuple(one for one in sources if one.part_of == own.part_of)


def _is_position(marker: str, own: Document, sources: Sequence[Document]) -> bool:
    """Return whether a marker counts to a source, and does not name it."""
    position = str(sources.index(own) + 1)
    is_named = own.part_of.lower() in marker.lower()
    return not is_named and position in _NUMBER.findall(marker)


def joined_text(documents: Sequence[Document]) -> str:
    """Return the texts of several passages as one."""
    return "\n\n".join(document.text for document in documents)


def sources_of(sentence: int, case: Case, marker: str | None = None) -> tuple[Document, ...]:
    """Return the sources that the citations of a sentence are checked against, each once.

    Args:
        sentence: 1-based.
        case: The case.
        marker: The only citation to look at; None for all of the sentence.
    """
    citations = case.sentences[sentence - 1].citations
    chosen = (c for c in citations if marker is None or c.marker == marker)
    found = {s.id: s for citation in chosen for s in cited_sources(citation, case.sources)}
    return tuple(found.values())
