"""Find citation markers in an answer: `[1, 2]`, `[PMID 123; doi:10.1000/abc]`, `(1)`.

A DOI may contain nearly everything: `10.1016/S0140-6736(20)31180-6`,
`10.1002/(SICI)1097-0258(19980815/30)17:15/16<1661::AID-SIM968>3.0.CO;2-2`. In a marker it ends at
white space, at a bracket that it did not open, and at a comma or semicolon before the next entry of
the list.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

MAX_PARENTHETIC = 99
"""`(12)` may point to a source, `(2015)` never does."""

MAX_RANGE = 50
"""`[1-9]` is a list of sources; a wider range is something else."""

# Digits are bounded: no identifier is longer, and Python refuses to read thousands of them.
_NUMBER, _LAST = r"[0-9]{1,18}", r"[0-9]{1,4}"
_PREFIX, _TO = r"PMIDs?[:\s]*", r"\s*[-\u2013]\s*"
_NUMBERS = rf"(?:{_PREFIX})?{_NUMBER}(?:{_TO}{_LAST})?"

_REGISTRANT = r"10\.[0-9]{4,9}/"
_RESOLVER = r"(?:https?://)?(?:dx\.|www\.)?doi\.org/"
_DOI_PREFIX = rf"(?:dois?[:\s]\s*)?(?:{_RESOLVER})?"
# "10.1000/abc;2-2" is one DOI; after "10.1000/abc;" a DOI or a number of a PMID's length is next.
_NEXT = rf"\s|[\])]|\Z|PMID|doi|https?:|{_REGISTRANT}|[0-9]{{5,8}}(?:[\s,;\])]|\Z)"
_PIECE = rf"(?:[^\s()\[\],;]|\([^\s()\[\]]*\)|\[[^\s()\[\]]*\]|[,;](?!{_NEXT}))"
# To its end: brackets that never close must not be tried in every possible way. A possessive group
# would say so too, but matches wrongly before Python 3.11.5 (gh-106052).
_SUFFIX = rf"{_PIECE}+(?!{_PIECE})"
_DOI = rf"{_DOI_PREFIX}{_REGISTRANT}{_SUFFIX}"

_LIST = rf"(?:{_DOI}|{_NUMBERS})(?:\s*[,;]\s*(?:{_DOI}|{_NUMBERS}))*"
_MARKER = re.compile(rf"\[\s*({_LIST})\s*\]|\(\s*({_LIST})\s*\)", re.IGNORECASE)
_WHOLE_LIST = re.compile(_LIST, re.IGNORECASE)
_ITEM = re.compile(
    rf"({_DOI_PREFIX})({_REGISTRANT}{_SUFFIX})|({_PREFIX})?({_NUMBER})(?:{_TO}({_LAST}))?",
    re.IGNORECASE,
)
_WHOLE_DOI = re.compile(rf"({_DOI_PREFIX})({_REGISTRANT}\S+)", re.IGNORECASE)
_WHOLE_PMID = re.compile(rf"{_PREFIX}({_NUMBER})", re.IGNORECASE)
_ENUMERATION = re.compile(r"(?:^|[:;,\n]|\b(?:and|or))[^\S\n]*$", re.IGNORECASE)


@dataclass(frozen=True)
class CitationMarker:
    """A marker in a text.

    Attributes:
        start: Its first character (0-based), the bracket.
        end: One past its last character.
        items: Its targets, one by one: "1", "PMID 123", "10.1000/abc".
    """

    start: int
    end: int
    items: tuple[str, ...]


def find_markers(text: str, n_sources: int) -> list[CitationMarker]:
    """Return the citation markers of a text, in order.

    A number in square brackets always is one. A number in parentheses is one where the answer has
    no number in square brackets, has sources and points to one of them: `(1, 2)`, not `(n = 5)`,
    `(95)`, `(2015)` or the `(1)` of an enumeration. PMIDs and DOIs always are, in either bracket.

    Args:
        text: An answer.
        n_sources: The number of the answer's sources.
    """
    found = [(m, expand(m[1] or m[2])) for m in _MARKER.finditer(text)]
    found = [(match, items) for match, items in found if items]
    is_bracketed = any(match[1] and items[0].isdigit() for match, items in found)
    points = any(match[2] and _is_position(items, n_sources) for match, items in found)
    return [
        CitationMarker(match.start(), match.end(), tuple(items))
        for match, items in found
        if match[1]
        or not all(item.isdigit() for item in items)
        or (not is_bracketed and points and _is_parenthetic(match, items, n_sources))
    ]


def blanked(text: str, markers: Sequence[CitationMarker]) -> str:
    """Return the text with its markers overwritten by spaces, so that offsets stay."""
    pieces, position = [], 0
    for marker in markers:
        pieces += [text[position : marker.start], " " * (marker.end - marker.start)]
        position = marker.end
    return "".join([*pieces, text[position:]])


def owner_of(marker: CitationMarker, text: str, spans: Sequence[tuple[int, int]]) -> int:
    """Return the index of the sentence that a marker belongs to.

    It is the sentence around or before it; if the marker opens a line, the next one on that line.

    Args:
        marker: A marker of the text.
        text: An answer.
        spans: The spans of its sentences, in order; those of the blanked text.
    """
    before = max(0, bisect_right(spans, marker.start, key=lambda span: span[0]) - 1)
    after = before + 1
    if after >= len(spans) or marker.start < spans[before][1]:
        return before
    opens_line = text.find("\n", spans[before][1], marker.start) >= 0
    stands_alone = text.find("\n", marker.end, spans[after][0]) >= 0
    return after if opens_line and not stands_alone else before


def is_list(listed: str) -> bool:
    """Return whether a text is nothing but numbers, PMIDs and DOIs."""
    return _WHOLE_LIST.fullmatch(listed) is not None


def expand(listed: str) -> list[str]:
    """Return the items of a list; empty where a range runs backwards or is too wide.

    Example:
        >>> expand("PMID 12, 15; doi:10.1000/ABC"), expand("1-3")
        (['PMID 12', 'PMID 15', '10.1000/ABC'], ['1', '2', '3'])
    """
    items: list[str] = []
    prefix = ""
    for match in _ITEM.finditer(listed):
        if match[2]:
            items.append(_plain_doi(match[1], match[2].rstrip(".,:;")))
            continue
        prefix = "PMID " if match[3] else prefix
        first, last = int(match[4]), int(match[5] or match[4])
        if not first <= last <= first + MAX_RANGE:
            return []
        numbers = [match[4]] if first == last else [str(n) for n in range(first, last + 1)]
        items += [prefix + number for number in numbers]
    return items


def doi_of(identifier: str) -> str:
    """Return the DOI in an identifier of any spelling, in lower case; "" where there is none.

    Example:
        >>> doi_of("https://doi.org/10.1000/ABC"), doi_of("PMID 123")
        ('10.1000/abc', '')
    """
    match = _WHOLE_DOI.fullmatch(identifier.strip())
    return _plain_doi(match[1], match[2]).lower() if match else ""


def bare(identifier: str) -> str:
    """Turn `"PMID: 123"` into `"123"` and a DOI into `doi_of` its text; other identifiers stay."""
    pmid = _WHOLE_PMID.fullmatch(identifier.strip())
    return pmid[1] if pmid else doi_of(identifier) or identifier.strip()


def _plain_doi(prefix: str, doi: str) -> str:
    """Return a DOI, decoded where it is in an address: there, "<" is written as "%3C"."""
    decoded = unquote(doi) if prefix.rstrip().endswith("/") else doi
    return doi if re.search(r"\s", decoded) else decoded


def _is_position(items: Sequence[str], n_sources: int) -> bool:
    return all(item.isdigit() and 1 <= int(item) <= n_sources for item in items)


def _is_parenthetic(match: re.Match[str], items: Sequence[str], n_sources: int) -> bool:
    """Return whether a number in parentheses may be a citation: at worst a few too many are."""
    before = match.string[max(0, match.start() - 8) : match.start()]
    if len(items) == 1 and _ENUMERATION.search(before):
        return False
    most = min(MAX_PARENTHETIC, 2 * n_sources + 5)
    return all(int(item) <= most for item in items)
