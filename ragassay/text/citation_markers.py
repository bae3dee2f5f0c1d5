"""Parse bracketed lists of numbers, PMIDs and DOIs: `[1, 2]`, `[PMID 123; doi:10.1000/abc]`.

DOIs may contain brackets, commas and semicolons: `10.1016/S0140-6736(20)31180-6`,
`10.1002/(SICI)1097-0258(19980815/30)17:15/16<1661::AID-SIM968>3.0.CO;2-2`. In a list, a DOI ends at
white space, at an unmatched closing bracket, or at a comma or semicolon before the next item.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

MAX_RANGE = 50
"""Maximum difference between the ends of a range. A wider range such as "[5-95]" is not a
citation."""

# Digits are limited: no identifier is longer, and Python refuses to parse thousands of them.
_NUMBER, _LAST = r"[0-9]{1,18}", r"[0-9]{1,4}"
_PREFIX, _TO = r"PMIDs?[:\s]*", r"\s*[-\u2010-\u2015\u2212]\s*"
_NUMBERS = rf"(?:{_PREFIX})?{_NUMBER}(?:{_TO}{_LAST})?"

_REGISTRANT = r"10\.[0-9]{4,9}/"
_RESOLVER = r"(?:https?://)?(?:dx\.|www\.)?doi\.org/"
_DOI_PREFIX = rf"(?:dois?[:\s]\s*)?(?:{_RESOLVER})?"
# "10.1000/abc;2-2" is one DOI. After "10.1000/abc;", a DOI or a number as long as a PMID is next.
_NEXT = rf"\s|[\])]|\Z|PMID|doi|https?:|{_REGISTRANT}|[0-9]{{5,8}}(?:[\s,;\])]|\Z)"
_PIECE = rf"(?:[^\s()\[\],;]|\([^\s()\[\]]*\)|\[[^\s()\[\]]*\]|[,;](?!{_NEXT}))"
# The lookahead prevents backtracking over brackets that never close. A possessive group would too,
# but matches incorrectly before Python 3.11.5 (gh-106052).
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


def find_lists(text: str) -> list[tuple[re.Match[str], list[str]]]:
    """Return the bracketed lists of numbers, PMIDs and DOIs in order, with their items.

    In a match, group 1 is the content of square brackets, or group 2 the content of parentheses.
    """
    lists = [(match, expand(match[1] or match[2])) for match in _MARKER.finditer(text)]
    return [(match, items) for match, items in lists if items]


def is_list(listed: str) -> bool:
    """Return whether a text contains only numbers, PMIDs and DOIs."""
    return _WHOLE_LIST.fullmatch(listed) is not None


def expand(listed: str) -> list[str]:
    """Return the items of a list, or an empty list if a range is reversed or too wide.

    Example:
        >>> expand("PMID 12, 15; doi:10.1000/ABC"), expand("1-3")
        (['PMID 12', 'PMID 15', '10.1000/ABC'], ['1', '2', '3'])
    """
    items: list[str] = []
    prefix = ""
    for match in _ITEM.finditer(listed):
        if match[2]:
            items.append(_decode_doi(match[1], match[2].rstrip(".,:;")))
            continue
        prefix = "PMID " if match[3] else prefix
        first, last = int(match[4]), int(match[5] or match[4])
        if not first <= last <= first + MAX_RANGE:
            return []
        numbers = [match[4]] if first == last else [str(n) for n in range(first, last + 1)]
        items += [prefix + number for number in numbers]
    return items


def extract_doi(identifier: str) -> str:
    """Return the DOI in an identifier in lower case, or "" if there is no DOI.

    Example:
        >>> extract_doi("https://doi.org/10.1000/ABC"), extract_doi("PMID 123")
        ('10.1000/abc', '')
    """
    match = _WHOLE_DOI.fullmatch(identifier.strip())
    return _decode_doi(match[1], match[2]).lower() if match else ""


def strip_identifier(identifier: str) -> str:
    """Return the number of a PMID such as "PMID: 123", a plain DOI, or other text stripped."""
    pmid = _WHOLE_PMID.fullmatch(identifier.strip())
    return pmid[1] if pmid else extract_doi(identifier) or identifier.strip()


def _decode_doi(prefix: str, doi: str) -> str:
    decoded = unquote(doi) if prefix.rstrip().endswith("/") else doi
    return doi if re.search(r"\s", decoded) else decoded
