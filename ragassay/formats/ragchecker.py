"""Read RAGChecker's input: one JSON document, or its results as JSON lines.

    {"results": [{"query_id", "query", "gt_answer", "response",
                  "retrieved_context": [{"doc_id", "text"}]}]}

Several passages of one document get distinct ids: "x", "x#2".
"""

from __future__ import annotations

from pydantic import Field

from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import IdText, Row, SourceEntry, SourceRow, distinct_ids, kept_fields
from ragassay.formats.sniff import Format
from ragassay.records import Document, Record


class CheckedRow(Row):
    """A query with its response."""

    query_id: IdText | None = None
    query: str
    gt_answer: str | None = None
    response: str
    retrieved_context: list[SourceEntry] = Field(default_factory=list[SourceRow])


RAGCHECKER = Format(
    name="ragchecker",
    required=(("query",), ("response",)),
    fields=frozenset(CheckedRow.model_fields) | {"results"},
    leading="query",
    keys="results[{query_id, query, gt_answer, response, retrieved_context[{doc_id, text}]}]",
)


def read_ragchecker(item: Item) -> Record | Problem:
    """Turn a result into a record; `query_id` is its id and its topic."""
    row = validate(CheckedRow, item.fields)
    if isinstance(row, Problem):
        return row
    given = [source.to_document(i) for i, source in enumerate(row.retrieved_context, start=1)]
    ids = distinct_ids([document.id for document in given])
    return Record(
        id=row.query_id or item.place.label,
        question=row.query,
        answer=row.response,
        sources=tuple(
            Document(id=name, text=document.text, title=document.title)
            for name, document in zip(ids, given, strict=True)
        ),
        reference=row.gt_answer,
        topic=row.query_id,
        metadata=kept_fields(row),
    )
