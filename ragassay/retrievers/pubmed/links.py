"""Interpret PubMed's links between articles: retractions, concerns, errata, preprints.

Updates serve two purposes in PubMed. A preprint that was published in a journal has `UpdateIn`, the
journal's article `UpdateOf`; but editions of a systematic review are linked by the same two,
without any preprint. So an `UpdateIn` counts where the record itself is a preprint (publication
type "Preprint") and does not point to a preprint server, and an `UpdateOf` where the record is not
a preprint and its reference names a preprint server. Other updates are left out: there is no kind
of link for them.

A partial retraction is an erratum to PubMed, and here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ragassay.records.literature import ArticleLink, LinkKind

PREPRINT = "Preprint"

_KINDS: dict[str, tuple[LinkKind, ...]] = {
    "RetractionIn": ("retracted_by",),
    "RetractionOf": ("retraction_of",),
    "PartialRetractionIn": ("corrected_by",),
    "PartialRetractionOf": ("correction_of",),
    "ExpressionOfConcernIn": ("concern_by",),
    "ExpressionOfConcernFor": ("concern_for",),
    "ErratumIn": ("corrected_by",),
    "ErratumFor": ("correction_of",),
    "RepublishedIn": ("republished_as",),
    "CorrectedandRepublishedIn": ("republished_as",),
    "RetractedandRepublishedIn": ("republished_as", "retracted_by"),
}
"""Kinds of links by `RefType`, as the DTD writes it."""

MEDLINE_TAGS = {
    "RIN": "RetractionIn",
    "ROF": "RetractionOf",
    "PRIN": "PartialRetractionIn",
    "PROF": "PartialRetractionOf",
    "ECI": "ExpressionOfConcernIn",
    "ECF": "ExpressionOfConcernFor",
    "EIN": "ErratumIn",
    "EFR": "ErratumFor",
    "RPI": "RepublishedIn",
    "CRI": "CorrectedandRepublishedIn",
    "RRI": "RetractedandRepublishedIn",
    "UIN": "UpdateIn",
    "UOF": "UpdateOf",
}
"""The same in MEDLINE text."""

_SERVER = re.compile(
    r"\W*(arxiv|biorxiv|chemrxiv|medrxiv|psyarxiv|osf preprints|preprints|res sq|research square"
    r"|ssrn)\b",
    re.IGNORECASE,
)


def article_links(
    references: Iterable[tuple[str, str, str]], publication_types: Iterable[str]
) -> tuple[ArticleLink, ...]:
    """Turn PubMed's references between articles into links, in their order and each once.

    Args:
        references: `RefType`, PMID (empty where there is none) and source of each.
        publication_types: Those of the article that has the references.
    """
    links: dict[ArticleLink, None] = {}
    is_preprint = PREPRINT in publication_types
    for kind, pmid, source in references:
        for meaning in _meanings(kind, source, is_preprint):
            links[ArticleLink(kind=meaning, id=pmid, source=source)] = None
    return tuple(links)


def _meanings(kind: str, source: str, is_preprint: bool) -> tuple[LinkKind, ...]:
    if kind == "UpdateIn" and is_preprint and not _SERVER.match(source):
        return ("published_as",)
    if kind == "UpdateOf" and not is_preprint and _SERVER.match(source):
        return ("preprint_of",)
    return _KINDS.get(kind, ())
