"""Write files atomically, and check records by reading them back: shared by all writers."""

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
from ragassay.formats.rows import as_text, original_id
from ragassay.formats.values import find_bad_value
from ragassay.records import Document, Record, Rejection, SentenceInput

JsonRow = dict[str, object]

_GZIP = ".gz"


@dataclass(frozen=True)
class WriteResult:
    """The result of writing a file.

    Attributes:
        left_out: Fields that the format cannot store, or not unchanged, with the number of records
            affected. Empty where reading the file returns equal records.
    """

    n_records: int
    left_out: Mapping[str, int]


@contextmanager
def whole_file(path: Path) -> Generator[IO[bytes] | gzip.GzipFile]:
    """Open a file that replaces its target only when complete; gzip where the name ends in `.gz`.

    Raises:
        InputError: it cannot be written.
    """
    part = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        with part.open("xb") as handle:
            if path.name.endswith(_GZIP):
                # No name and time: the same records give the same bytes.
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


def json_bytes(value: object) -> bytes:
    """Return JSON with all but ASCII escaped: line separators and lone surrogates do no harm."""
    return json.dumps(value, ensure_ascii=True).encode("ascii")


def write_values(values: Iterable[object], path: Path) -> None:
    """Write values as JSON lines.

    Raises:
        InputError: a value could not be read back, or the file cannot be written.
    """
    with whole_file(path) as handle:
        for number, value in enumerate(values, start=1):
            problem = find_bad_value(value)
            if problem is not None:
                raise InputError(
                    f"line {number} of {path} cannot be written: {problem.field}: {problem.text}"
                )
            handle.write(json_bytes(value) + b"\n")


def unwritable(record: Record, field: str, found: str, expected: str) -> InputError:
    """Return an error that names the record and the field that a format cannot store."""
    return InputError(f"record {record.id!r} cannot be written: {field}: {found} ({expected})")


def team_and_run(record: Record) -> tuple[str, str]:
    """Split a system's name into its two halves.

    Raises:
        InputError: it is not `team_id/run_id`.
    """
    team, slash, run = (record.system or "").partition("/")
    if not (team.strip() and slash and run.strip()):
        raise unwritable(record, "system", f"found {record.system!r}", "team_id/run_id")
    return team, run


def sentences_of(record: Record) -> tuple[SentenceInput, ...]:
    """Return the sentences of an answer, with source ids instead of positions.

    Raises:
        InputError: the answer is plain text.
    """
    if isinstance(record.answer, str):
        raise unwritable(record, "answer", "found plain text", "sentences with citations")
    return tuple(
        SentenceInput(
            text=sentence.text, citations=tuple(document_ids(sentence.citations, record.sources))
        )
        for sentence in record.answer
    )


def document_ids(citations: Iterable[str], sources: Sequence[Document]) -> list[str]:
    """Return citations as document ids: a 1-based position in the sources becomes that id.

    A number that is an id stays one; a passage of a document is cited by the document's id.
    """
    names = {str(i): original_id(source) for i, source in enumerate(sources, start=1)}
    names |= {source.id: original_id(source) for source in sources}
    found = [names.get(citation, citation) for citation in citations]
    has_passages = any(source.part_of for source in sources)
    return list(dict.fromkeys(found)) if has_passages else found


def marked_text(record: Record, *, by_position: bool) -> str:
    """Return an answer as text: sentences with what they cite in brackets after them."""
    if isinstance(record.answer, str):
        return record.answer
    places = (
        {source.id: str(i) for i, source in enumerate(record.sources, 1)} if by_position else {}
    )
    pieces: list[str] = []
    for sentence in record.answer:
        cited = [places.get(one, one) for one in sentence.citations]
        pieces.append(f"{sentence.text} [{', '.join(cited)}]" if cited else sentence.text)
    return " ".join(pieces)


def restore_metadata(row: JsonRow, metadata: Mapping[str, str], used: Collection[str]) -> JsonRow:
    """Return a row with the record's metadata put back where `kept_fields` found it.

    Args:
        row: Changed in place; none of its fields is overwritten.
        metadata: By dotted path.
        used: Metadata that the row has in its own fields.
    """
    for key, text in metadata.items():
        if key not in used:
            place, name = _place(row, key)
            place.setdefault(name, value_of(text))
    return row


def _place(row: JsonRow, key: str) -> tuple[JsonRow, str]:
    """Return the object of a row that a dotted path leads to, and the field's name in it."""
    place: object = row
    names = key.split(".")
    for n, name in enumerate(names):
        inner: object = None
        if is_object(place):
            inner = place.get(name)
        elif is_list(place) and name.isdecimal() and len(name) < 8 and int(name) < len(place):
            inner = place[int(name)]
        if n == len(names) - 1 or not (is_object(inner) or is_list(inner)):
            return (place, ".".join(names[n:])) if is_object(place) else (row, key)
        place = inner
    return row, key


def value_of(text: str) -> object:
    """Return the value that `as_text` made text of; the text itself where that is unknown."""
    try:
        value: object = json.loads(text)
        is_same = value is not None and as_text(value) == text
    except (ValueError, RecursionError):
        return text
    # A few levels deeper in its row than here.
    return value if is_same and find_bad_value([[[[value]]]]) is None else text


def left_out(record: Record, again: Record) -> list[str]:
    """Return the fields in which a record that was read back differs from the one written."""
    fields = [name for name in Record.model_fields if name != "answer"]
    lost = [name for name in fields if getattr(record, name) != getattr(again, name)]
    if again.answer != record.answer:
        is_same = not isinstance(record.answer, str) and again.answer == sentences_of(record)
        if not is_same:
            lost.append("answer")
    return lost


Reader = Callable[[Item], Record | Problem]


class Check:
    """Reads each row back before it is written, and counts what is lost."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: set[str] = set()
        self._lost: Counter[str] = Counter()

    def __call__(self, record: Record, row: JsonRow, reader: Reader) -> bytes:
        """Return a row as JSON, checked."""
        data = json_bytes(row)
        line = len(self._seen) + 1
        self.item(record, parse_line(RawLine(line, data), str(self._path), f"line-{line}"), reader)
        return data

    def cells(self, record: Record, cells: dict[str, object], reader: Reader) -> None:
        """Check a row that is to be written as a table's cells."""
        line = len(self._seen) + 1
        place = Place(str(self._path), line, f"row-{line}", "")
        self.item(record, as_item(place, cells), reader)

    def item(self, record: Record, item: Item | Rejection, reader: Reader) -> None:
        """Check what was made of a record by reading it."""
        again = item if isinstance(item, Rejection) else read_item(reader, item)
        if isinstance(again, Rejection):
            raise unwritable(record, again.field, again.problem, again.expected)
        if isinstance(again, Problem):
            raise unwritable(record, again.field, again.text, again.expected)
        if again.id in self._seen:
            raise unwritable(record, "id", "it appeared before", "an id for each record")
        if not isinstance(again.answer, str) and "answer" in left_out(record, again):
            found = "its citations would be read back as others"
            raise unwritable(record, "answer", found, "citations that are ids of documents")
        self._seen.add(again.id)
        self._lost.update(left_out(record, again))

    def result(self) -> WriteResult:
        """Return the counts so far."""
        lost = {name: self._lost[name] for name in Record.model_fields if self._lost[name]}
        return WriteResult(len(self._seen), lost)
