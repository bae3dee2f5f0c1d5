"""Read and write the nuggetizer's files (castorini/nuggetizer), all JSON lines.

    create in   {"query": {"qid", "text"}, "candidates": [{"docid", "doc": {"segment"}}]}
    create out  {"query", "qid", "nuggets": [{"text", "importance"}]}
    assign out  {"query", "qid", "answer_text", "response_length", "run_id",
                 "nuggets": [{"text", "importance", "assignment"}]}

An assignment "failed" is None here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from ragassay.formats.items import Item
from ragassay.formats.output import JsonRow, restored
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import IdText, Row, distinct_ids, kept_fields, text_as_object
from ragassay.formats.sniff import Format
from ragassay.records import Assignment, Document, HumanLabel, Importance, Nugget, Record

FAILED = "failed"


def _text_as_candidate(value: object) -> object:
    return {"doc": {"segment": value}} if isinstance(value, str) else value


class QueryRow(Row):
    """A question."""

    qid: IdText | None = None
    text: str


class SegmentRow(Row):
    """The text of a candidate."""

    segment: str
    title: str = ""


class CandidateRow(Row):
    """A passage that nuggets are taken from."""

    docid: IdText | None = None
    doc: SegmentRow | None = None
    text: str | None = None


class CreateInputRow(Row):
    """A question with its passages."""

    query: Annotated[QueryRow, BeforeValidator(text_as_object)]
    candidates: list[Annotated[CandidateRow, BeforeValidator(_text_as_candidate)]]


class GoldNuggetRow(Row):
    """A nugget; an unknown importance is absent."""

    text: str = Field(min_length=1)
    importance: Importance | None = None


class AssignedNuggetRow(GoldNuggetRow):
    """A nugget with its assignment."""

    assignment: Literal["support", "partial_support", "not_support", "failed"]

    @property
    def label(self) -> Assignment | None:
        """The assignment; None for "failed"."""
        return None if self.assignment == FAILED else self.assignment


class CreatedRow(Row):
    """The nuggets of a question."""

    query: str = ""
    qid: IdText
    nuggets: list[GoldNuggetRow]


class AssignedRow(Row):
    """An answer with the assignments of its question's nuggets."""

    query: str
    qid: IdText
    answer_text: str
    response_length: int | None = Field(default=None, ge=0)
    run_id: IdText
    nuggets: list[AssignedNuggetRow]


CREATE_INPUT = Format(
    name="nuggetizer-create",
    required=(("query",), ("candidates",)),
    fields=frozenset(CreateInputRow.model_fields),
    leading="candidates",
    keys="query{qid, text}, candidates[{docid, doc{segment}}]",
)
CREATED = Format(
    name="nuggetizer-nuggets",
    required=(("qid",), ("nuggets",)),
    fields=frozenset(CreatedRow.model_fields),
    leading="qid",
    keys="query, qid, nuggets[{text, importance}]",
)
ASSIGNED = Format(
    name="nuggetizer-assign",
    required=(("qid",), ("answer_text",), ("nuggets",)),
    fields=frozenset(AssignedRow.model_fields),
    leading="answer_text",
    keys="query, qid, answer_text, response_length, run_id, nuggets[{text, importance, "
    "assignment}]",
)


def read_create_input(item: Item) -> Record | Problem:
    """Turn a question with its passages into a record with an empty answer."""
    row = validate(CreateInputRow, item.fields)
    if isinstance(row, Problem):
        return row
    texts: list[tuple[str, str]] = []
    for i, candidate in enumerate(row.candidates):
        if candidate.doc is None and candidate.text is None:
            return Problem(
                f"candidates.{i}.doc", "the field is missing, or null", 'the field "doc"'
            )
        doc = candidate.doc or SegmentRow(segment=candidate.text or "")
        texts.append((doc.segment, doc.title))
    ids = distinct_ids([row.docid or str(i) for i, row in enumerate(row.candidates, start=1)])
    return Record(
        id=row.query.qid or item.place.label,
        question=row.query.text,
        answer="",
        sources=tuple(
            Document(id=name, text=text, title=title)
            for name, (text, title) in zip(ids, texts, strict=True)
        ),
        topic=row.query.qid,
        metadata=kept_fields(row),
    )


def create_input_row(record: Record) -> JsonRow:
    """Turn a record into a question with its sources as passages."""
    row: JsonRow = {
        "query": {"qid": record.topic or record.id, "text": record.question},
        "candidates": [_candidate(source) for source in record.sources],
    }
    return restored(row, record.metadata, ())


def _candidate(source: Document) -> JsonRow:
    doc: JsonRow = {"segment": source.text}
    if source.title:
        doc["title"] = source.title
    return {"docid": source.id, "doc": doc}


def read_assigned(item: Item) -> Record | Problem:
    """Turn an answer with assignments into a record; its id is `run_id/qid`.

    The assignments are left out of the record, so that no judge sees them.
    """
    row = validate(AssignedRow, item.fields)
    if isinstance(row, Problem):
        return row
    kept = kept_fields(row)
    if row.response_length not in (None, len(row.answer_text.split())):
        kept["response_length"] = str(row.response_length)
    return Record(
        id=f"{row.run_id}/{row.qid}",
        question=row.query,
        answer=row.answer_text,
        nuggets=gold_nuggets(row.nuggets),
        system=row.run_id,
        topic=row.qid,
        metadata=kept,
    )


def gold_nuggets(rows: Sequence[GoldNuggetRow]) -> tuple[Nugget, ...]:
    """Return nuggets with their importance."""
    return tuple(Nugget(text=row.text, importance=row.importance) for row in rows)


def read_assigned_labels(item: Item) -> list[HumanLabel | Problem]:
    """Return the assignments of an answer as labels; failed ones are absent."""
    row = validate(AssignedRow, item.fields)
    if isinstance(row, Problem):
        return [row]
    return [
        HumanLabel(
            task="nugget",
            label=nugget.label,
            record_id=f"{row.run_id}/{row.qid}",
            topic=row.qid,
            system=row.run_id,
            item=nugget.text,
        )
        for nugget in row.nuggets
        if nugget.label is not None
    ]
