"""Several passages of one document among the sources of an answer: distinct ids, one document.

Two chunks of PMID 31452104 are the sources "31452104" and "31452104#2", both `part_of` "31452104".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ragassay.formats.rows import distinct_ids
from ragassay.records import Document


def distinct_documents(
    documents: Sequence[Document], named: Sequence[bool] = ()
) -> tuple[Document, ...]:
    """Return sources with distinct ids; those that share one are passages of one document.

    Args:
        documents: The sources.
        named: Whether each has an id of its own; one whose id is its position is no passage of a
            document that has that id. Empty where all have their own.
    """
    owned = [is_own for is_own in named] or [True] * len(documents)
    counts = Counter(d.id for d, is_own in zip(documents, owned, strict=True) if is_own)
    # Those with an id of their own keep it.
    order = sorted(range(len(documents)), key=lambda n: not owned[n])
    ids = dict(zip(order, distinct_ids([documents[n].id for n in order]), strict=True))
    return tuple(
        _renamed(document, ids[n], shares=owned[n] and counts[document.id] > 1)
        for n, document in enumerate(documents)
    )


def _renamed(document: Document, name: str, *, shares: bool) -> Document:
    if name == document.id and not shares:
        return document
    update = {"id": name} | ({"part_of": document.part_of or document.id} if shares else {})
    return document.model_copy(update=update)


def original_id(document: Document) -> str:
    """Return the id that a source had in its file: that of its document for "x#2" of "x".

    Example:
        >>> original_id(Document(id="x#2", text="T", part_of="x"))
        'x'
    """
    base, sign, number = document.id.rpartition("#")
    is_made = bool(sign) and base == document.part_of and number.isdecimal()
    return document.part_of if is_made else document.id


def original_ids(documents: Sequence[Document]) -> dict[str, str]:
    """Return the id in its file of each source, by the source's own."""
    return {document.id: original_id(document) for document in documents}
