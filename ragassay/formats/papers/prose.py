"""Split plain text into the sections of a paper, with headings, captions and keywords."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from ragassay.records.qa import PaperSection, SectionKind

HEADINGS: dict[SectionKind, str] = {
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
"""Patterns of section headings, keyed by section kind."""
_NUMBER = r"(?:(?P<number>\d{1,2}(?:\.\d{1,2}){0,4})\.?|(?P<roman>[IVX]{1,5})\.|[A-Z]\.)\s+"
_LINE = re.compile(rf"(?P<marks>#{{1,6}}\s++)?(?:{_NUMBER})?(?P<title>\S.*)")
_PATTERNS: dict[SectionKind, re.Pattern[str]] = {
    kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in HEADINGS.items()
}
_MOST_CHARS = 90
_MOST_WORDS = 12


def classify_heading(title: str) -> SectionKind | None:
    """Return the kind of section under a heading, or None if the kind is unknown.

    Example:
        >>> classify_heading("Conflict of interest")
        'back'
    """
    words = " ".join(title.split()).strip(" .:")
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.fullmatch(words)), None)


@dataclass(frozen=True)
class Heading:
    """A heading in plain text.

    Attributes:
        title: Text of the heading, without its number and markup.
        number: Section number such as "2.1", or an empty string.
        depth: Level of the heading, from 1, or 0 if the heading has no number or markup.
        kind: Kind of section under the heading, or None if the kind is unknown.
    """

    title: str
    number: str
    depth: int
    kind: SectionKind | None

    def is_below(self, other: Heading) -> bool:
        """Return whether this heading belongs to the section of an earlier heading."""
        if self.number or other.number:
            return bool(other.number) and self.number.startswith(f"{other.number}.")
        return 0 < other.depth < self.depth


def read_heading(line: str) -> Heading | None:
    """Parse a line as a heading, or return None if it has no known title, number or markup."""
    line = line.strip()
    match = _LINE.fullmatch(line) if len(line) <= _MOST_CHARS else None
    if match is None:
        return None
    title, marks = _strip_end(match["title"]), (match["marks"] or "").strip()
    kind, number = classify_heading(title), match["number"] or ""
    if kind is None and not marks and not (number and _looks_like_title(title, line)):
        return None
    if kind is not None and not marks and not number and title.islower():
        return None  # A word from a sentence or table, alone on its line.
    depth = len(marks) or (number.count(".") + 1 if number else 0)
    return Heading(title, number, depth, kind)


def _strip_end(title: str) -> str:
    first, rest = title[0], title[1:].rstrip("#").rstrip()
    return first + (rest[:-1].rstrip() if rest.endswith((":", ".")) else rest)


def _looks_like_title(title: str, line: str) -> bool:
    if line.endswith((".", ",", ";", "!", "?")) or not title[0].isupper():
        return False
    n_letters = sum(c.isalpha() for c in title)
    return len(title.split()) <= _MOST_WORDS and n_letters >= max(3, len(title) // 2)


_WRAPPED_CHARS = 130
"""Maximum length of most lines in text with hard line breaks."""

_LONG_LINES = 0.02
_OPEN_LINES = 0.3
"""Minimum share of lines that end within a sentence in text with hard line breaks."""

_SHORT_LINE = 0.75
_TITLE_CHARS = 250
_FRONT_LINES = 12
_SENTENCE_END = re.compile(r"[.!?:]['\"\u201d\u2019)\]\d]*$")
_BULLET = re.compile(r"[-*\u2022\u2013]\s")
_ITEM_NUMBER = re.compile(r"(?:\(?\d{1,3}[.)]|\[\d{1,3}\])\s")
_OPENING = re.compile(r"(abstract|summary)\s*[:.\u2014\u2013-]+\s*(?=\S)", re.IGNORECASE)
_KEYWORDS = re.compile(
    r"(?:key\s?-?words|index terms)\b\s*[:\u2014\u2013-]\s*(\S.*)", re.IGNORECASE
)
_CAPTION = re.compile(
    r"((?:supplementary |supplemental )?(?:fig(?:ure)?s?\.?|tables?|box|scheme|chart)\s?"
    r"S?\d{1,3}[A-Za-z]?)\s?[.:|\u2014]\s*(?=[A-Z(])",
    re.IGNORECASE,
)
_BROKEN_WORD = re.compile(
    r"(?<![\w-])((?:[^\W\d_]+-)*[^\W\d_]{2,})[-\u2010]\n(?!(?:and|or|to)\b)([a-z][\w-]*)"
)
_FIRST_PARTS = frozenset(
    "one two three four five six seven eight nine ten half double self well low high long short "
    "cross".split()
)
"""Words that often start a hyphenated compound, but rarely a word split at a line break."""

_BROKEN_RANGE = re.compile(r"(?<=\w)([-\u2010\u2013])\n(?!(?:and|or|to)\b)(?=\w)")


_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
_SPACE = re.compile(r"[ \t\r\n\f\v]+")


def collapse_lines(text: str) -> str:
    """Join the lines of a text. Narrow and no-break spaces in numbers are kept."""
    return _SPACE.sub(" ", text.translate(_UNSEEN)).strip(" ")


@dataclass(frozen=True)
class Prose:
    """A text split into sections.

    Attributes:
        title: First line if the text may have a title and the line looks like one, otherwise "".
        keywords: Keywords listed in a line such as "Keywords: sleep, sodium".
        sections: Sections in text order. A caption is a section of its own, after the section that
            contains it.
    """

    title: str
    keywords: tuple[str, ...]
    sections: tuple[PaperSection, ...]


def read_prose(text: str, *, may_have_title: bool = False) -> Prose:
    """Split plain text, which may start with a title, into sections.

    Text without headings becomes a single body section.
    """
    blocks = _split_blocks(text)
    width = _estimate_width(blocks)
    title = ""
    if may_have_title and len(blocks) > 1 and _is_title(blocks[0], width):
        title = " ".join(blocks.pop(0)).lstrip("# ")
    words = _count_words(text) if width else Counter[str]()
    sections = _Sections()
    for block in blocks:
        for lines in _cut_at_headings(block):
            if len(lines) == 1 and sections.open(lines[0]):
                continue
            for paragraph in _join_lines(lines, width, words) if width else lines:
                sections.add(collapse_lines(paragraph))
    return Prose(title, tuple(sections.keywords), tuple(_mark_front(sections.finish())))


def _mark_front(sections: list[PaperSection]) -> list[PaperSection]:
    """Set the kind of text before the abstract, such as authors and addresses, to "back"."""
    if len(sections) > 1 and not sections[0].title and sections[1].kind == "abstract":
        sections[0] = sections[0].model_copy(update={"kind": "back"})
    return sections


def _split_blocks(text: str) -> list[list[str]]:
    lines = (line.strip() for line in text.splitlines())
    return [list(block) for has_text, block in groupby(lines, bool) if has_text]


def _estimate_width(blocks: list[list[str]]) -> int:
    """Return the usual line length of wrapped text, or 0 if each line is a paragraph."""
    lengths = sorted(len(line) for block in blocks for line in block)
    inner = [line for block in blocks for line in block[:-1]]
    n_open = sum(_SENTENCE_END.search(line) is None for line in inner)
    n_long = sum(length > _WRAPPED_CHARS for length in lengths)
    is_wrapped = n_open > _OPEN_LINES * len(inner) and n_long <= _LONG_LINES * len(lengths)
    return lengths[int(0.9 * len(lengths))] if is_wrapped else 0


def _is_title(block: list[str], width: int) -> bool:
    if not width and len(block) > 1:
        return False
    text = " ".join(block)
    heading = read_heading(text) if not text.startswith("#") else None
    return len(text) <= _TITLE_CHARS and not text.endswith((".", ":", ";")) and heading is None


def _cut_at_headings(block: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for line in block:
        heading = read_heading(line)
        may_be = not part or _SENTENCE_END.search(part[-1])
        if heading and (heading.kind or len(block) == 1 or (heading.depth > 1 and may_be)):
            if part:
                yield part
            yield [line]
            part = []
        else:
            part.append(line)
    if part:
        yield part


def _count_words(text: str) -> Counter[str]:
    return Counter(word.lower() for word in re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", text))


def _join_lines(lines: list[str], width: int, words: Counter[str]) -> Iterator[str]:
    part: list[str] = []
    for line in lines:
        if part and _begins_paragraph(line, part[-1], width):
            yield _join_broken_words(part, words)
            part = []
        part.append(line)
    if part:
        yield _join_broken_words(part, words)


def _begins_paragraph(line: str, before: str, width: int) -> bool:
    is_short = len(before) < _SHORT_LINE * width
    if _BULLET.match(line) or (is_short and _SENTENCE_END.search(before)):
        return True
    # In wrapped text, a line may end with "Eq." and the next one start with "(3) shows".
    return _ITEM_NUMBER.match(line) is not None and (is_short or before.endswith((":", ";")))


def _join_broken_words(lines: list[str], words: Counter[str]) -> str:
    def join_parts(match: re.Match[str]) -> str:
        joined, compound = match[1] + match[2], f"{match[1]}-{match[2]}"
        n_joined, n_compound = words[joined.lower()], words[compound.lower()]
        is_compound = n_compound > n_joined or "-" in match[1] or match[1].lower() in _FIRST_PARTS
        if n_joined == 0 and words[match[2].lower()] > 1:
            is_compound = True
        return compound if is_compound else joined

    text = _BROKEN_WORD.sub(join_parts, "\n".join(lines).replace("\u00ad\n", ""))
    return _BROKEN_RANGE.sub(r"\1", text).replace("\n", " ")


@dataclass
class _Sections:
    path: list[Heading] = field(default_factory=list[Heading])
    kind: SectionKind = "body"
    lines: list[str] = field(default_factory=list[str])
    captions: list[PaperSection] = field(default_factory=list[PaperSection])
    done: list[PaperSection] = field(default_factory=list[PaperSection])
    keywords: list[str] = field(default_factory=list[str])

    def open(self, line: str) -> bool:
        heading = read_heading(line)
        if heading is None or (heading.kind is None and self.kind == "reference"):
            return False
        self.finish()
        self.path = [one for one in self.path if heading.is_below(one)]
        self.kind = heading.kind or (self.kind if self.path else "body")
        self.path.append(heading)
        return True

    def add(self, paragraph: str) -> None:
        """Add a paragraph, which may be a caption, keywords or the start of an abstract."""
        opening, keywords = _OPENING.match(paragraph), _KEYWORDS.fullmatch(paragraph)
        caption = _CAPTION.match(paragraph) if self.kind in ("abstract", "body") else None
        if opening and len(self.lines) < _FRONT_LINES and not self.done:
            self.open(opening[1].title())
            paragraph = paragraph[opening.end() :]
        if keywords:
            self.keywords.extend(split_keywords(keywords[1]))
        elif caption:
            text = paragraph[caption.end() :]
            self.captions.append(PaperSection(title=caption[1], text=text, kind="caption"))
        else:
            self.lines.append(paragraph)

    def finish(self) -> list[PaperSection]:
        if self.lines:
            title = " / ".join(heading.title for heading in self.path)
            self.done.append(PaperSection(title=title, text="\n".join(self.lines), kind=self.kind))
        self.done += self.captions
        self.lines, self.captions = [], []
        return self.done


def split_keywords(text: str | Iterable[str]) -> list[str]:
    """Split text at semicolons, or else at commas, and return the distinct keywords.

    Example:
        >>> split_keywords("sleep; rats, old; sodium")
        ['sleep', 'rats, old', 'sodium']
    """
    parts = text if not isinstance(text, str) else text.split(";" if ";" in text else ",")
    names = (" ".join(part.split()).strip(" .,;") for part in parts)
    return list(dict.fromkeys(name for name in names if name))


_FILE_OF_DOI = re.compile(r"(10\.\d{4,9})[-_](\S+?)(?:\.(?:json|xml|txt|pdf))?")
_RESOLVER = re.compile(r"(?:https?://)?(?:dx\.)?doi\.org/|doi:\s*", re.IGNORECASE)


def normalize_id(name: str) -> str:
    """Normalize the id of a paper, in particular to a DOI without URL or file extension.

    Example:
        >>> normalize_id("10.1016-j.ab.2008.07.041.json"), normalize_id("https://doi.org/10.1/ab")
        ('10.1016/j.ab.2008.07.041', '10.1/ab')
    """
    name = name.strip()
    match = _FILE_OF_DOI.fullmatch(name)
    return f"{match[1]}/{match[2]}" if match else _RESOLVER.sub("", name, count=1)
