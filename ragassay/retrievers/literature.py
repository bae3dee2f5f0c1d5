"""The interface of all searchable literature: five abstracts, or all of PubMed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ragassay.records import Document

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
        no_retracted: Leave out retracted articles.
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
