"""Read reports of TREC RAGTIME, DRAGUN and AutoJudge: one a line.

    {"metadata": {"team_id", "run_id", "topic_id"}, "responses": [{"text", "citations"}],
     "references": [id], "documents": {id: {"id", "text", "title"}}}

The sentences are `responses` or `answer`. Citations are ids, positions in the references, or ids
with a confidence, the highest first. The documents are the sources. The topic's id may be called
`topic_id`, `request_id` or `narrative_id`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field

from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import IdText, Row, as_text, kept_fields
from ragassay.formats.shapes import is_object
from ragassay.formats.sniff import Format
from ragassay.formats.trec.references import ReferenceOrId, kept_references, question_of, resolve
from ragassay.records import Document, Record, SentenceInput

_TOPIC_IDS = ("topic_id", "narrative_id", "request_id")


def _by_confidence(value: object) -> object:
    """Return ids with a confidence as a list, the highest first."""
    if not is_object(value):
        return value

    def confidence(name: str) -> float:
        given = value[name]
        return float(given) if isinstance(given, int | float) else 0.0

    return sorted(value, key=confidence, reverse=True)


class ReportSentenceRow(Row):
    """A sentence with its citations."""

    text: str
    citations: Annotated[list[ReferenceOrId], BeforeValidator(_by_confidence)] = Field(
        default_factory=list
    )


class ReportDocumentRow(Row):
    """A document that a report was written from."""

    text: str
    title: str = ""


class ReportMetadataRow(Row):
    """The report's run and topic."""

    team_id: IdText
    run_id: IdText
    topic_id: IdText = Field(validation_alias=AliasChoices(*_TOPIC_IDS))
    narrative: str | None = None


class ReportRow(Row):
    """A report."""

    metadata: ReportMetadataRow
    references: list[IdText] = Field(default_factory=list)
    responses: list[ReportSentenceRow] = Field(validation_alias=AliasChoices("responses", "answer"))
    documents: dict[str, ReportDocumentRow] = Field(default_factory=dict)


REPORT = Format(
    name="trec-report",
    required=(
        tuple(f"metadata.{name}" for name in _TOPIC_IDS),
        ("responses", "answer"),
        (
            *("documents", "references", "is_ragtime", "ranking", "metadata.request_id"),
            *("metadata.collection_ids", "metadata.use_starter_kit", "metadata.task"),
        ),
    ),
    fields=frozenset(
        (*ReportRow.model_fields, "answer", "is_ragtime", "ranking", "evaldata", "path")
    ),
    leading="responses",
    keys="metadata{team_id, run_id, topic_id}, responses[{text, citations}], references[], "
    "documents{id: {text, title}}",
)


def read_report(item: Item, questions: Mapping[str, str]) -> Record | Problem:
    """Turn a report into a record; its id is `team_id/run_id/topic_id`.

    Args:
        item: The report.
        questions: The topics by id, for files that do not include them.
    """
    row = validate(ReportRow, item.fields)
    if isinstance(row, Problem):
        return row
    about = row.metadata
    question = question_of(about.narrative, about.topic_id, questions)
    if isinstance(question, Problem):
        return Problem("metadata.narrative", question.text, question.expected)
    answer = tuple(
        SentenceInput(text=one.text, citations=resolve(one.citations, row.references))
        for one in row.responses
    )
    cited = (name for part in answer for name in part.citations)
    return Record(
        id=f"{about.team_id}/{about.run_id}/{about.topic_id}",
        question=question,
        answer=answer,
        sources=_sources(row),
        system=f"{about.team_id}/{about.run_id}",
        topic=about.topic_id,
        metadata=kept_fields(row) | _document_fields(row) | kept_references(row.references, cited),
    )


def _sources(row: ReportRow) -> tuple[Document, ...]:
    """Return the documents in the order of the references; the others follow."""
    order = {name: i for i, name in enumerate(row.references)}
    names = sorted(row.documents, key=lambda name: order.get(name, len(order)))
    return tuple(
        Document(id=name, text=row.documents[name].text, title=row.documents[name].title)
        for name in names
        if name.strip()
    )


def _document_fields(row: ReportRow) -> dict[str, str]:
    """Return unknown fields of the documents, as `kept_fields` does for lists."""
    return {
        f"documents.{name}.{field}": as_text(value)
        for name, document in row.documents.items()
        for field, value in (document.model_extra or {}).items()
        if field != "id"
    }
