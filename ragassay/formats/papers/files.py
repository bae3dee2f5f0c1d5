"""Read papers from JATS XML, PDF, plain text or JSON files, or from folders of such files.

Formats are detected from the content. Unreadable papers and pairs are rejected, and the others are
read. JSON objects are in ragassay's own format or in SciQAG's format:

    {"id", "title", "sections": [{"title", "text", "kind"}], "keywords", "journal", "licence"}
    {"doi", "journal", "keywords", "Q&A": [{"Q", "A"}], "txt"}                           SciQAG
    {"id", "question", "answer", "paper", "system", "sources": [text]}                   a pair

SciQAG identifies a paper by a file name such as "10.1016-j.ab.2008.07.041.json", which is converted
to a DOI.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import AliasChoices, Field

from ragassay.errors import InputError
from ragassay.files import AnyPath
from ragassay.formats.files import (
    CORRUPTION_ERRORS,
    UTF8_BOM,
    describe_corruption,
    detect_bom,
    open_binary,
)
from ragassay.formats.items import Item, Place, iter_items, keep_first, read_item
from ragassay.formats.output import write_values
from ragassay.formats.papers.jats import iter_jats
from ragassay.formats.papers.pdf import read_pdf
from ragassay.formats.papers.prose import normalize_id, read_prose, split_keywords
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    describe_value,
    parse,
    quote_text,
)
from ragassay.formats.rows import IdText, Row
from ragassay.formats.sniff import Format, detect_format
from ragassay.records import Paper, PaperSection, Rejection
from ragassay.records.qa import SectionKind

MAX_FILE_BYTES = 256 * 1024 * 1024
"""Maximum unpacked size of a file, which is loaded into memory."""

_FORMS = "JATS XML, PDF, plain text in UTF-8, SciQAG's JSON or JSON lines of papers"
_ENDINGS = (".gz", ".xml", ".nxml", ".txt", ".pdf", ".jsonl", ".json", ".md")
_BINARY = bytes(byte for byte in range(32) if byte not in b"\t\n\r\f\x1b")


class SectionRow(Row):
    """A section of a paper."""

    title: str = ""
    text: str
    kind: SectionKind = "body"

    def to_section(self) -> PaperSection:
        """Convert the row to a section of a paper."""
        return PaperSection(title=self.title, text=self.text, kind=self.kind)


class PairRow(Row):
    """A question-answer pair."""

    id: IdText | None = None
    question: str = Field(min_length=1, validation_alias=AliasChoices("question", "Q", "q"))
    answer: str = Field(validation_alias=AliasChoices("answer", "A", "a"))
    paper: IdText | None = Field(
        default=None,
        validation_alias=AliasChoices("paper", "paper_id", "doi", "pmcid"),
    )
    system: str | None = None
    sources: list[str] = Field(default_factory=list)


class PaperRow(Row):
    """A paper, possibly with question-answer pairs."""

    id: IdText | None = Field(
        default=None, validation_alias=AliasChoices("id", "doi", "pmcid", "pmid")
    )
    title: str = ""
    sections: list[SectionRow] | None = None
    text: str | None = Field(
        default=None, validation_alias=AliasChoices("txt", "text", "full_text")
    )
    keywords: list[str] | str = Field(default_factory=list[str])
    journal: str = ""
    licence: str = Field(default="", validation_alias=AliasChoices("licence", "license"))
    pairs: list[PairRow] = Field(
        default_factory=list[PairRow], validation_alias=AliasChoices("Q&A", "QA", "pairs")
    )
    system: str | None = None


PAPER = Format(
    name="paper",
    required=(("sections", "txt", "text", "full_text"),),
    fields=frozenset(PaperRow.model_fields)
    | {"doi", "pmcid", "txt", "full_text", "license", "Q&A"},
    leading="sections",
    keys="id, sections[{title, text, kind}][, title, keywords, journal, licence]; "
    "or SciQAG's doi, txt[, Q&A[{Q, A}], keywords, journal]",
)
PAIR = Format(
    name="qa-pair",
    required=(("question", "Q", "q"), ("answer", "A", "a")),
    fields=frozenset(PairRow.model_fields) | {"Q", "A", "q", "a", "paper_id", "doi", "pmcid"},
    leading="question",
    keys="question, answer[, id, paper, system, sources]; or Q, A",
)


@dataclass(frozen=True)
class PaperFile:
    """Papers in a file or folder, with unique ids, and rejections of unreadable papers."""

    papers: tuple[Paper, ...]
    rejections: tuple[Rejection, ...]


def read_papers(path: AnyPath) -> PaperFile:
    """Read papers from a file, or from all files in a folder and its subfolders.

    Files may be compressed with gzip. Hidden files in a folder are ignored. The id of a paper
    defaults to the file name, or the path within the folder, without extension.

    Raises:
        InputError: The path does not exist, cannot be opened, or is a folder without files.
    """
    path = Path(path)
    read = (one for file, name in list_paper_files(path) for one in _read_file(file, name))
    papers, rejections = keep_first(read, lambda paper: paper.id, _describe_repeat)
    return PaperFile(papers, tuple(rejections))


def _describe_repeat(paper: Paper, first: Place) -> Problem:
    where = f"line {first.line} of {first.file}" if first.line else first.file
    return Problem("id", f"the paper {quote_text(paper.id)} is already on {where}", "unique ids")


def write_papers(papers: Iterable[Paper], path: AnyPath) -> None:
    """Write papers as JSON lines, which `read_papers` can read without loss.

    Raises:
        InputError: A text is not valid UTF-8, or the file cannot be written.
    """
    path = Path(path)
    rows = (paper.model_dump(mode="json", exclude_defaults=True) for paper in papers)
    write_values(rows, path)


def list_paper_files(path: Path) -> list[tuple[Path, str]]:
    """Return the files at a path, sorted, each with the default id of its papers."""
    if not path.is_dir():
        return [(path, _strip_endings(path.name))]
    inside = {file: file.relative_to(path) for file in path.rglob("*") if file.is_file()}
    files = [
        (file, _strip_endings(relative.as_posix()))
        for file, relative in sorted(inside.items())
        if not any(part.startswith(".") for part in relative.parts)
    ]
    if not files:
        raise InputError(f"{path} is a folder without files; expected papers ({_FORMS})")
    return files


def _strip_endings(name: str) -> str:
    for ending in _ENDINGS:
        if name.lower().endswith(ending) and len(name) > len(ending):
            name = name[: -len(ending)]
    return name


_Read = Iterator[tuple[Paper | Rejection, Place]]


def _read_file(path: Path, name: str) -> _Read:
    place = Place(str(path), 0, name, "")
    try:
        head = _read_start(path, 1024)
        if not head.strip():
            raise ProblemError("", "the file is empty", _FORMS)
        if b"%PDF-" in head:
            yield read_pdf(_read_bytes(path), name), place
        elif _opens_json(head):
            yield from _read_json(path, name)
        elif head.removeprefix(UTF8_BOM).lstrip().startswith(b"<") or _is_utf16_xml(head):
            yield from iter_jats(path, name)
        else:
            yield _read_text_paper(_decode_text(_read_bytes(path)), name), place
    except ProblemError as error:
        yield place.reject(error.problem), place


def _read_start(path: Path, n_bytes: int) -> bytes:
    try:
        with open_binary(path) as handle:
            return handle.read(n_bytes)
    except CORRUPTION_ERRORS as error:
        raise ProblemError("", describe_corruption(error), "a complete file") from error


def _opens_json(head: bytes) -> bool:
    start = head.removeprefix(UTF8_BOM).lstrip()
    return start.startswith(b"{") or (
        start.startswith(b"[") and start[1:].lstrip().startswith((b"{", b"]"))
    )


def _is_utf16_xml(head: bytes) -> bool:
    return head.startswith((codecs.BOM_UTF16_LE + b"<\0", codecs.BOM_UTF16_BE + b"\0<"))


def _read_bytes(path: Path) -> bytes:
    data = _read_start(path, MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        text = f"the file has more than {MAX_FILE_BYTES:,} bytes"
        raise ProblemError("", text, "a smaller file")
    return data


def _read_json(path: Path, name: str) -> _Read:
    count = 0
    for item in iter_items(path):
        if isinstance(item, Rejection):
            yield item, Place(item.file, item.line, "", item.content)
            continue
        count += 1
        own = name if count == 1 else f"{name}-{count}"
        paper = read_item(partial(_read_json_paper, name=own), item)
        yield item.place.reject(paper) if isinstance(paper, Problem) else paper, item.place


def _read_json_paper(item: Item, name: str) -> Paper:
    if detect_format(item.keys, (PAPER,)) is None:
        text = f"found {describe_value(item.fields)}"
        raise ProblemError("", text, f"a paper: {PAPER.keys}")
    return read_paper_row(item, name)[0]


def read_paper_row(item: Item, name: str) -> tuple[Paper, tuple[PairRow, ...]]:
    """Convert a JSON object to a paper with its pairs."""
    row = parse(PaperRow, item.fields)
    prose = read_prose(row.text or "") if row.sections is None else None
    sections = prose.sections if prose else tuple(one.to_section() for one in row.sections or ())
    if not any(section.text.strip() for section in sections):
        field = "sections" if row.sections is not None else "txt"
        raise ProblemError(field, "the paper has no text", "the full text of the paper")
    paper = Paper(
        id=normalize_id(row.id or name),
        title=row.title,
        sections=sections,
        keywords=tuple(split_keywords(row.keywords)) or (prose.keywords if prose else ()),
        journal=row.journal,
        licence=row.licence,
    )
    pairs = tuple(
        pair.model_copy(update={"system": pair.system or row.system}) for pair in row.pairs
    )
    return paper, pairs


def _decode_text(data: bytes) -> str:
    encoding, data = detect_bom(data) or "UTF-8", data.removeprefix(UTF8_BOM)
    if encoding == "UTF-8" and any(byte in data for byte in _BINARY):
        raise ProblemError("", "the file is not text", _FORMS)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        problem = f"not {encoding}: byte 0x{data[error.start]:02x} on line {line}"
        raise ProblemError("", problem, "text in UTF-8; convert the file") from error
    if "\x00" in text:
        raise ProblemError("", "the file contains NUL characters, so it is not text", _FORMS)
    return text


def _read_text_paper(text: str, name: str) -> Paper:
    prose = read_prose(text, may_have_title=True)
    if not prose.sections:
        raise ProblemError("", "the file has no text except a title", "the text of the paper")
    return Paper(
        id=normalize_id(name), title=prose.title, sections=prose.sections, keywords=prose.keywords
    )
