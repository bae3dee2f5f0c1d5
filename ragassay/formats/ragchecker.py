"""Read RAGChecker's input, which is a JSON document, or its results as JSON lines.

    {"results": [{"query_id", "query", "gt_answer", "response",
                  "retrieved_context": [{"doc_id", "text"}]}]}

Passages of the same document get distinct ids such as "x" and "x#2".

RAGChecker's meta-evaluation (Ru et al. 2024, `human_labeled_data.json`) contains pairs of responses
with an annotator's preference for the second response, from -2 to 2. Each pair occurs once per
annotator:

    [{"instance_id", "dataset", "query_id", "query", "gt_answer", "model1": {"model_name",
      "response"}, "model2": {…}, "correctness_label", "completeness_label", "overall_label"}]

A preference becomes two labels on a rubric such as "preference.correctness": one label for each
response, with opposite signs. `critiques` come from another judge and are ignored.
"""

from __future__ import annotations

from pydantic import Field

from ragassay.formats.items import Item
from ragassay.formats.problems import parse
from ragassay.formats.rows import (
    IdText,
    Row,
    SourceEntry,
    SourceRow,
    assign_document_ids,
    build_record_label,
    collect_unknown_fields,
)
from ragassay.formats.sniff import Format
from ragassay.records import HumanLabel, Record

PREFERENCES = ("correctness", "completeness", "overall")
"""Criteria by which annotators compared two responses."""


class CheckedRow(Row):
    """A query with its response."""

    query_id: IdText | None = None
    query: str
    gt_answer: str | None = None
    response: str
    retrieved_context: list[SourceEntry] = Field(default_factory=list[SourceRow])


class SideRow(Row):
    """One of two compared responses."""

    model_name: IdText
    response: str


class ComparedPairRow(Row):
    """A pair of responses compared by an annotator."""

    instance_id: IdText
    dataset: str = ""
    query_id: IdText
    query: str
    gt_answer: str | None = None
    model1: SideRow
    model2: SideRow
    correctness_label: int | None = Field(default=None, ge=-2, le=2)
    completeness_label: int | None = Field(default=None, ge=-2, le=2)
    overall_label: int | None = Field(default=None, ge=-2, le=2)


def read_ragchecker(item: Item) -> Record:
    """Convert a result to a record, with `query_id` as both id and topic."""
    row = parse(CheckedRow, item.fields)
    sources = [source.to_document(i) for i, source in enumerate(row.retrieved_context, start=1)]
    has_id = [source.id is not None for source in row.retrieved_context]
    return Record(
        id=row.query_id or item.place.label,
        question=row.query,
        answer=row.response,
        sources=assign_document_ids(sources, has_id),
        reference=row.gt_answer,
        topic=row.query_id,
        metadata=collect_unknown_fields(row),
    )


def read_pair(item: Item) -> list[Record]:
    """Convert a pair to two records, one per response, with ids `instance_id/model_name`."""
    row = parse(ComparedPairRow, item.fields)
    return [
        Record(
            id=f"{row.instance_id}/{side.model_name}",
            question=row.query,
            answer=side.response,
            reference=row.gt_answer,
            system=side.model_name,
            topic=row.query_id,
            metadata={"dataset": row.dataset} if row.dataset else {},
        )
        for side in (row.model1, row.model2)
    ]


def read_pair_labels(item: Item) -> list[HumanLabel]:
    """Return two labels per preference: one for each response, with opposite signs."""
    row, records = parse(ComparedPairRow, item.fields), read_pair(item)
    # The two annotators are not identified, but their rows alternate.
    annotator = f"annotator {2 - int(item.place.label.rpartition('-')[2]) % 2}"
    return [
        build_record_label(record, f"preference.{name}", sign * preferred, annotator)
        for name in PREFERENCES
        for record, sign in zip(records, (-1, 1), strict=True)
        if (preferred := getattr(row, f"{name}_label")) is not None
    ]


RAGCHECKER = Format(
    name="ragchecker",
    required=(("query",), ("response",)),
    fields=frozenset(CheckedRow.model_fields) | {"results"},
    leading="query",
    keys="results[{query_id, query, gt_answer, response, retrieved_context[{doc_id, text}]}]",
    read=read_ragchecker,
    is_open=True,
)
RAGCHECKER_PAIRS = Format(
    name="ragchecker-pairs",
    required=(("query",), ("model1",), ("model2",)),
    fields=frozenset(ComparedPairRow.model_fields),
    leading="model1",
    keys="instance_id, query_id, query, gt_answer, model1{model_name, response}, model2{…}, "
    "correctness_label, completeness_label, overall_label",
    read=read_pair,
    read_labels=read_pair_labels,
    is_repeating=True,
)
