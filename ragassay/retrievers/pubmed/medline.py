"""Parse MEDLINE text exported with "Send to citation manager" or `rettype=medline`.

PMID- 99000101
TI  - A title that goes on
      in the next line
MH  - *Migraine Disorders/drug therapy
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ragassay.formats.files import RawLine, iter_lines
from ragassay.formats.items import MAX_CONTENT, Place, shorten_text
from ragassay.formats.problems import Problem, quote_text
from ragassay.records import Rejection
from ragassay.records.inputs import Article
from ragassay.retrievers.pubmed.article import NO_TITLE, PMID, normalize_doi
from ragassay.retrievers.pubmed.dates_links import (
    MEDLINE_TAGS,
    convert_references,
    find_earliest_date,
    join_date,
    parse_free_date,
)

MAX_RECORD_CHARS = 16 * 1024 * 1024
"""Maximum length of a MEDLINE record in characters; longer records are rejected."""

_FIELD = re.compile(r"([A-Z][A-Z0-9]{1,3}) {0,2}- ?(.*)", re.DOTALL)
_DOI = re.compile(r"(\S+) \[doi\]\Z")
_LINKED_PMID = re.compile(r"\bPMID:? *([0-9]{1,8})\b")
_DEP = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})\Z")
_EXPECTED_LINE = 'a field ("TI  - …") or an indented continuation line'


@dataclass
class _MedlineRecord:
    """The lines of a MEDLINE record.

    Attributes:
        line: Number of the first line, starting at 1.
        fields: Values of each field, keyed by tag, where each value is a list of lines.
        content: First lines of the record, to show if the record is rejected.
    """

    line: int
    fields: dict[str, list[list[str]]] = field(default_factory=dict[str, list[list[str]]])
    content: list[str] = field(default_factory=list[str])
    n_chars: int = 0
    problem: Problem | None = None
    last: list[str] | None = None

    def add(self, text: str) -> None:
        """Add a line to the record."""
        if self.n_chars < MAX_CONTENT:
            self.content.append(text)
        self.n_chars += len(text)
        match = _FIELD.match(text)
        if self.n_chars > MAX_RECORD_CHARS:
            message = f"the record is longer than {MAX_RECORD_CHARS:,} characters"
            self.problem = Problem("", message, "shorter records")
        elif "\x00" in text:
            self.problem = self.problem or Problem(
                "", "found a NUL character", "text without NUL characters"
            )
        elif match is not None:
            self.last = [match[2]]
            self.fields.setdefault(match[1], []).append(self.last)
        elif self.last is not None and text[:1].isspace():
            self.last.append(text)
        else:
            message = f"the line {quote_text(text)} does not belong to a field"
            self.problem = self.problem or Problem("", message, _EXPECTED_LINE)

    def get_values(self, tag: str) -> list[str]:
        """Return the values of a field, with whitespace collapsed."""
        return [" ".join(" ".join(parts).split()) for parts in self.fields.get(tag, ())]

    def get_first_value(self, *tags: str) -> str:
        """Return the first value that is not empty, in the order of the tags."""
        return next((value for tag in tags for value in self.get_values(tag) if value), "")


def iter_nbib(path: Path) -> Iterator[Article | Rejection]:
    """Parse a MEDLINE file record by record.

    Lines that are not valid UTF-8 are read as Latin-1, and the first of these lines is reported.

    Args:
        path: Path of the file, which can be gzipped. A record starts with `PMID-` or after a
            blank line.

    Yields:
        Article for each valid record, and rejection for each invalid record.

    Raises:
        InputError: The file is missing, is a folder or cannot be opened.
    """
    record: _MedlineRecord | None = None
    previous = 0
    all_utf8 = True
    for line in iter_lines(path):
        text, is_utf8 = _decode(line.data)
        if line.problem or (record is None and _FIELD.match(text) is None):
            if record is not None:
                yield _read_article(record, str(path))
            problem = Problem("", line.problem, line.expected)
            if not line.problem:
                message = f"the file is not MEDLINE text: found {quote_text(text)}"
                problem = Problem("", message, _EXPECTED_LINE)
            yield _reject_line(line, text, str(path), problem)
            return
        if all_utf8 and not is_utf8:
            all_utf8 = False
            message = "the line is not UTF-8, so it and similar lines were read as Latin-1"
            yield _reject_line(line, text, str(path), Problem("", message, "UTF-8"))
        if record is None or _starts_record(text, record, line.number > previous + 1):
            if record is not None:
                yield _read_article(record, str(path))
            record = _MedlineRecord(line.number)
        record.add(text)
        previous = line.number
    if record is not None:
        yield _read_article(record, str(path))


def _decode(data: bytes) -> tuple[str, bool]:
    try:
        return data.decode("utf-8"), True
    except UnicodeDecodeError:
        return data.decode("latin-1"), False


def _starts_record(text: str, record: _MedlineRecord, after_blank: bool) -> bool:
    match = _FIELD.match(text)
    return match is not None and (after_blank or (match[1] == "PMID" and "PMID" in record.fields))


def _reject_line(line: RawLine, text: str, file: str, problem: Problem) -> Rejection:
    return Place(file, line.number, f"line-{line.number}", shorten_text(text)).reject(problem)


def _read_article(record: _MedlineRecord, file: str) -> Article | Rejection:
    article = record.problem or _build_article(record)
    if isinstance(article, Article):
        return article
    pmid = record.get_first_value("PMID")
    prefix = f"PMID {pmid}: " if PMID.match(pmid) else ""
    place = Place(file, record.line, f"line-{record.line}", shorten_text("\n".join(record.content)))
    return place.reject(Problem(article.field, prefix + article.text, article.expected))


def _build_article(record: _MedlineRecord) -> Article | Problem:
    pmid = record.get_first_value("PMID")
    if not PMID.match(pmid):
        found = f"found {quote_text(pmid)}" if pmid else "the PMID is missing"
        return Problem("PMID", found, "1 to 8 digits")
    title = record.get_first_value("TI")
    if not title or title == NO_TITLE:
        title = record.get_first_value("TT", "BTI")
    text = record.get_first_value("AB")
    if not title and not text:
        return Problem(
            "TI", "the article has neither a title nor an abstract", "a title or an abstract"
        )
    published = _read_date(record)
    if isinstance(published, Problem):
        return published
    types = tuple(record.get_values("PT"))
    mesh = (heading.partition("/")[0].strip().lstrip("*") for heading in record.get_values("MH"))
    return Article(
        id=pmid,
        title=title,
        text=text,
        journal=record.get_first_value("JT", "TA"),
        published=published,
        doi=_find_doi(record),
        publication_types=types,
        mesh=tuple(dict.fromkeys(mesh)),
        links=convert_references(_list_references(record), types),
    )


def _read_date(record: _MedlineRecord) -> str | Problem:
    online = _DEP.match(record.get_first_value("DEP"))
    dates = [parse_free_date(record.get_first_value("DP"))]
    if online is not None:
        dates.append(join_date(*online.groups()))
    problem = next((date for date in dates if isinstance(date, Problem)), None)
    return problem or find_earliest_date(date for date in dates if isinstance(date, str))


def _find_doi(record: _MedlineRecord) -> str:
    for value in (*record.get_values("LID"), *record.get_values("AID")):
        match = _DOI.match(value)
        if match is not None and (doi := normalize_doi(match[1])):
            return doi
    return ""


def _list_references(record: _MedlineRecord) -> Iterator[tuple[str, str, str]]:
    for tag in record.fields:
        kind = MEDLINE_TAGS.get(tag)
        for value in record.get_values(tag) if kind else ():
            match = _LINKED_PMID.search(value)
            source = value[: match.start()].strip() if match else value
            yield kind or "", match[1] if match else "", source
