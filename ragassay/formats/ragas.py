"""Read and write ragas' samples (ragas 0.2 and later): JSON lines, an array, a table.

Samples of several turns are read as `conversations` says, and not written.

`reference_contexts`, `reference_context_ids` and `rubrics` have no place in a record and are
kept in its metadata as JSON, like every unknown field.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import Field

from ragassay.formats.conversations import read_conversation
from ragassay.formats.items import Item
from ragassay.formats.output import JsonRow, marked_text, restored
from ragassay.formats.passages import distinct_documents, original_id
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import IdText, Row, as_text, kept_fields
from ragassay.formats.shapes import is_list
from ragassay.formats.sniff import Format
from ragassay.records import Document, Record


class SampleRow(Row):
    """A sample."""

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

RAGAS = Format(
    name="ragas",
    required=(("user_input",), ("response",)),
    fields=frozenset(SampleRow.model_fields) | _MULTI_TURN,
    leading="user_input",
    keys="user_input, response[, retrieved_contexts, reference, retrieved_context_ids, rubrics]",
)


def read_ragas(item: Item) -> Record | Problem | Sequence[Record | Problem]:
    """Turn a sample, of one turn or of several, into a record."""
    if not is_list(item.fields.get("user_input")):
        return read_sample(item)
    kept = {n: as_text(part) for n in _KEPT if (part := item.fields.get(n)) is not None}
    fields = {name: part for name, part in item.fields.items() if name not in _KEPT}
    made = read_conversation(replace(item, fields=fields))
    outcomes = [made] if isinstance(made, Record | Problem) else made
    return [
        one.model_copy(update={"metadata": one.metadata | kept}) if isinstance(one, Record) else one
        for one in outcomes
    ]


def read_sample(item: Item) -> Record | Problem:
    """Turn a sample of one turn into a record."""
    row = validate(SampleRow, item.fields)
    if isinstance(row, Problem):
        return row
    sources = _sources(row)
    if isinstance(sources, Problem):
        return sources
    kept = {name: as_text(part) for name in _KEPT if (part := getattr(row, name)) is not None}
    return Record(
        id=row.id or item.place.label,
        question=row.user_input,
        answer=row.response,
        sources=sources,
        reference=row.reference,
        metadata=kept | kept_fields(row),
    )


def ragas_row(record: Record) -> JsonRow:
    """Return a record as a sample; sources whose ids are their positions need none."""
    ids = [original_id(source) for source in record.sources]
    row: JsonRow = {
        "id": record.id,
        "user_input": record.question,
        "retrieved_contexts": [source.text for source in record.sources],
        "response": marked_text(record, by_position=False),
        "reference": record.reference,
    }
    if ids != [str(i) for i, _ in enumerate(ids, 1)]:
        row["retrieved_context_ids"] = ids
    return restored({n: v for n, v in row.items() if v is not None}, record.metadata, ())


def _sources(row: SampleRow) -> tuple[Document, ...] | Problem:
    texts = row.retrieved_contexts or []
    if not row.retrieved_context_ids:
        return tuple(Document(id=str(i), text=text) for i, text in enumerate(texts, start=1))
    ids = row.retrieved_context_ids
    if len(ids) != len(texts):
        text = f"{len(ids)} ids for {len(texts)} retrieved_contexts"
        return Problem("retrieved_context_ids", text, "an id for each context, or none")
    pairs = zip(ids, texts, strict=True)
    return distinct_documents([Document(id=name, text=text) for name, text in pairs])
