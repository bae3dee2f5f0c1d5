"""Read and write ragas samples and DeepEval test cases as JSON lines, JSON arrays or tables."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import AliasChoices, BeforeValidator, Field

from ragassay.errors import InputError
from ragassay.formats.conversations import read_conversation
from ragassay.formats.items import Item
from ragassay.formats.output import (
    Check,
    JsonRow,
    Reader,
    WriteResult,
    mark_citations,
    replace_file,
    restore_metadata,
    restore_value,
)
from ragassay.formats.problems import Problem, ProblemError, is_list, parse
from ragassay.formats.rows import (
    IdText,
    Row,
    as_text,
    assign_document_ids,
    collect_unknown_fields,
    restore_id,
)
from ragassay.formats.sniff import Format
from ragassay.formats.values import TableCell
from ragassay.records import Document, Record


class SampleRow(Row):
    """A single-turn sample."""

    id: IdText | None = None
    user_input: str
    response: str
    retrieved_contexts: list[str] | None = None
    reference: str | None = None
    reference_contexts: list[str] | None = None
    retrieved_context_ids: list[IdText] | None = None
    reference_context_ids: list[IdText] | None = None
    rubrics: dict[str, object] | None = Field(default=None)


_KEPT = ("reference_contexts", "reference_context_ids", "rubrics")
_MULTI_TURN = frozenset({"reference_tool_calls", "reference_topics"})


def read_ragas(item: Item) -> Sequence[Record | Problem]:
    """Convert a single-turn or multi-turn sample to a record."""
    if not is_list(item.fields.get("user_input")):
        return [read_sample(item)]
    kept = {n: as_text(part) for n in _KEPT if (part := item.fields.get(n)) is not None}
    fields = {name: part for name, part in item.fields.items() if name not in _KEPT}
    return [
        one.model_copy(update={"metadata": one.metadata | kept}) if isinstance(one, Record) else one
        for one in read_conversation(replace(item, fields=fields))
    ]


def read_sample(item: Item) -> Record:
    """Convert a single-turn sample to a record."""
    row = parse(SampleRow, item.fields)
    kept = {name: as_text(part) for name in _KEPT if (part := getattr(row, name)) is not None}
    return Record(
        id=row.id or item.place.label,
        question=row.user_input,
        answer=row.response,
        sources=_build_sources(row),
        reference=row.reference,
        metadata=kept | collect_unknown_fields(row),
    )


RAGAS = Format(
    name="ragas",
    required=(("user_input",), ("response",)),
    fields=frozenset(SampleRow.model_fields) | _MULTI_TURN,
    leading="user_input",
    keys="user_input, response[, retrieved_contexts, reference, retrieved_context_ids, rubrics]",
    read=read_ragas,
    is_open=True,
)


def build_ragas_row(record: Record) -> JsonRow:
    """Convert a record to a sample, without source ids if they are just 1, 2, 3 and so on."""
    ids = [restore_id(source) for source in record.sources]
    row: JsonRow = {
        "id": record.id,
        "user_input": record.question,
        "retrieved_contexts": [source.text for source in record.sources],
        "response": mark_citations(record, by_position=False),
        "reference": record.reference,
    }
    if ids != [str(i) for i, _ in enumerate(ids, 1)]:
        row["retrieved_context_ids"] = ids
    return restore_metadata({n: v for n, v in row.items() if v is not None}, record.metadata, ())


def _build_sources(row: SampleRow) -> tuple[Document, ...]:
    texts = row.retrieved_contexts or []
    if not row.retrieved_context_ids:
        return tuple(Document(id=str(i), text=text) for i, text in enumerate(texts, start=1))
    ids = row.retrieved_context_ids
    if len(ids) != len(texts):
        text = f"found {len(ids)} ids for {len(texts)} retrieved_contexts"
        raise ProblemError("retrieved_context_ids", text, "one id for each context, or no ids")
    pairs = zip(ids, texts, strict=True)
    return assign_document_ids([Document(id=name, text=text) for name, text in pairs])


JOINT = "|"
"""Separator between the passages of a field in DeepEval's JSON lines and CSV files."""

_INNER = "metadata."
_METADATA = ("metadata", "additional_metadata", "additionalMetadata")
_SOURCE = re.compile(r"deepeval_source=(?P<source>.*?),deepeval_context=(?P<text>.*)", re.DOTALL)


def _split_joint_passages(value: object) -> object:
    if isinstance(value, str):
        return value.split(JOINT) if value else []
    return value


def _parse_context(value: object) -> object:
    if not isinstance(value, str):
        return value
    if (match := _SOURCE.fullmatch(value)) is None:
        return {"context": value}
    return {"context": match["text"], "source": match["source"]}


class ContextRow(Row):
    """A retrieved passage, as plain text or an object."""

    context: str
    source: str = ""


class CaseRow(Row):
    """A test case, or a golden, which has no answer."""

    joint: ClassVar[str] = JOINT

    input: str
    actual_output: str = Field(
        default="", validation_alias=AliasChoices("actual_output", "actualOutput")
    )
    expected_output: str | None = Field(
        default=None, validation_alias=AliasChoices("expected_output", "expectedOutput")
    )
    context: Annotated[list[str] | None, BeforeValidator(_split_joint_passages)] = None
    retrieval_context: Annotated[
        list[Annotated[ContextRow, BeforeValidator(_parse_context)]] | None,
        BeforeValidator(_split_joint_passages),
    ] = Field(default=None, validation_alias=AliasChoices("retrieval_context", "retrievalContext"))
    metadata: dict[str, object] | None = Field(
        default=None, validation_alias=AliasChoices(*_METADATA)
    )


def read_deepeval(item: Item) -> Record:
    """Convert a test case to a record."""
    row = parse(CaseRow, item.fields)
    kept = collect_unknown_fields(row)
    if row.retrieval_context is None:
        passages = [ContextRow(context=text) for text in row.context or ()]
    else:
        passages = row.retrieval_context
        kept |= {} if row.context is None else {"context": as_text(row.context)}
    metadata = (row.metadata or {}).items()
    return Record(
        id=item.place.label,
        question=row.input,
        answer=row.actual_output,
        sources=tuple(
            Document(id=str(i), text=passage.context, title=passage.source)
            for i, passage in enumerate(passages, start=1)
        ),
        reference=row.expected_output,
        metadata=kept | {f"metadata.{k}": as_text(v) for k, v in metadata if v is not None},
    )


DEEPEVAL = Format(
    name="deepeval",
    required=(("input",), ("actual_output", "actualOutput")),
    fields=frozenset(
        {
            *("input", "actual_output", "actualOutput", "expected_output", "expectedOutput"),
            *("context", "retrieval_context", "retrievalContext", "tags", "name", "comments"),
            *("source_file", "sourceFile", "tools_called", "toolsCalled", "expected_tools"),
            *("expectedTools", "custom_column_key_values", "expectations", "token_cost"),
            *("input_token_count", "output_token_count"),
            *_METADATA,
        }
    ),
    leading="input",
    keys="input, actual_output[, expected_output, retrieval_context, context, metadata, tags]",
    read=read_deepeval,
    is_open=True,
)


def build_deepeval_row(record: Record) -> JsonRow:
    """Convert a record to a test case, with source titles as the `source` of passages."""
    known = {n: restore_value(t) for n, t in record.metadata.items() if n in DEEPEVAL.fields}
    rest = {n: restore_value(t) for n, t in record.metadata.items() if n not in known}
    passages = [
        f"deepeval_source={one.title},deepeval_context={one.text}" if one.title else one.text
        for one in record.sources
    ]
    row: JsonRow = {
        "input": record.question,
        "actual_output": mark_citations(record, by_position=True),
        "expected_output": record.reference,
        "retrieval_context": passages or None,
    }
    row |= {name: value for name, value in known.items() if name not in row}
    return row | {
        "additional_metadata": {n.removeprefix(_INNER): v for n, v in rest.items()} or None
    }


_CONTEXTS = ("context", "retrieval_context")

_CellText = Callable[[str, object], str]


def write_ragas(records: Iterable[Record], path: Path) -> WriteResult:
    """Write records as ragas single-turn samples.

    Sources become `retrieved_contexts`. Source ids become `retrieved_context_ids`, unless they are
    just 1, 2, 3 and so on. Source titles, nuggets, system, topic and date are not written. Answers
    in sentences become text with citations in brackets. CSV requires at least one record.

    Raises:
        InputError: A record does not fit the format, or the file cannot be written.
    """
    return _write(records, path, build_ragas_row, read_sample, _format_python_cell)


def write_deepeval(records: Iterable[Record], path: Path) -> WriteResult:
    """Write records as DeepEval test cases that `EvaluationDataset` can load.

    Sources become `retrieval_context`, and the title of a source becomes the `source` of its
    passage. Metadata that DeepEval has no field for goes into `additional_metadata`. Ids, nuggets,
    system, topic and date are not written. Answers that are lists of sentences become text with
    citations in brackets. CSV joins passages with `|`, so a passage that contains `|` becomes two
    passages when read back, and its record is counted as changed. CSV requires at least one record.

    Raises:
        InputError: A record does not fit the format, or the file cannot be written.
    """
    return _write(records, path, build_deepeval_row, read_deepeval, _format_deepeval_cell)


def _write(
    records: Iterable[Record],
    path: Path,
    to_row: Callable[[Record], JsonRow],
    reader: Reader,
    cell: _CellText,
) -> WriteResult:
    check = Check(path)
    suffix = "".join(path.suffixes).removesuffix(".gz")
    if suffix.endswith(".csv"):
        return _write_csv([(record, to_row(record)) for record in records], path, reader, cell)
    lines = [check(record, to_row(record), reader) for record in records]
    with replace_file(path) as handle:
        if suffix.endswith(".json"):
            handle.write(b"[\n" + b",\n".join(lines) + b"\n]\n")
        else:
            handle.write(b"".join(line + b"\n" for line in lines))
    return check.build_result()


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
        cells = {name: _format_cell(name, row.get(name), cell) for name in columns}
        row_cells: dict[str, object] = {
            name: TableCell(value) if value.strip() else None for name, value in cells.items()
        }
        check.check_cells(record, row_cells, reader)
        writer.writerow(cells.values())
    with replace_file(path) as handle:
        handle.write(text.getvalue().encode("utf-8"))
    return check.build_result()


def _format_cell(name: str, value: object, cell: _CellText) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else cell(name, value)


def _format_python_cell(name: str, value: object) -> str:
    """Format a value as ragas and pandas do in `to_csv`, or as JSON if ragas has no such field."""
    return repr(value) if name in RAGAS.fields else json.dumps(value, ensure_ascii=False)


def _format_deepeval_cell(name: str, value: object) -> str:
    if name in _CONTEXTS and is_list(value):
        return JOINT.join(map(str, value))
    return (
        json.dumps(value, ensure_ascii=False) if isinstance(value, list | Mapping) else str(value)
    )
