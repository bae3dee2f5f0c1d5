"""Read PubMed's dates as exactly as they are known, and its links between articles."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from functools import lru_cache

from ragassay.formats.problems import Problem, found_text
from ragassay.records.inputs import ArticleLink, LinkKind

FIRST_YEAR, LAST_YEAR = 1600, 2100
"""A year outside this range is taken for an error: PubMed's oldest articles are of the 1780s."""

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_FREE = re.compile(r"\b(\d{4})\b(?:[ ,]+([A-Za-z]{3,9})\b\.?(?:[ ,]+(\d{1,2})\b(?!\d))?)?")
_EXPECTED = "a year, and perhaps a month (Mar, 3) and a day"


@lru_cache(maxsize=4096)  # Few days, many articles.
def exact_date(year: str, month: str = "", day: str = "") -> str | Problem:
    """Join the parts of a date.

    Args:
        year: Four digits; empty where unknown.
        month: A number, or an English name or its first three letters; empty where unknown.
        day: A number; left out where the month is unknown.

    Returns:
        "", "2021", "2021-03" or "2021-03-09"; a problem where there is no such day.
    """
    if not year:
        return ""
    shown = " ".join(part for part in (year, month, day) if part)
    problem = Problem("published", f"found the date {found_text(shown)}", _EXPECTED)
    if not _is_number(year, 4) or not FIRST_YEAR <= int(year) <= LAST_YEAR:
        return problem
    if not month:
        return year
    number = int(month) if _is_number(month, 2) else _MONTHS.get(month[:3].lower(), 0)
    if day and not _is_number(day, 2):
        return problem
    try:
        date(int(year), number, int(day or 1))
    except ValueError:
        return problem
    return f"{year}-{number:02d}-{int(day):02d}" if day else f"{year}-{number:02d}"


def _is_number(text: str, longest: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= longest


def free_date(text: str) -> str | Problem:
    """Read a date in free form; a range counts from its start.

    Args:
        text: "1998 Dec-1999 Jan" (1998-12), "2000 Spring" (2000), "1975 Jul 15-30" (1975-07-15),
            "Winter 1992-1993" (1992).

    Returns:
        As `exact_date`; "" where it has no year.
    """
    match = _FREE.search(text)
    if match is None:
        return ""
    year, month, day = (part or "" for part in match.groups())
    if month[:3].lower() not in _MONTHS:
        return exact_date(year)
    return exact_date(year, month, day)


def earliest(dates: Iterable[str]) -> str:
    """Return the earliest of some dates; of two that agree as far as they go, the more exact one.

    An article is published on the first day on which anybody could read it, online or in an issue.
    "2021" and "2021-03-09" agree; "2021" is before "2022-01", and after "2020-12-30".

    Returns:
        "" where all are unknown.
    """
    best = ""
    for one in dates:
        if one and (not best or one.startswith(best) or _is_before(one, best)):
            best = one
    return best


def _is_before(one: str, other: str) -> bool:
    return not other.startswith(one) and one < other


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
