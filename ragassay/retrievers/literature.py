"""Protocol for searchable literature, and a corpus in memory that implements it."""

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


def strip_article_id(identifier: str) -> str:
    """Return an article id without a prefix such as "PMID:". DOIs are lowercased.

    Example:
        >>> strip_article_id("PMID: 123"), strip_article_id("https://doi.org/10.1000/ABC")
        ('123', '10.1000/abc')
    """
    identifier = identifier.strip()
    if doi := _DOI.match(identifier):
        return doi[1].lower()
    pmid = _PMID.match(identifier)
    return pmid[1] if pmid else identifier


def compute_day_number(date: str, last: bool = False) -> int:
    """Return a date as a sortable number, in which missing digits are 0, or 9 with `last`.

    Example:
        >>> compute_day_number("2020"), compute_day_number("2020-03", last=True)
        (20200000, 20200399)
    """
    digits = date.replace("-", "")
    return int(digits.ljust(8, "9" if last else "0"))


@dataclass(frozen=True)
class Filters:
    """Conditions that articles must meet. A date condition excludes articles without a date.

    Attributes:
        since: Earliest publication date, such as "2020", "2020-03" or "2020-03-09", or empty.
        until: Latest publication date in the same format as `since`, or empty.
        types: Publication types, of which an article must have at least one, or empty for all.
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
        document: Document that was found, which is an `Article` if its metadata is known.
        score: Search score; higher is better, and scores of different searches are not comparable.
    """

    document: Document
    score: float


@runtime_checkable
class Literature(Protocol):
    """Searchable literature. Implementations must be thread-safe."""

    @property
    def sha256(self) -> str:
        """Hash that changes if searches may return different results."""
        ...

    def get(self, identifier: str) -> Document | None:
        """Return the document with the given id: a PMID, or a DOI if supported."""
        ...

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return up to `k` documents for a natural-language query, best first."""
        ...


class Corpus:
    """A corpus in memory, whose BM25 index is built by the first search.

    Args:
        documents: Documents with unique ids.
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
        """Return the document with the given id or DOI, or None if there is none."""
        name = strip_article_id(identifier)
        return self._by_id.get(identifier) or self._by_id.get(name) or self._by_doi.get(name)

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return the best `k` documents that share a word with the query, ranked by BM25."""
        hits = (Hit(self.documents[i], score) for i, score in self._index.search(query))
        return list(itertools.islice((h for h in hits if is_kept(h.document, filters)), k))


def is_kept(document: Document, filters: Filters) -> bool:
    """Return whether a document meets the conditions of the filters."""
    if filters == ANY:
        return True
    if not isinstance(document, Article):
        return not (filters.since or filters.until or filters.types)
    kinds = {kind.lower() for kind in document.publication_types}
    day = compute_day_number(document.published) if document.published else 0
    return (
        (not filters.since or day >= compute_day_number(filters.since))
        and (not filters.until or 0 < day <= compute_day_number(filters.until, last=True))
        and (not filters.types or not kinds.isdisjoint(kind.lower() for kind in filters.types))
        and not (filters.no_retracted and "retracted" in document.notices)
    )


def has_documents(corpus: Literature) -> bool:
    """Return whether a corpus contains documents; only a corpus in memory can be empty."""
    return not isinstance(corpus, Corpus) or len(corpus) > 0


def can_look_up(corpus: Literature) -> bool:
    """Return whether the `get` method finds every document of a corpus."""
    return has_documents(corpus) and getattr(corpus, "can_look_up", True)
