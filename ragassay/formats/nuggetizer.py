"""Read and write the nuggetizer's files (castorini/nuggetizer), all JSON lines.

    create in   {"query": {"qid", "text"}, "candidates": [{"docid", "doc": {"segment"}}]}
    create out  {"query", "qid", "nuggets": [{"text", "importance"}]}
    assign out  {"query", "qid", "answer_text", "response_length", "run_id",
                 "nuggets": [{"text", "importance", "assignment"}]}
                of retrieved passages: {"text", "qid", "candidate_text", "docid", "nuggets"}

A label that failed, or that the model made up, is None here: its nugget and its answer stay, and
the file's rejections count it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, get_args

from pydantic import AliasChoices, BeforeValidator, Field

from ragassay.formats.items import Item
from ragassay.formats.output import JsonRow, restored
from ragassay.formats.problems import Problem, found, validate
from ragassay.formats.rows import (
    IdText,
    Row,
    as_text,
    distinct_ids,
    kept_fields,
    text_as_object,
)
from ragassay.formats.sniff import Format
from ragassay.records import (
    ASSIGNMENTS,
    Assignment,
    Document,
    HumanLabel,
    Importance,
    Nugget,
    Record,
)

FAILED = "failed"

_IMPORTANCES: Mapping[object, Importance] = {name: name for name in get_args(Importance)}
_ASSIGNMENTS: Mapping[object, Assignment] = {name: name for name in ASSIGNMENTS}


def _text_as_candidate(value: object) -> object:
    return {"doc": {"segment": value}} if isinstance(value, str) else value


def _label_text(value: object) -> object:
    return value if isinstance(value, str) else as_text(value)


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
    """A nugget."""

    text: str = Field(min_length=1)
    importance: Annotated[str | None, BeforeValidator(_label_text)] = None

    @property
    def weight(self) -> Importance | None:
        """The importance; None where there is none."""
        return _IMPORTANCES.get(self.importance)


class AssignedNuggetRow(GoldNuggetRow):
    """A nugget with its assignment."""

    assignment: Annotated[str | None, BeforeValidator(_label_text)] = None

    @property
    def label(self) -> Assignment | None:
        """The assignment; None where there is none."""
        return _ASSIGNMENTS.get(self.assignment)


class CreatedRow(Row):
    """The nuggets of a question."""

    query: str = Field(default="", validation_alias=AliasChoices("query", "text"))
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


class RetrievedRow(Row):
    """A retrieved passage with the assignments of its question's nuggets."""

    text: str
    qid: IdText
    candidate_text: str
    docid: IdText
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

RETRIEVED = Format(
    name="nuggetizer-assign-retrieval",
    required=(("qid",), ("candidate_text",), ("docid",), ("nuggets",)),
    fields=frozenset(RetrievedRow.model_fields),
    leading="candidate_text",
    keys="text, qid, candidate_text, docid, nuggets[{text, importance, assignment}]",
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


def read_assigned(item: Item) -> list[Record | Problem]:
    """Turn an answer with assignments into a record; its id is `run_id/qid`.

    The assignments are left out of the record, so that no judge sees them. A problem beside the
    record says which labels cannot be used.
    """
    row = validate(AssignedRow, item.fields)
    if isinstance(row, Problem):
        return [row]
    kept = kept_fields(row)
    if row.response_length not in (None, len(row.answer_text.split())):
        kept["response_length"] = str(row.response_length)
    record = Record(
        id=f"{row.run_id}/{row.qid}",
        question=row.query,
        answer=row.answer_text,
        nuggets=gold_nuggets(row.nuggets),
        system=row.run_id,
        topic=row.qid,
        metadata=kept,
    )
    return [record, *unusable(row.nuggets)]


def read_retrieved(item: Item) -> list[Record | Problem]:
    """Turn a retrieved passage with assignments into a record; its id is `qid/docid`.

    Otherwise see `read_assigned`.
    """
    row = validate(RetrievedRow, item.fields)
    if isinstance(row, Problem):
        return [row]
    record = Record(
        id=f"{row.qid}/{row.docid}",
        question=row.text,
        answer=row.candidate_text,
        nuggets=gold_nuggets(row.nuggets),
        topic=row.qid,
        metadata=kept_fields(row) | {"docid": row.docid},
    )
    return [record, *unusable(row.nuggets)]


def gold_nuggets(rows: Sequence[GoldNuggetRow]) -> tuple[Nugget, ...]:
    """Return nuggets with their importance."""
    return tuple(Nugget(text=row.text, importance=row.weight) for row in rows)


def unusable(
    rows: Sequence[GoldNuggetRow],
    only: str = "",
    known: Sequence[str] = (),
) -> list[Problem]:
    """Return one problem that names the first label that is none, and counts them; else nothing.

    Args:
        rows: The nuggets of a line.
        only: "importance" or "assignment"; by default both are examined.
        known: Importances that are expected beside ours. A failed assignment always is.
    """
    bad: list[tuple[str, object, Sequence[str]]] = []
    for i, row in enumerate(rows):
        given = row.importance
        if only != "assignment" and given not in (None, *known, *_IMPORTANCES):
            bad.append((f"nuggets.{i}.importance", given, list(_IMPORTANCES.values())))
        if only == "importance" or not isinstance(row, AssignedNuggetRow):
            continue
        if row.assignment not in (FAILED, *_ASSIGNMENTS):
            bad.append((f"nuggets.{i}.assignment", row.assignment, ASSIGNMENTS))
    if not bad:
        return []
    field, given, names = bad[0]
    text = "the field is missing, or null" if given is None else f"found {found(given)}"
    more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
    kept = "its nugget is" if len(bad) == 1 else "their nuggets are"
    return [Problem(field, f"{text}{more}: {kept} kept without it", " or ".join(names))]


def read_assigned_labels(item: Item) -> list[HumanLabel | Problem]:
    """Return the assignments of an answer as labels; failed ones are absent."""
    row = validate(AssignedRow, item.fields)
    if isinstance(row, Problem):
        return [row]
    return _labels(row.nuggets, f"{row.run_id}/{row.qid}", row.qid, row.run_id)


def read_retrieved_labels(item: Item) -> list[HumanLabel | Problem]:
    """Return the assignments of a retrieved passage as labels; failed ones are absent."""
    row = validate(RetrievedRow, item.fields)
    if isinstance(row, Problem):
        return [row]
    return _labels(row.nuggets, f"{row.qid}/{row.docid}", row.qid, None)


def _labels(
    rows: Sequence[AssignedNuggetRow], record: str, topic: str, system: str | None
) -> list[HumanLabel | Problem]:
    labels = [
        HumanLabel(
            task="nugget",
            label=nugget.label,
            record_id=record,
            topic=topic,
            system=system,
            item=nugget.text,
        )
        for nugget in rows
        if nugget.label is not None
    ]
    return [*labels, *unusable(rows, only="assignment")]
