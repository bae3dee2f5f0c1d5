"""Read and write files of the commands `create` and `assign` of castorini/nuggetizer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, get_args

from pydantic import AliasChoices, BeforeValidator, Field

from ragassay.formats.items import Item
from ragassay.formats.output import JsonRow, restore_metadata
from ragassay.formats.problems import Problem, ProblemError, describe_value, parse
from ragassay.formats.rows import (
    IdText,
    Row,
    as_text,
    assign_document_ids,
    collect_unknown_fields,
    restore_id,
    wrap_text,
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

_GRADE = re.compile(r"-?\d{1,9}(\.\d{1,9})?")
_IMPORTANCES: Mapping[object, Importance] = {name: name for name in get_args(Importance)}


def _wrap_candidate(value: object) -> object:
    return {"doc": {"segment": value}} if isinstance(value, str) else value


def convert_label(value: object) -> object:
    """Return a label as text, because models may write other JSON types, such as numbers."""
    return value if isinstance(value, str) else as_text(value)


@dataclass(frozen=True)
class UnknownLabel:
    """A label that is not valid, with its path in the file and the valid labels."""

    field: str
    value: str | None
    names: tuple[str, ...]


class QueryRow(Row):
    """A question."""

    qid: IdText | None = None
    text: str


class SegmentRow(Row):
    """Text of a candidate passage."""

    segment: str
    title: str = ""


class CandidateRow(Row):
    """A passage from which nuggets may be created."""

    docid: IdText | None = None
    doc: SegmentRow | None = None
    text: str | None = None


class CreateInputRow(Row):
    """A question with its candidate passages."""

    query: Annotated[QueryRow, BeforeValidator(wrap_text)]
    candidates: list[Annotated[CandidateRow, BeforeValidator(_wrap_candidate)]]


class GoldNuggetRow(Row):
    """A nugget with its importance."""

    text: str = Field(min_length=1)
    importance: Annotated[str | None, BeforeValidator(convert_label)] = None

    @property
    def weight(self) -> Importance | None:
        """Importance, or None if it is missing or unknown."""
        return _IMPORTANCES.get(self.importance)


class CreatedRow(Row):
    """A question with its nuggets."""

    query: str = Field(default="", validation_alias=AliasChoices("query", "text"))
    qid: IdText
    nuggets: list[GoldNuggetRow]


CREATED = Format(
    name="nuggetizer-nuggets",
    required=(("qid",), ("nuggets",)),
    fields=frozenset(CreatedRow.model_fields),
    leading="qid",
    keys="query, qid, nuggets[{text, importance}]",
)


def read_create_input(item: Item) -> Record:
    """Convert a question and its candidate passages to a record with an empty answer."""
    row = parse(CreateInputRow, item.fields)
    texts: list[tuple[str, str]] = []
    for i, candidate in enumerate(row.candidates):
        if candidate.doc is None and candidate.text is None:
            text = "the field is missing, or null"
            raise ProblemError(f"candidates.{i}.doc", text, 'the field "doc"')
        doc = candidate.doc or SegmentRow(segment=candidate.text or "")
        texts.append((doc.segment, doc.title))
    sources = assign_document_ids(
        [
            Document(id=row.docid or str(i), text=text, title=title)
            for i, (row, (text, title)) in enumerate(zip(row.candidates, texts, strict=True), 1)
        ],
        [candidate.docid is not None for candidate in row.candidates],
    )
    return Record(
        id=row.query.qid or item.place.label,
        question=row.query.text,
        answer="",
        sources=sources,
        topic=row.query.qid,
        metadata=collect_unknown_fields(row),
    )


CREATE_INPUT = Format(
    name="nuggetizer-create",
    required=(("query",), ("candidates",)),
    fields=frozenset(CreateInputRow.model_fields),
    leading="candidates",
    keys="query{qid, text}, candidates[{docid, doc{segment}}]",
    read=read_create_input,
)


def drop_judged_below(record: Record, least: int) -> Record:
    """Return a question without the candidate passages judged below the minimum grade.

    Passages without a judgment are kept. The nuggetizer's `create` has the same rule
    (`min_judgment`).
    """
    judged = [record.metadata.get(f"candidates.{i}.judgment") for i in range(len(record.sources))]
    kept = tuple(
        source
        for source, grade in zip(record.sources, judged, strict=True)
        if not (grade and _GRADE.fullmatch(grade) and float(grade) < least)
    )
    return record if len(kept) == len(judged) else record.model_copy(update={"sources": kept})


def create_input_row(record: Record) -> JsonRow:
    """Convert a record to a question with its sources as candidate passages."""
    row: JsonRow = {
        "query": {"qid": record.topic or record.id, "text": record.question},
        "candidates": [_build_candidate(source) for source in record.sources],
    }
    return restore_metadata(row, record.metadata, ())


def _build_candidate(source: Document) -> JsonRow:
    doc: JsonRow = {"segment": source.text}
    if source.title:
        doc["title"] = source.title
    return {"docid": restore_id(source), "doc": doc}


def convert_gold_rows(rows: Sequence[GoldNuggetRow]) -> tuple[Nugget, ...]:
    """Convert rows of a file to nuggets, with unknown importances as None."""
    return tuple(Nugget(text=row.text, importance=row.weight) for row in rows)


def find_unknown_importances(
    rows: Sequence[GoldNuggetRow], known: Sequence[str] = ()
) -> list[UnknownLabel]:
    """Return importances that are neither valid nor in `known`."""
    names = tuple(_IMPORTANCES.values())
    return [
        UnknownLabel(f"nuggets.{i}.importance", row.importance, names)
        for i, row in enumerate(rows)
        if row.importance not in (None, *known, *names)
    ]


def describe_unknown_labels(odd: Sequence[UnknownLabel]) -> list[Problem]:
    """Return a problem that describes the first unknown label and counts the others, if any."""
    if not odd:
        return []
    first = odd[0]
    text = "the field is missing, null or empty"
    if first.value:
        text = f"found {describe_value(first.value)}"
    more = f" (and {len(odd) - 1} more)" if len(odd) > 1 else ""
    nuggets = "the nugget is" if len(odd) == 1 else "the nuggets are"
    problem = f"{text}{more}: {nuggets} used without this field"
    return [Problem(first.field, problem, " or ".join(first.names))]


def collect_unknown_labels(odd: Iterable[UnknownLabel]) -> dict[str, str]:
    """Return unknown labels as metadata, so that writers can restore them."""
    return {one.field: one.value for one in odd if one.value is not None}


FAILED = "failed"

_ASSIGNMENTS: Mapping[object, Assignment] = {name: name for name in ASSIGNMENTS}


class AssignedNuggetRow(GoldNuggetRow):
    """A nugget with the level of support assigned to it."""

    assignment: Annotated[str | None, BeforeValidator(convert_label)] = None

    @property
    def label(self) -> Assignment | None:
        """Level of support, or None if it is "failed" or unknown."""
        return _ASSIGNMENTS.get(self.assignment)


class AssignedRow(Row):
    """An answer with its nugget assignments."""

    query: str
    qid: IdText
    answer_text: str
    response_length: int | None = Field(default=None, ge=0)
    run_id: IdText
    nuggets: list[AssignedNuggetRow]

    def to_record(self) -> Record:
        """Return the answer as a record with the id `run_id/qid`."""
        metadata = collect_unknown_fields(self)
        if self.response_length not in (None, len(self.answer_text.split())):
            metadata["response_length"] = str(self.response_length)
        return Record(
            id=f"{self.run_id}/{self.qid}",
            question=self.query,
            answer=self.answer_text,
            nuggets=convert_gold_rows(self.nuggets),
            system=self.run_id,
            topic=self.qid,
            metadata=metadata,
        )


class RetrievedRow(Row):
    """A retrieved passage with its nugget assignments."""

    text: str
    qid: IdText
    candidate_text: str
    docid: IdText
    nuggets: list[AssignedNuggetRow]

    def to_record(self) -> Record:
        """Return the passage as a record with the id `qid/docid`."""
        return Record(
            id=f"{self.qid}/{self.docid}",
            question=self.text,
            answer=self.candidate_text,
            nuggets=convert_gold_rows(self.nuggets),
            topic=self.qid,
            metadata=collect_unknown_fields(self) | {"docid": self.docid},
        )


AssignedModel = type[AssignedRow] | type[RetrievedRow]


def read_assigned(item: Item, model: AssignedModel) -> list[Record | Problem]:
    """Convert an answer or passage with assignments to a record.

    The record does not contain the assignments, so judges cannot see them. A problem after the
    record reports unknown labels.
    """
    row = parse(model, item.fields)
    odd = find_unknown_importances(row.nuggets) + find_unknown_assignments(row.nuggets)
    return [row.to_record(), *describe_unknown_labels(odd)]


def find_unknown_assignments(rows: Sequence[AssignedNuggetRow]) -> list[UnknownLabel]:
    """Return assignments that are neither valid nor "failed"."""
    return [
        UnknownLabel(f"nuggets.{i}.assignment", row.assignment, tuple(ASSIGNMENTS))
        for i, row in enumerate(rows)
        if row.assignment not in (FAILED, *ASSIGNMENTS)
    ]


def read_assigned_labels(item: Item, model: AssignedModel) -> list[HumanLabel | Problem]:
    """Return the successful nugget assignments of an answer or passage as labels."""
    row = parse(model, item.fields)
    record = row.to_record()
    labels = [
        HumanLabel(
            task="nugget",
            label=nugget.label,
            record_id=record.id,
            topic=record.topic,
            system=record.system,
            item=nugget.text,
        )
        for nugget in row.nuggets
        if nugget.label is not None
    ]
    return [*labels, *describe_unknown_labels(find_unknown_assignments(row.nuggets))]


RETRIEVED = Format(
    name="nuggetizer-assign-retrieval",
    required=(("qid",), ("candidate_text",), ("docid",), ("nuggets",)),
    fields=frozenset(RetrievedRow.model_fields),
    leading="candidate_text",
    keys="text, qid, candidate_text, docid, nuggets[{text, importance, assignment}]",
    read=partial(read_assigned, model=RetrievedRow),
    read_labels=partial(read_assigned_labels, model=RetrievedRow),
)


ASSIGNED = Format(
    name="nuggetizer-assign",
    required=(("qid",), ("answer_text",), ("nuggets",)),
    fields=frozenset(AssignedRow.model_fields),
    leading="answer_text",
    keys="query, qid, answer_text, response_length, run_id, nuggets[{text, importance, "
    "assignment}]",
    read=partial(read_assigned, model=AssignedRow),
    read_labels=partial(read_assigned_labels, model=AssignedRow),
)
