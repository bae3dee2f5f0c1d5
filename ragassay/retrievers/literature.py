"""The interface of all searchable literature, and a corpus in memory."""

from __future__ import annotations

import functools
import hashlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ragassay.records import Article, Document
from ragassay.text.search import Bm25Index

_DOI = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?(10\.\d{4,9}/\S+)$", re.IGNORECASE)
_PMID = re.compile(r"^pmid:?\s*(\d+)$", re.IGNORECASE)


def bare_identifier(identifier: str) -> str:
    """Return an id without its usual prefixes; a DOI in lower case.

    Example:
        >>> bare_identifier("PMID: 123"), bare_identifier("https://doi.org/10.1000/ABC")
        ('123', '10.1000/abc')
    """
    identifier = identifier.strip()
    if doi := _DOI.match(identifier):
        return doi[1].lower()
    pmid = _PMID.match(identifier)
    return pmid[1] if pmid else identifier


def day_number(date: str, last: bool = False) -> int:
    """Return a date as a sortable number; missing parts get their first or last value.

    Example:
        >>> day_number("2020"), day_number("2020-03", last=True)
        (20200000, 20200399)
    """
    digits = date.replace("-", "")
    return int(digits.ljust(8, "9" if last else "0"))


@dataclass(frozen=True)
class Filters:
    """Conditions on the articles of a search. Articles without the requested fact are left out.

    Attributes:
        since: First day of publication, "2020", "2020-03" or "2020-03-09"; empty for any.
        until: Last day of publication, in the same form.
        types: Publication types, any of which matches; empty for all.
    """

    since: str = ""
    until: str = ""
    types: tuple[str, ...] = ()
    no_retracted: bool = False


ANY = Filters()


@dataclass(frozen=True)
class Hit:
    """A document found by a search.

    Attributes:
        document: The document; an `Article` where more than its text is known.
        score: The search's own score; higher is better, comparable within one search only.
    """

    document: Document
    score: float


@runtime_checkable
class Literature(Protocol):
    """Literature that can be searched. Calls are safe across threads."""

    @property
    def sha256(self) -> str:
        """Hash that changes when search results may change."""
        ...

    def get(self, identifier: str) -> Document | None:
        """Return the document of this id (a PMID, a DOI where supported), or None."""
        ...

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return at most `k` documents for a query in plain words, best first."""
        ...


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
