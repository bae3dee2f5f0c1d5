"""A corpus in memory: a request's documents, or a file of a few thousand."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Sequence

from ragassay.records import Article, Document
from ragassay.retrievers.literature import (
    ANY,
    Filters,
    Hit,
    Literature,
    bare_identifier,
    day_number,
)
from ragassay.text.bm25 import Bm25Index


class Corpus:
    """Documents by id, with a BM25 index that is built at the first search.

    Args:
        documents: Ids differ.
    """

    def __init__(self, documents: Sequence[Document] = ()) -> None:
        self.documents = tuple(documents)
        self._by_id = {document.id: document for document in documents}
        self._by_doi = {d.doi: d for d in documents if isinstance(d, Article) and d.doi}

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def sha256(self) -> str:
        """Hash of all documents in their order."""
        return self._sha256

    @functools.cached_property
    def _sha256(self) -> str:
        digest = hashlib.sha256()
        for document in self.documents:
            digest.update(document.model_dump_json().encode())
        return digest.hexdigest()

    @functools.cached_property
    def _index(self) -> Bm25Index:
        return Bm25Index([f"{d.title} {d.text}" for d in self.documents])

    def get(self, identifier: str) -> Document | None:
        """Return the document of this id or DOI, or None."""
        name = bare_identifier(identifier)
        return self._by_id.get(identifier) or self._by_id.get(name) or self._by_doi.get(name)

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return the `k` best documents by BM25 over title and text; each shares a query word."""
        found = self._index.search(query)
        hits = (Hit(self.documents[i], score) for i, score in found)
        return list(itertools.islice((h for h in hits if is_kept(h.document, filters)), k))


def is_kept(document: Document, filters: Filters) -> bool:
    """Return whether a search with these filters may return a document."""
    if filters == ANY:
        return True
    if not isinstance(document, Article):
        return not (filters.since or filters.until or filters.types)
    kinds = {kind.lower() for kind in document.publication_types}
    day = day_number(document.published) if document.published else 0
    return (
        (not filters.since or day >= day_number(filters.since))
        and (not filters.until or 0 < day <= day_number(filters.until, last=True))
        and (not filters.types or not kinds.isdisjoint(kind.lower() for kind in filters.types))
        and not (filters.no_retracted and "retracted" in document.notices)
    )


def has_documents(corpus: Literature) -> bool:
    """Return whether there is anything to search; an empty corpus in memory stands for none."""
    return not isinstance(corpus, Corpus) or len(corpus) > 0


def can_look_up(corpus: Literature) -> bool:
    """Return whether a document that `get` does not return is not in the corpus."""
    return has_documents(corpus) and getattr(corpus, "can_look_up", True)
