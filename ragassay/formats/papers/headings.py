"""Tell the kind of a section by its heading."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragassay.records.papers import SectionKind

_KINDS: dict[SectionKind, str] = {
    "abstract": r"abstract|(?:author |executive |plain[- ]language )?summary",
    "body": (
        r"introduction|background|(?:aims?|objectives?|purpose)(?: of the study)?|related work"
        r"|(?:(?:patients?|participants|subjects|materials?|study design|data|experimental)"
        r" (?:and|&) )?methods?(?: (?:and|&) (?:materials?|data))?|methodology"
        r"|experimental(?: section| details| procedures?| part)?|star methods|online methods"
        r"|(?:main )?results?(?: (?:and|&) discussion)?|findings|discussion"
        r"|(?:discussion (?:and|&) )?(?:concluding remarks|conclusions?)"
        r"|(?:strengths and )?limitations(?: (?:and|&) risks)?|statistical analysis|theory"
        r"|case (?:report|presentation)|future (?:work|directions)|appendi(?:x|ces)(?: [a-z0-9])?"
    ),
    "reference": r"(?:further )?references(?: and notes)?|bibliography|(?:literature|works) cited",
    "back": (
        r"acknowledge?ments?|(?:sources? of )?(?:funding|financial support)"
        r"(?: (?:sources?|information|statement))?"
        r"|(?:declarations? of |statement of )?(?:conflicts?|competing|declarations?)"
        r" (?:of )?(?:financial )?interests?(?: statement)?|disclosures?(?: statement)?"
        r"|declarations?|(?:authors?['\u2019]? )?contributions?|authors?['\u2019]? information"
        r"|author details"
        r"|(?:credit )?author(?:ship)? contribution statement|credit author statement"
        r"|(?:data|code|data and code)(?: and materials?)? (?:availability|sharing)(?: statement)?"
        r"|availability of data(?: and materials?)?|ethics (?:approval|statement)"
        r"(?: and consent to participate)?|ethical (?:approval|considerations|statement)"
        r"|(?:informed )?consent(?: (?:statement|for publication|to participate))?"
        r"|institutional review board statement|(?:electronic |appendix )?"
        r"(?:supplement(?:ary|al)|supporting) (?:materials?|information|data|files?)"
        r"|(?:list of )?abbreviations|nomenclature|glossary|footnotes?|endnotes?|notes"
        r"|publisher['\u2019]?s note|provenance and peer review|peer review information|orcid"
    ),
}
_NUMBER = r"(?:(?P<number>\d{1,2}(?:\.\d{1,2}){0,4})\.?|(?P<roman>[IVX]{1,5})\.|[A-Z]\.)\s+"
_LINE = re.compile(rf"(?P<marks>#{{1,6}}\s++)?(?:{_NUMBER})?(?P<title>\S.*)")
_PATTERNS: dict[SectionKind, re.Pattern[str]] = {
    kind: re.compile(words, re.IGNORECASE) for kind, words in _KINDS.items()
}
_MOST_CHARS = 90
_MOST_WORDS = 12


def kind_of_heading(title: str) -> SectionKind | None:
    """Return the kind of section that a heading opens; None where its words do not say.

    Example:
        >>> kind_of_heading("Conflict of interest")
        'back'
    """
    words = " ".join(title.split()).strip(" .:")
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.fullmatch(words)), None)


@dataclass(frozen=True)
class Heading:
    """A heading of plain text.

    Attributes:
        title: Without its number or mark.
        number: "2.1"; empty without one.
        depth: From 1; 0 for a heading without number and mark.
        kind: What its words say that it opens; None where they do not.
    """

    title: str
    number: str
    depth: int
    kind: SectionKind | None

    def is_below(self, other: Heading) -> bool:
        """Return whether this heading may stand below another that came before it."""
        if self.number or other.number:
            return bool(other.number) and self.number.startswith(f"{other.number}.")
        return 0 < other.depth < self.depth


def read_heading(line: str) -> Heading | None:
    """Read a line of plain text as a heading.

    Returns:
        None where the line has neither the words of a heading nor a number or mark before it.
    """
    line = line.strip()
    match = _LINE.fullmatch(line) if len(line) <= _MOST_CHARS else None
    if match is None:
        return None
    title, marks = _without_end(match["title"]), (match["marks"] or "").strip()
    kind, number = kind_of_heading(title), match["number"] or ""
    if kind is None and not marks and not (number and _looks_like_title(title, line)):
        return None
    if kind is not None and not marks and not number and title.islower():
        return None  # A word of a sentence or a table, alone on its line.
    depth = len(marks) or (number.count(".") + 1 if number else 0)
    return Heading(title, number, depth, kind)


def _without_end(title: str) -> str:
    """Return a title without the colon or full stop, and the marks of Markdown, at its end."""
    first, rest = title[0], title[1:].rstrip("#").rstrip()
    return first + (rest[:-1].rstrip() if rest.endswith((":", ".")) else rest)


def _looks_like_title(title: str, line: str) -> bool:
    ends = line.endswith((".", ",", ";", "!", "?"))
    letters = sum(c.isalpha() for c in title)
    return (
        not ends
        and title[0].isupper()
        and len(title.split()) <= _MOST_WORDS
        and letters >= max(3, len(title) // 2)
    )
