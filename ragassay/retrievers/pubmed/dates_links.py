"""Parse the dates of PubMed articles and the links between articles."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date as calendar_date
from functools import lru_cache

from ragassay.formats.problems import Problem, quote_text
from ragassay.records.inputs import ArticleLink, LinkKind

FIRST_YEAR, LAST_YEAR = 1600, 2100
"""First and last year that is accepted. The oldest articles in PubMed are from the 1780s."""

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_FREE = re.compile(r"\b(\d{4})\b(?:[ ,]+([A-Za-z]{3,9})\b\.?(?:[ ,]+(\d{1,2})\b(?!\d))?)?")
_EXPECTED = "a year, optionally with a month (Mar, 3) and a day"


@lru_cache(maxsize=4096)
def join_date(year: str, month: str = "", day: str = "") -> str | Problem:
    """Join year, month and day to a date, where unknown parts are empty.

    Args:
        year: Four digits.
        month: Number, or English name or abbreviation.
        day: Number, which is ignored if the month is unknown.

    Returns:
        Date such as "2021", "2021-03" or "2021-03-09", an empty string if the year is unknown, or a
        problem if the date is invalid.
    """
    if not year:
        return ""
    shown = " ".join(part for part in (year, month, day) if part)
    problem = Problem("published", f"found the date {quote_text(shown)}", _EXPECTED)
    if not _is_number(year, 4) or not FIRST_YEAR <= int(year) <= LAST_YEAR:
        return problem
    if not month:
        return year
    number = int(month) if _is_number(month, 2) else _MONTHS.get(month[:3].lower(), 0)
    if day and not _is_number(day, 2):
        return problem
    try:
        calendar_date(int(year), number, int(day or 1))
    except ValueError:
        return problem
    return f"{year}-{number:02d}-{int(day):02d}" if day else f"{year}-{number:02d}"


def _is_number(text: str, longest: int) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= longest


def parse_free_date(text: str) -> str | Problem:
    """Parse a date in free form, or the start of a range of dates.

    For example, "1998 Dec-1999 Jan" becomes "1998-12", "1975 Jul 15-30" becomes "1975-07-15", and
    "2000 Spring" becomes "2000". The result has the format that `join_date` returns, and is empty
    if the text contains no year.
    """
    match = _FREE.search(text)
    if match is None:
        return ""
    year, month, day = (part or "" for part in match.groups())
    if month[:3].lower() not in _MONTHS:
        return join_date(year)
    return join_date(year, month, day)


def find_earliest_date(dates: Iterable[str]) -> str:
    """Return the earliest date, or an empty string if all dates are unknown.

    If one date is the start of another, such as "2021" and "2021-03-09", the longer date counts as
    earlier.
    """
    best = ""
    for date in filter(None, dates):
        if date.startswith(best) or (not best.startswith(date) and date < best):
            best = date
    return best


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
"""Kinds of links between articles for each value of the `RefType` attribute."""

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
"""Value of the `RefType` attribute for each MEDLINE tag."""

_SERVER = re.compile(
    r"\W*(arxiv|biorxiv|chemrxiv|medrxiv|psyarxiv|osf preprints|preprints|res sq|research square"
    r"|ssrn)\b",
    re.IGNORECASE,
)


def convert_references(
    references: Iterable[tuple[str, str, str]], publication_types: Iterable[str]
) -> tuple[ArticleLink, ...]:
    """Convert PubMed's references between articles to links, without duplicates.

    Args:
        references: `RefType`, PMID (may be empty) and source of each reference.
    """
    is_preprint = PREPRINT in publication_types
    links = (
        ArticleLink(kind=kind, id=pmid, source=source)
        for ref_type, pmid, source in references
        for kind in _get_kinds(ref_type, source, is_preprint)
    )
    return tuple(dict.fromkeys(links))


def _get_kinds(ref_type: str, source: str, is_preprint: bool) -> tuple[LinkKind, ...]:
    if ref_type == "UpdateIn" and is_preprint and not _SERVER.match(source):
        return ("published_as",)
    if ref_type == "UpdateOf" and not is_preprint and _SERVER.match(source):
        return ("preprint_of",)
    return _KINDS.get(ref_type, ())
