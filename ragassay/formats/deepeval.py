"""Read and write DeepEval's test cases and goldens, with snake_case or camelCase names.

    {"input", "actual_output"[, "expected_output", "retrieval_context": [str], "context": [str],
     "metadata", "tags", "tools_called", …]}

`EvaluationDataset.save_as` joins the passages of a context with `|` in JSON lines and CSV, and
writes the source of a passage in front of its text: both are taken apart. A golden without an
answer has an empty one.

`context` is what an ideal retriever would have found: it becomes the sources only where there is no
`retrieval_context`, and is kept in the metadata otherwise. The case's own metadata is kept under
`metadata.NAME`.
"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from pydantic import AliasChoices, BeforeValidator, Field

from ragassay.formats.items import Item
from ragassay.formats.output import JsonRow, marked_text, value_of
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import Row, as_text, kept_fields
from ragassay.formats.sniff import Format
from ragassay.records import Document, Record

JOINT = "|"
"""Stands between the passages of a context in DeepEval's JSON lines and CSV."""

_INNER = "metadata."
_METADATA = ("metadata", "additional_metadata", "additionalMetadata")
_SOURCE = re.compile(r"deepeval_source=(?P<source>.*?),deepeval_context=(?P<text>.*)", re.DOTALL)


def _passages(value: object) -> object:
    if isinstance(value, str):
        return value.split(JOINT) if value else []
    return value


def _text_as_context(value: object) -> object:
    if not isinstance(value, str):
        return value
    match = _SOURCE.fullmatch(value)
    if match is None:
        return {"context": value}
    return {"context": match["text"], "source": match["source"]}


class ContextRow(Row):
    """A retrieved passage: plain text, or an object."""

    context: str
    source: str = ""


class CaseRow(Row):
    """A test case, or a golden: a question that may have no answer yet."""

    joint: ClassVar[str] = JOINT

    input: str
    actual_output: str = Field(
        default="", validation_alias=AliasChoices("actual_output", "actualOutput")
    )
    expected_output: str | None = Field(
        default=None, validation_alias=AliasChoices("expected_output", "expectedOutput")
    )
    context: Annotated[list[str] | None, BeforeValidator(_passages)] = None
    retrieval_context: Annotated[
        list[Annotated[ContextRow, BeforeValidator(_text_as_context)]] | None,
        BeforeValidator(_passages),
    ] = Field(default=None, validation_alias=AliasChoices("retrieval_context", "retrievalContext"))
    metadata: dict[str, object] | None = Field(
        default=None, validation_alias=AliasChoices(*_METADATA)
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
)


def read_deepeval(item: Item) -> Record | Problem:
    """Turn a test case into a record."""
    row = validate(CaseRow, item.fields)
    if isinstance(row, Problem):
        return row
    kept = kept_fields(row)
    if row.retrieval_context is None:
        passages = [ContextRow(context=text) for text in row.context or ()]
    else:
        passages = row.retrieval_context
        kept |= {} if row.context is None else {"context": as_text(row.context)}
    given = (row.metadata or {}).items()
    return Record(
        id=item.place.label,
        question=row.input,
        answer=row.actual_output,
        sources=tuple(
            Document(id=str(i), text=passage.context, title=passage.source)
            for i, passage in enumerate(passages, start=1)
        ),
        reference=row.expected_output,
        metadata=kept | {f"metadata.{k}": as_text(v) for k, v in given if v is not None},
    )


def deepeval_row(record: Record) -> JsonRow:
    """Return a record as a test case; the title of a source is its passage's source."""
    known = {n: value_of(t) for n, t in record.metadata.items() if n in DEEPEVAL.fields}
    rest = {n: value_of(t) for n, t in record.metadata.items() if n not in known}
    passages = [
        f"deepeval_source={one.title},deepeval_context={one.text}" if one.title else one.text
        for one in record.sources
    ]
    row: JsonRow = {
        "input": record.question,
        "actual_output": marked_text(record, by_position=True),
        "expected_output": record.reference,
        "retrieval_context": passages or None,
    }
    row |= {name: value for name, value in known.items() if name not in row}
    return row | {
        "additional_metadata": {n.removeprefix(_INNER): v for n, v in rest.items()} or None
    }
