"""Write records as samples of ragas or test cases of DeepEval: JSON lines, a JSON array or CSV.

The ending of the file's name says which: `.csv`, `.json`, or any other for JSON lines; `.gz` after
it packs the file. Cells of lists are written as the tools write them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.cells import Cell
from ragassay.formats.checking import Check, Reader
from ragassay.formats.deepeval import JOINT, deepeval_row, read_deepeval
from ragassay.formats.output import JsonRow, WriteResult, whole_file
from ragassay.formats.ragas import RAGAS, ragas_row, read_sample
from ragassay.formats.shapes import is_list
from ragassay.records import Record

_CONTEXTS = ("context", "retrieval_context")

_CellText = Callable[[str, object], str]


def write_ragas(records: Iterable[Record], path: Path) -> WriteResult:
    """Write records as ragas' single-turn samples.

    Sources become `retrieved_contexts`, with `retrieved_context_ids` where their ids are no
    positions. Left out are titles of sources, nuggets, system, topic and date. An answer in
    sentences becomes text with its citations in brackets.

    Args:
        records: At least one where CSV is written, which needs a header.
        path: Overwritten where it exists.

    Raises:
        InputError: A record does not fit the format, or the file cannot be written.
    """
    return _write(records, path, ragas_row, read_sample, _python_cell)


def write_deepeval(records: Iterable[Record], path: Path) -> WriteResult:
    """Write records as DeepEval's test cases, which `EvaluationDataset` loads.

    Sources become `retrieval_context`, their titles the sources of the passages. Metadata that
    DeepEval does not know goes into `additional_metadata`. Ids, nuggets, system, topic and date are
    left out. An answer in sentences becomes text with its citations in brackets. In CSV, passages
    are joined with `|`: one that contains it is read back as two, which is counted as changed.

    Args:
        records: As for `write_ragas`.
        path: Overwritten where it exists.

    Raises:
        InputError: A record does not fit the format, or the file cannot be written.
    """
    return _write(records, path, deepeval_row, read_deepeval, _deepeval_cell)


def _write(
    records: Iterable[Record],
    path: Path,
    to_row: Callable[[Record], JsonRow],
    reader: Reader,
    cell: _CellText,
) -> WriteResult:
    check = Check(path)
    ending = "".join(path.suffixes).removesuffix(".gz")
    if ending.endswith(".csv"):
        return _write_csv([(record, to_row(record)) for record in records], path, reader, cell)
    lines = [check(record, to_row(record), reader) for record in records]
    with whole_file(path) as handle:
        if ending.endswith(".json"):
            handle.write(b"[\n" + b",\n".join(lines) + b"\n]\n")
        else:
            handle.write(b"".join(line + b"\n" for line in lines))
    return check.result()


def _write_csv(
    rows: list[tuple[Record, JsonRow]], path: Path, reader: Reader, cell: _CellText
) -> WriteResult:
    if not rows:
        raise InputError(f"{path} cannot be written: CSV needs at least one answer")
    check = Check(path)
    columns = list(dict.fromkeys(name for _, row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    for record, row in rows:
        cells = {name: _text(name, row.get(name), cell) for name in columns}
        read: dict[str, object] = {
            name: Cell(value) if value.strip() else None for name, value in cells.items()
        }
        check.cells(record, read, reader)
        writer.writerow(cells.values())
    with whole_file(path) as handle:
        handle.write(text.getvalue().encode("utf-8"))
    return check.result()


def _text(name: str, value: object, cell: _CellText) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else cell(name, value)


def _python_cell(name: str, value: object) -> str:
    """Return a value as ragas' `to_csv` and a frame's write it; else JSON."""
    return repr(value) if name in RAGAS.fields else json.dumps(value, ensure_ascii=False)


def _deepeval_cell(name: str, value: object) -> str:
    """Return a value as `EvaluationDataset.save_as` writes it."""
    if name in _CONTEXTS and is_list(value):
        return JOINT.join(map(str, value))
    return (
        json.dumps(value, ensure_ascii=False) if isinstance(value, list | Mapping) else str(value)
    )
