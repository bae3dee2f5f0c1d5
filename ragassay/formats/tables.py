"""Read CSV, TSV, Parquet and Excel files. The kind of file is detected from its content.

CSV and TSV may be compressed with gzip. The first row contains the column names. Unnamed columns,
such as the index of a frame, are ignored. Empty cells count as absent fields.
"""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import count, islice
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile, ZipFile

from ragassay.errors import InputError
from ragassay.extras import need
from ragassay.files import get_line_limit
from ragassay.formats.files import (
    CORRUPTION_ERRORS,
    LARGE_BYTES,
    MAX_RATIO,
    RawLine,
    describe_corruption,
    describe_encoding,
    iter_lines,
    open_binary,
)
from ragassay.formats.problems import Problem
from ragassay.formats.values import TableCell, parse_json

TableKind = Literal["csv", "parquet", "excel"]

MAX_WORKBOOK_BYTES = 1024 * 1024 * 1024
"""Maximum unpacked size of an Excel workbook, which is loaded into memory."""

_DELIMITERS = "\t,;"
_COLUMN = re.compile(r"[^\W\d][\w .:/()#%?&'+*@-]{0,99}")
_DAMAGED = (*CORRUPTION_ERRORS, LookupError, TypeError, ValueError, SyntaxError, BadZipFile)
_NOT_IN_HEADER = (b"{", b"[")
_ENDS = ("\n", "\r")


@dataclass(frozen=True)
class TableRow:
    """A row of a table.

    Attributes:
        line: 1-based line number in CSV and TSV files, or 1-based number of the row below the
            header.
        cells: Values keyed by column name, with None for empty cells, or a problem with the row.
    """

    line: int
    cells: dict[str, object] | Problem


def detect_table_kind(path: Path) -> TableKind | None:
    """Return the kind of table in a file, or None if the file is not a table."""
    if _detect_delimiter(list(islice(iter_lines(path), 2))):
        return "csv"
    with path.open("rb") as handle:
        start = handle.read(4)
    if start == b"PAR1":
        return "parquet"
    return "excel" if start == b"PK\x03\x04" and _is_workbook(path) else None


def _is_workbook(path: Path) -> bool:
    """Return whether a file is an Excel workbook, and refuse decompression bombs."""
    try:
        with ZipFile(path) as packed:
            parts = {part.filename: part for part in packed.infolist()}
    except _DAMAGED:
        return False
    if "xl/workbook.xml" not in parts:
        return False
    n_in = max(1, sum(part.compress_size for part in parts.values()))
    n_out = sum(part.file_size for part in parts.values())
    if n_out > max(LARGE_BYTES, MAX_RATIO * n_in) or n_out > MAX_WORKBOOK_BYTES:
        raise InputError(f"{path} is refused because its {n_in:,} bytes unpack to {n_out:,} bytes")
    return True


def iter_table(path: Path, kind: TableKind) -> Iterator[TableRow]:
    """Read a table row by row."""
    readers = {"csv": _read_csv_rows, "parquet": _read_parquet_rows, "excel": _read_excel_rows}
    return readers[kind](path)


def convert_cells(row: Mapping[str, object]) -> dict[str, object]:
    """Convert the texts in a row of a data frame to table cells."""
    return {
        str(name): TableCell(value) if isinstance(value, str) else value
        for name, value in row.items()
    }


def _detect_delimiter(head: Sequence[RawLine]) -> str:
    if len(head) < 2 or any(line.problem for line in head):
        return ""
    if head[0].data.lstrip().startswith(_NOT_IN_HEADER) or _is_json(head[1].data):
        return ""
    try:
        text = head[0].data.decode("utf-8")
        split = {char: next(csv.reader([text], delimiter=char), []) for char in _DELIMITERS}
    except (UnicodeDecodeError, csv.Error):
        return ""
    delimiter, names = max(split.items(), key=lambda entry: len(entry[1]))
    named = [name for name in names if name]
    is_header = len(named) > 1 and all(map(_COLUMN.fullmatch, map(str.strip, named)))
    return delimiter if is_header else ""


def _is_json(line: bytes) -> bool:
    return line.lstrip().startswith(_NOT_IN_HEADER) and not isinstance(parse_json(line), Problem)


def _read_csv_rows(path: Path) -> Iterator[TableRow]:
    delimiter = _detect_delimiter(list(islice(iter_lines(path), 2)))
    limit = get_line_limit()
    # The limit applies to the whole process, so it is only ever raised. `_Lines` limits row size.
    csv.field_size_limit(max(csv.field_size_limit(), limit + 1))
    with open_binary(path) as handle:
        # Invalid UTF-8 becomes lone surrogates, which are then reported with the column name.
        text = io.TextIOWrapper(handle, "utf-8-sig", "surrogateescape", newline="")
        lines = _Lines(text, limit)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            columns = check_column_names(next(filter(None, reader), []), path)
        except (csv.Error, *CORRUPTION_ERRORS) as error:
            raise InputError(f"{path} cannot be read: its first row is not CSV: {error}") from error
        while True:
            line = lines.start_row()
            try:
                values = next(reader, None)
                cells = None if values is None else _build_cells(columns, values)
            except csv.Error as error:
                cells = Problem("", f"the row is not CSV: {error}", "a row of the table")
            except CORRUPTION_ERRORS as error:
                cells = Problem("", describe_corruption(error), "a complete file")
            if cells is None:
                return
            if isinstance(cells, Problem):
                if not lines.is_damaged and not lines.has_text:
                    continue
                lines.give_back()
            elif all(value is None for value in cells.values()):
                continue
            yield TableRow(line, cells)


class _Lines:
    """Lines of a file for a CSV reader, which can read the lines of an invalid row again."""

    def __init__(self, text: io.TextIOWrapper, limit: int) -> None:
        self._text = text
        self._limit = limit
        self._again: deque[str] = deque()
        self._row: list[str] = []
        self._number = self._n_chars = 0
        self.is_damaged = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.is_damaged:
            raise StopIteration
        try:
            line = self._again.popleft() if self._again else self._text.readline(self._limit + 1)
            rest = line
            while len(rest) > self._limit and not rest.endswith(_ENDS):
                rest = self._text.readline(self._limit + 1)
        except CORRUPTION_ERRORS:
            self.is_damaged = True
            raise
        if not line:
            raise StopIteration
        self._row.append(line)
        self._number += 1
        self._n_chars += len(line)
        if self._n_chars > self._limit:
            raise csv.Error(f"found a row of more than {self._limit:,} characters")
        return line

    @property
    def has_text(self) -> bool:
        return any(line.strip() for line in self._row)

    def start_row(self) -> int:
        self._row = []
        self._n_chars = 0
        return self._number + 1

    def give_back(self) -> None:
        """Return all lines of the row except the first, so that the CSV reader reads them again."""
        rest = self._row[1:]
        self._again.extendleft(reversed(rest))
        self._number -= len(rest)


def _build_cells(columns: Sequence[str], values: Sequence[object]) -> dict[str, object] | Problem:
    if len(values) != len(columns):
        return Problem(
            "", f"found {len(values)} cells", f"{len(columns)} cells, as in the first row"
        )
    named = [(name, value) for name, value in zip(columns, values, strict=True) if name]
    for name, value in named:
        if (
            isinstance(value, str)
            and not value.isascii()
            and (error := _find_encoding_error(value))
        ):
            return Problem(name, error, "text in UTF-8")
    return {name: _convert_cell(value) for name, value in named}


def _find_encoding_error(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        data = text.encode("utf-8", "surrogateescape")
        byte = f"0x{text[error.start].encode('utf-8', 'surrogateescape')[0]:02x}"
        return f"not UTF-8: byte {byte}{describe_encoding(data)}"
    return ""


def _convert_cell(value: object) -> object:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return TableCell(value)


def check_column_names(names: Iterable[object], path: Path) -> list[str]:
    """Return column names without surrounding spaces, and refuse a name that occurs twice."""
    columns = [str(name).strip() if name is not None else "" for name in names]
    twice = next((name for name in columns if name and columns.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"{path} contains the column {twice!r} twice; rename one of the two columns"
        )
    return columns


def _read_parquet_rows(path: Path) -> Iterator[TableRow]:
    need("pyarrow")
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    numbers = count(1)
    try:
        with parquet.ParquetFile(path) as file:
            _refuse_parquet_bomb(path, file.metadata)
            for batch in file.iter_batches(batch_size=1_000):
                for row in batch.to_pylist():
                    yield TableRow(next(numbers), convert_cells(row))
    except (arrow.ArrowException, OSError) as error:
        raise InputError(f"{path} cannot be read as Parquet: {error}") from error


def _refuse_parquet_bomb(path: Path, metadata: Any) -> None:
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            n_in, n_out = column.total_compressed_size, column.total_uncompressed_size
            if n_out > max(LARGE_BYTES, MAX_RATIO * n_in):
                raise InputError(
                    f"{path} is refused because {n_in:,} of its bytes unpack to {n_out:,} bytes"
                )


def _read_excel_rows(path: Path) -> Iterator[TableRow]:
    need("openpyxl")
    excel = import_module("openpyxl")
    try:
        # openpyxl rejects paths with an unknown extension, but not open files.
        with path.open("rb") as file:
            book = excel.load_workbook(file, read_only=True, data_only=True)
            for sheet in book.worksheets:
                rows = sheet.iter_rows(values_only=True)
                columns = check_column_names(next(rows, ()), path)
                for line, values in enumerate(rows, 1):
                    cells = {
                        n: _convert_cell(v) for n, v in zip(columns, values, strict=False) if n
                    }
                    if any(value is not None for value in cells.values()):
                        yield TableRow(line, cells)
            book.close()
    except InputError:
        raise
    except _DAMAGED as error:
        raise InputError(f"{path} cannot be read as an Excel workbook: {error}") from error
