"""Read PubMed's dates as exactly as they are known: "2021", "2021-03", "2021-03-09"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from functools import lru_cache

from ragassay.formats.problems import Problem, found_text

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
