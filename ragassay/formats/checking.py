"""Check records by reading them back before they are written: shared by the writers of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ragassay.formats.items import Item, Place, as_item, parse_line
from ragassay.formats.lines import RawLine
from ragassay.formats.output import JsonRow, WriteResult, json_bytes, left_out, unwritable
from ragassay.formats.problems import Problem
from ragassay.records import Record, Rejection

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
        again = item if isinstance(item, Rejection) else reader(item)
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
