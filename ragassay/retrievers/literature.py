"""What every place to look literature up in has in common, be it five abstracts or all of PubMed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ragassay.records import Document


@dataclass(frozen=True)
class Filters:
    """Which articles a search is to look at. Articles without the fact asked for are left out.

    Attributes:
        since: First day of publication, "2020", "2020-03" or "2020-03-09"; empty for any.
        until: Last day of publication, in the same form.
        types: Publication types, any of them; empty for all.
        no_retracted: Leave out retracted articles.
    """

    since: str = ""
    until: str = ""
    types: tuple[str, ...] = ()
    no_retracted: bool = False


ANY = Filters()


@dataclass(frozen=True)
class Hit:
    """A document that a search found.

    Attributes:
        document: The document; an `Article` where the place knows more than its text.
        score: The place's own measure; higher is better, and only orders one search's hits.
    """

    document: Document
    score: float


@runtime_checkable
class Literature(Protocol):
    """A place to look literature up in. Calls are safe across threads."""

    def get(self, identifier: str) -> Document | None:
        """The document of this id (a PMID, a DOI where the place knows it), or None."""
        ...

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """At most `k` documents for a query in plain words, best first."""
        ...
