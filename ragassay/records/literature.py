"""PubMed's record of an article."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ragassay.records.base import Frozen
from ragassay.records.inputs import Document

LinkKind = Literal[
    "retracted_by",
    "concern_by",
    "corrected_by",
    "republished_as",
    "published_as",
    "preprint_of",
    "retraction_of",
    "concern_for",
    "correction_of",
]
"""The relation of another article to this one. A retracted article has a link "retracted_by"; the
notice that retracts it has "retraction_of". A preprint that was published in a journal has
"published_as", the journal's article "preprint_of"."""

Notice = Literal["retracted", "concern", "corrected", "preprint"]
"""A reason not to cite an article without comment."""


class ArticleLink(Frozen):
    """A link to another article.

    Attributes:
        kind: The relation of the other article to this one.
        id: Its PMID; empty where PubMed names none.
        source: Its reference as PubMed writes it ("Lancet. 2020 Jun 13;395(10240):1820").
    """

    kind: LinkKind
    id: str = ""
    source: str = ""


class Article(Document):
    """A PubMed record. Its text is the abstract, one labelled section per line ("METHODS: ...").

    Attributes:
        journal: The journal's title.
        published: As exactly as known: "2021", "2021-03" or "2021-03-09"; empty where unknown.
        doi: In lower case, without a resolver's address; empty where there is none.
        publication_types: As PubMed names them: "Randomized Controlled Trial", "Preprint".
        mesh: Descriptor names of its MeSH headings.
        links: Retractions, expressions of concern, errata, preprints.
        version: PubMed's version of the record, 1 for the first.
    """

    journal: str = ""
    published: str = Field(default="", pattern=r"^(\d{4}(-\d{2}(-\d{2})?)?)?$")
    doi: str = ""
    publication_types: tuple[str, ...] = ()
    mesh: tuple[str, ...] = ()
    links: tuple[ArticleLink, ...] = ()
    version: int = Field(default=1, ge=1)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The reasons not to cite it without comment, the gravest first."""
        kinds = {link.kind for link in self.links}
        types = {kind.lower() for kind in self.publication_types}
        found: list[Notice] = []
        if "retracted_by" in kinds or "retracted publication" in types:
            found.append("retracted")
        if "concern_by" in kinds:
            found.append("concern")
        if "corrected_by" in kinds:
            found.append("corrected")
        if "preprint" in types:
            found.append("preprint")
        return tuple(found)
