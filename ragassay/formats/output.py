"""Write files atomically, and verify written records by reading them back."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from uuid import uuid4

from ragassay.errors import InputError
from ragassay.formats.files import RawLine
from ragassay.formats.items import Item, Place, as_item, parse_line, read_item
from ragassay.formats.problems import Problem, is_list, is_object
from ragassay.formats.rows import as_text, restore_id
from ragassay.formats.values import find_bad_value
from ragassay.records import Document, Record, Rejection, SentenceInput

JsonRow = dict[str, object]

_GZIP = ".gz"


@dataclass(frozen=True)
class WriteResult:
    """Number of records in a written file, and fields that the file does not preserve.

    Attributes:
        left_out: Number of affected records, keyed by field that the format cannot store unchanged.
    """

    n_records: int
    left_out: Mapping[str, int]


@contextmanager
def replace_file(path: Path) -> Generator[IO[bytes] | gzip.GzipFile]:
    """Open a temporary file that replaces `path` on success, compressed if `path` ends in `.gz`."""
    part = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        with part.open("xb") as handle:
            if path.name.endswith(_GZIP):
                # Without a name and a time, equal records produce identical bytes.
                with gzip.GzipFile("", "wb", 6, handle, mtime=0) as packed:
                    yield packed
            else:
                yield handle
        part.replace(path)
    except OSError as error:
        why = "it is a folder" if path.is_dir() else error.strerror or error
        raise InputError(f"{path} cannot be written: {why}") from error
    finally:
        with suppress(OSError):
            part.unlink()


def encode_json(value: object) -> bytes:
    """Return a value as ASCII JSON, in which line separators and lone surrogates are escaped."""
    return json.dumps(value, ensure_ascii=True).encode("ascii")


def write_values(values: Iterable[object], path: Path) -> None:
    """Write values as JSON lines."""
    with replace_file(path) as handle:
        for number, value in enumerate(values, start=1):
            if (problem := find_bad_value(value)) is not None:
                raise InputError(
                    f"line {number} of {path} cannot be written: {problem.field}: {problem.text}"
                )
            handle.write(encode_json(value) + b"\n")


def build_write_error(record: Record, field: str, found: str, expected: str) -> InputError:
    """Return an error for a record field that a format cannot store."""
    return InputError(f"record {record.id!r} cannot be written: {field}: {found} ({expected})")


def split_system(record: Record) -> tuple[str, str]:
    """Split a record's system, which must be `team_id/run_id`, into team and run."""
    team, slash, run = (record.system or "").partition("/")
    if not (team.strip() and slash and run.strip()):
        raise build_write_error(record, "system", f"found {record.system!r}", "team_id/run_id")
    return team, run


def build_cited_sentences(record: Record) -> tuple[SentenceInput, ...]:
    """Return the sentences of an answer, with every citation as a document id."""
    if isinstance(record.answer, str):
        raise build_write_error(record, "answer", "found plain text", "sentences with citations")
    return tuple(
        SentenceInput(
            text=sentence.text,
            citations=tuple(find_document_ids(sentence.citations, record.sources)),
        )
        for sentence in record.answer
    )


def find_document_ids(citations: Iterable[str], sources: Sequence[Document]) -> list[str]:
    """Convert citations, which are source ids or 1-based source positions, to document ids.

    Ids take precedence over positions. The id of a passage is replaced by the id of its document.
    """
    names = {str(i): restore_id(source) for i, source in enumerate(sources, start=1)}
    names |= {source.id: restore_id(source) for source in sources}
    ids = [names.get(citation, citation) for citation in citations]
    has_passages = any(source.part_of for source in sources)
    return list(dict.fromkeys(ids)) if has_passages else ids


def mark_citations(record: Record, *, by_position: bool) -> str:
    """Return an answer as text, with the citations of each sentence in brackets after it."""
    if isinstance(record.answer, str):
        return record.answer
    positions = {source.id: str(i) for i, source in enumerate(record.sources, 1)}
    names = positions if by_position else {}
    pieces: list[str] = []
    for sentence in record.answer:
        cited = ", ".join(names.get(one, one) for one in sentence.citations)
        pieces.append(f"{sentence.text} [{cited}]" if cited else sentence.text)
    return " ".join(pieces)


def restore_metadata(row: JsonRow, metadata: Mapping[str, str], used: Collection[str]) -> JsonRow:
    """Add metadata to a row in place, at the dotted paths that `collect_unknown_fields` returned.

    Existing fields are not overwritten. The paths in `used` are skipped.
    """
    for key, text in metadata.items():
        if key not in used:
            parent, name = _find_parent(row, key)
            parent.setdefault(name, restore_value(text))
    return row


def _find_parent(row: JsonRow, key: str) -> tuple[JsonRow, str]:
    parent: object = row
    names = key.split(".")
    for n, name in enumerate(names):
        inner: object = None
        if is_object(parent):
            inner = parent.get(name)
        elif is_list(parent) and name.isdecimal() and len(name) < 8 and int(name) < len(parent):
            inner = parent[int(name)]
        if n == len(names) - 1 or not (is_object(inner) or is_list(inner)):
            return (parent, ".".join(names[n:])) if is_object(parent) else (row, key)
        parent = inner
    return row, key


def restore_value(text: str) -> object:
    """Return the JSON value that `as_text` converted to a text, or the text if there is none."""
    try:
        value: object = json.loads(text)
        is_same = value is not None and as_text(value) == text
    except (ValueError, RecursionError):
        return text
    # The value will be nested a few levels deeper in its row.
    return value if is_same and find_bad_value([[[[value]]]]) is None else text


def find_changed_fields(record: Record, again: Record) -> list[str]:
    """Return the fields in which a record differs from the record that was read back."""
    fields = [name for name in Record.model_fields if name != "answer"]
    changed = [name for name in fields if getattr(record, name) != getattr(again, name)]
    if again.answer != record.answer:
        if isinstance(record.answer, str) or again.answer != build_cited_sentences(record):
            changed.append("answer")
    return changed


Reader = Callable[[Item], Record | Problem]


class Check:
    """Checks that rows can be read back before they are written, and counts changed fields."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: set[str] = set()
        self._changed: Counter[str] = Counter()

    def __call__(self, record: Record, row: JsonRow, reader: Reader) -> bytes:
        """Check that a row can be read back, and return it as JSON."""
        data = encode_json(row)
        line = len(self._seen) + 1
        self.check_item(
            record, parse_line(RawLine(line, data), str(self._path), f"line-{line}"), reader
        )
        return data

    def check_cells(self, record: Record, cells: dict[str, object], reader: Reader) -> None:
        """Check that a row of table cells can be read back."""
        line = len(self._seen) + 1
        place = Place(str(self._path), line, f"row-{line}", "")
        self.check_item(record, as_item(place, cells), reader)

    def check_item(self, record: Record, item: Item | Rejection, reader: Reader) -> None:
        """Read an item back as a record, and raise an error if its id or citations are lost."""
        again = item if isinstance(item, Rejection) else read_item(reader, item)
        if isinstance(again, Rejection):
            raise build_write_error(record, again.field, again.problem, again.expected)
        if isinstance(again, Problem):
            raise build_write_error(record, again.field, again.text, again.expected)
        if again.id in self._seen:
            raise build_write_error(
                record, "id", "the id already appeared", "a unique id for each record"
            )
        if not isinstance(again.answer, str) and "answer" in find_changed_fields(record, again):
            problem = "the citations would be read back as different citations"
            raise build_write_error(record, "answer", problem, "document ids as citations")
        self._seen.add(again.id)
        self._changed.update(find_changed_fields(record, again))

    def build_result(self) -> WriteResult:
        """Return the number of checked records, and the number of changes per field."""
        changed = {name: n for name in Record.model_fields if (n := self._changed[name])}
        return WriteResult(len(self._seen), changed)
