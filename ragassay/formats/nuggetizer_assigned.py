"""Read what the nuggetizer's `assign` writes, as records and as labels.

    {"query", "qid", "answer_text", "response_length", "run_id",
     "nuggets": [{"text", "importance", "assignment"}]}                    of an answer, a line
    {"text", "qid", "candidate_text", "docid", "nuggets"}                  of a retrieved passage

A label that failed, or that the model made up, is None here: its nugget and its answer stay, and
the file's rejections count it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field

from ragassay.formats.items import Item
from ragassay.formats.nuggetizer import (
    GoldNuggetRow,
    OddLabel,
    gold_nuggets,
    label_text,
    odd_importances,
    problems_of,
)
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import IdText, Row, kept_fields
from ragassay.formats.sniff import Format
from ragassay.records import ASSIGNMENTS, Assignment, HumanLabel, Record

FAILED = "failed"

_ASSIGNMENTS: Mapping[object, Assignment] = {name: name for name in ASSIGNMENTS}


class AssignedNuggetRow(GoldNuggetRow):
    """A nugget with its assignment."""

    assignment: Annotated[str | None, BeforeValidator(label_text)] = None

    @property
    def label(self) -> Assignment | None:
        """The assignment; None where there is none."""
        return _ASSIGNMENTS.get(self.assignment)


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
    return [record, *problems_of(list(_odd(row.nuggets)))]


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
    return [record, *problems_of(list(_odd(row.nuggets)))]


def _odd(rows: Sequence[AssignedNuggetRow]) -> Iterator[OddLabel]:
    yield from odd_importances(rows)
    yield from odd_assignments(rows)


def odd_assignments(rows: Sequence[AssignedNuggetRow]) -> Iterator[OddLabel]:
    """Yield the assignments that are none of ours, and did not just fail."""
    for i, row in enumerate(rows):
        if row.assignment not in (FAILED, *_ASSIGNMENTS):
            yield OddLabel(f"nuggets.{i}.assignment", row.assignment, tuple(ASSIGNMENTS))


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
    return [*labels, *problems_of(list(odd_assignments(rows)))]
