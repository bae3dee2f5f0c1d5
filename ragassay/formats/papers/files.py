"""Read papers from a file or a folder of files: JATS XML, PDF, plain text, JSON.

A form is recognised by a file's content, never by its name. What cannot be read is a rejection, and
the rest is read.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.files import DAMAGE, damage_text, open_binary
from ragassay.formats.items import Item, Place, iter_items, shorten_text
from ragassay.formats.output import write_values
from ragassay.formats.papers.jats import iter_jats
from ragassay.formats.papers.pdf import read_pdf
from ragassay.formats.papers.prose import read_prose
from ragassay.formats.papers.rows import PAPER, plain_id, read_paper_row
from ragassay.formats.problems import Problem, describe_value, found_text
from ragassay.formats.sniff import recognise
from ragassay.records import Paper, Rejection

MAX_FILE_BYTES = 256 * 1024 * 1024
"""More than this, unpacked, is not one file of papers and would fill the memory."""

_FORMS = "JATS XML, PDF, plain text in UTF-8, SciQAG's JSON, or JSON lines of papers"
_ENDINGS = (".gz", ".xml", ".nxml", ".txt", ".pdf", ".jsonl", ".json", ".md")
_BINARY = bytes(byte for byte in range(32) if byte not in b"\t\n\r\f\x1b")


@dataclass(frozen=True)
class PaperFile:
    """The papers of a file or folder.

    Attributes:
        papers: In the order of the files' names and in them, each id once.
        rejections: What could not be read.
    """

    papers: tuple[Paper, ...]
    rejections: tuple[Rejection, ...]


def read_papers(path: Path) -> PaperFile:
    """Read papers from a file, or from all files of a folder and the folders in it.

    Args:
        path: Any file may be gzip. Hidden files of a folder are left out. A paper without an id of
            its own gets the file's name, in a folder the path from there, without its ending.

    Returns:
        The papers; a file or a line that cannot be read, and an id's second paper, is a rejection.

    Raises:
        InputError: the path does not exist, may not be opened, or is a folder without files.
    """
    papers: dict[str, Paper] = {}
    rejections: list[Rejection] = []
    places: dict[str, Place] = {}
    for file, name in files_of(path):
        for one, place in _read_file(file, name):
            if isinstance(one, Rejection):
                rejections.append(one)
            elif one.id in papers:
                rejections.append(place.reject(_repeated_paper_problem(one, places[one.id])))
            else:
                papers[one.id], places[one.id] = one, place
    return PaperFile(tuple(papers.values()), tuple(rejections))


def write_papers(papers: Iterable[Paper], path: Path) -> None:
    """Write papers as JSON lines; `read_papers` returns equal ones.

    Raises:
        InputError: a text cannot be written as UTF-8, or the file cannot be written.
    """
    rows = (paper.model_dump(mode="json", exclude_defaults=True) for paper in papers)
    write_values(rows, path)


def files_of(path: Path) -> list[tuple[Path, str]]:
    """Return the files to read with the name of each, sorted by path.

    Raises:
        InputError: the path is a folder without files.
    """
    if not path.is_dir():
        return [(path, _stem(path.name))]
    inside = sorted(file for file in path.rglob("*") if file.is_file())
    shown_paths = [(file, file.relative_to(path)) for file in inside]
    files = [
        (file, _stem(below.as_posix()))
        for file, below in shown_paths
        if not any(part.startswith(".") for part in below.parts)
    ]
    if not files:
        raise InputError(f"{path} is a folder without files: expected papers in it ({_FORMS})")
    return files


def _stem(name: str) -> str:
    for ending in _ENDINGS:
        if name.lower().endswith(ending) and len(name) > len(ending):
            name = name[: -len(ending)]
    return name


def _repeated_paper_problem(paper: Paper, first: Place) -> Problem:
    where = f"line {first.line} of {first.file}" if first.line else first.file
    return Problem("id", f"the paper {found_text(paper.id)} is already on {where}", "unique ids")


_Read = Iterator[tuple[Paper | Rejection, Place]]


def _read_file(path: Path, name: str) -> _Read:
    head = _head(path)
    if isinstance(head, Problem):
        place = Place(str(path), 0, name, "")
        yield place.reject(head), place
    elif b"%PDF-" in head:
        yield from _read_pdf(path, name)
    elif _opens_json(head):
        yield from _read_json(path, name)
    elif head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"<") or _is_utf16_xml(head):
        yield from iter_jats(path, name)
    else:
        yield from _read_text(path, name)


def _head(path: Path) -> bytes | Problem:
    try:
        with open_binary(path) as handle:
            head = handle.read(1024)
    except DAMAGE as error:
        return Problem("", damage_text(error), "a whole file")
    if not head.strip():
        return Problem("", "the file is empty", _FORMS)
    return head


def _opens_json(head: bytes) -> bool:
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    return start.startswith(b"{") or (
        start.startswith(b"[") and start[1:].lstrip().startswith((b"{", b"]"))
    )


def _is_utf16_xml(head: bytes) -> bool:
    return head.startswith((codecs.BOM_UTF16_LE + b"<\0", codecs.BOM_UTF16_BE + b"\0<"))


def read_bytes(path: Path) -> bytes | Problem:
    """Return a file's bytes, unpacked; a problem where it is damaged or far too long."""
    try:
        with open_binary(path) as handle:
            data = handle.read(MAX_FILE_BYTES + 1)
    except DAMAGE as error:
        return Problem("", damage_text(error), "a whole file")
    if len(data) > MAX_FILE_BYTES:
        return Problem("", f"the file has more than {MAX_FILE_BYTES:,} bytes", "one of papers")
    return data


def _read_json(path: Path, name: str) -> _Read:
    count = 0
    for item in iter_items(path):
        if isinstance(item, Rejection):
            yield item, Place(item.file, item.line, "", item.content)
            continue
        count += 1
        read = _json_paper(item, name if count == 1 else f"{name}-{count}")
        yield item.place.reject(read) if isinstance(read, Problem) else read, item.place


def _json_paper(item: Item, name: str) -> Paper | Problem:
    if recognise(item.keys, (PAPER,)) is None:
        return Problem("", f"found {describe_value(item.fields)}", f"a paper: {PAPER.keys}")
    read = read_paper_row(item, name)
    return read if isinstance(read, Problem) else read[0]


def _read_text(path: Path, name: str) -> _Read:
    data = read_bytes(path)
    text = data if isinstance(data, Problem) else _decode_text(data)
    place = Place(str(path), 0, name, "" if isinstance(text, Problem) else shorten_text(text))
    paper = text if isinstance(text, Problem) else _text_paper(text, name)
    yield place.reject(paper) if isinstance(paper, Problem) else paper, place


def _decode_text(data: bytes) -> str | Problem:
    encoding = "utf-8-sig"
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        encoding = "utf-32"
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif any(byte in data for byte in _BINARY):
        return Problem("", "the file is not text", _FORMS)
    try:
        text = data.decode(encoding)
        if "\x00" in text:
            return Problem("", "the file has NUL characters in it: it is not text", _FORMS)
        return text
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        text = f"not {encoding.removesuffix('-sig').upper()}: byte 0x{data[error.start]:02x}"
        return Problem("", f"{text} on line {line}", "text in UTF-8: save it so")


def _text_paper(text: str, name: str) -> Paper | Problem:
    read = read_prose(text, may_have_title=True)
    if not read.sections:
        return Problem("", "the file has no text but a title", "the paper's text")
    return Paper(
        id=plain_id(name), title=read.title, sections=read.sections, keywords=read.keywords
    )


def _read_pdf(path: Path, name: str) -> _Read:
    data = read_bytes(path)
    paper = data if isinstance(data, Problem) else read_pdf(data, name)
    place = Place(str(path), 0, name, "")
    yield place.reject(paper) if isinstance(paper, Problem) else paper, place
