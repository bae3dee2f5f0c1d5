"""Read DeepEval's test cases and goldens, with snake_case or camelCase names.

    {"input", "actual_output"[, "expected_output", "retrieval_context": [str], "context": [str],
     "metadata", "tags"]}

`context` is what an ideal retriever would have found: it becomes the sources only where there is no
`retrieval_context`, and is kept in the metadata otherwise. The case's own metadata is kept under
`metadata.NAME`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field

from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import Row, as_text, kept_fields
from ragassay.formats.sniff import Format
from ragassay.records import Document, Record

_METADATA = ("metadata", "additional_metadata", "additionalMetadata")


def _text_as_context(value: object) -> object:
    return {"context": value} if isinstance(value, str) else value


class ContextRow(Row):
    """A retrieved passage: plain text, or an object."""

    context: str
    source: str = ""


class CaseRow(Row):
    """A test case."""

    input: str
    actual_output: str = Field(validation_alias=AliasChoices("actual_output", "actualOutput"))
    expected_output: str | None = Field(
        default=None, validation_alias=AliasChoices("expected_output", "expectedOutput")
    )
    context: list[str] | None = None
    retrieval_context: list[Annotated[ContextRow, BeforeValidator(_text_as_context)]] | None = (
        Field(default=None, validation_alias=AliasChoices("retrieval_context", "retrievalContext"))
    )
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
