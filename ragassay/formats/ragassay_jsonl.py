"""Read ragassay's own format: one `Record` per line.

    {"id": "q1", "question": "…", "answer": "… [1].", "sources": ["…", {"id": "1", "text": "…"}]}

The answer is text, or a list of sentences `{"text": …, "citations": [1, "31452104"]}`. Sources and
nuggets may be plain text. Sources without an id are numbered from "1". Question, answer, reference
and sources may have any of the names in `formats.fields`, and sources any structure that
`formats.source_values` reads. Sources with the same id are passages of one document.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Discriminator, Field, Tag

from ragassay.formats.fields import (
    ANSWER_NAMES,
    QUESTION_NAMES,
    REFERENCE_NAMES,
    SOURCE_ID_NAMES,
    SOURCE_NAMES,
    TITLE_NAMES,
    find_name,
)
from ragassay.formats.items import Item
from ragassay.formats.named_fields import FieldTally, rename_fields
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    close_name,
    is_list,
    is_object,
    join_path,
    parse,
    validate,
)
from ragassay.formats.rows import (
    IdText,
    NuggetEntry,
    NuggetRow,
    Row,
    SentenceEntry,
    SentenceRow,
    SourceEntry,
    SourceRow,
    as_text,
    assign_document_ids,
    collect_unknown_fields,
)
from ragassay.formats.sniff import Format
from ragassay.formats.source_values import build_source_rows
from ragassay.records import CitedSpan, Document, Record, SentenceInput, Turn

_TEXT_BRANCH, _LIST_BRANCH = "<text>", "<sentences>"
_OWN_SHAPES = {
    "citations": frozenset({"start", "end", "documents"}),
    "turns": frozenset({"role", "text"}),
    "unread": frozenset[str](),
}
"""Keys of the objects in each list field, or an empty set for lists of texts. A list with other
contents comes from another tool that uses the same field name."""


def _choose_branch(value: object) -> str | None:
    if isinstance(value, str):
        return _TEXT_BRANCH
    return _LIST_BRANCH if isinstance(value, list) else None


Answer = Annotated[
    Annotated[str, Tag(_TEXT_BRANCH)] | Annotated[list[SentenceEntry], Tag(_LIST_BRANCH)],
    Discriminator(
        _choose_branch,
        custom_error_type="answer_type",
        custom_error_message='text, or a list of {"text": …, "citations": […]}',
    ),
]


def _convert_sources(value: object) -> object:
    """Return sources as objects, with empty text for those that have only an id or title."""
    rows = build_source_rows(value)
    if not is_list(rows):
        return rows
    has_text = any(is_object(row) and "text" in row for row in rows)
    return [
        row | {"text": ""} if has_text and is_object(row) and _is_named(row) else row
        for row in rows
    ]


def _is_named(row: dict[str, object]) -> bool:
    """Return whether a source has an id or a title, but no field that might be its text."""
    if "text" in row:
        return False
    names = (*SOURCE_ID_NAMES, *TITLE_NAMES)
    others = {key: part for key, part in row.items() if find_name({key: part}, names) is None}
    may_be_text = close_name("text", others) is not None or any(
        isinstance(part, str) and len(part.split()) > 1 for part in others.values()
    )
    return len(others) < len(row) and not may_be_text


class RecordRow(Row):
    """An answer in ragassay's own format."""

    id: IdText | None = None
    question: str
    answer: Answer
    sources: Annotated[list[SourceEntry], BeforeValidator(_convert_sources)] = Field(
        default_factory=list[SourceRow]
    )
    nuggets: list[NuggetEntry] = Field(default_factory=list[NuggetRow])
    reference: str | None = None
    system: str | None = None
    topic: IdText | None = None
    date: str | None = Field(default=None, pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")
    rubrics: list[str] = Field(default_factory=list[str])
    metadata: dict[str, object] = Field(default_factory=dict)
    citations: list[CitedSpan] = Field(default_factory=list[CitedSpan])
    turns: list[Turn] = Field(default_factory=list[Turn])
    unread: list[str] = Field(default_factory=list[str])


class _Sources(Row):
    sources: Annotated[list[SourceEntry], BeforeValidator(_convert_sources)]


NAMED_FIELDS = Format(
    name="named-fields",
    required=(QUESTION_NAMES, ANSWER_NAMES),
    fields=frozenset((*QUESTION_NAMES, *ANSWER_NAMES, *REFERENCE_NAMES, *SOURCE_NAMES)),
    leading="",
    keys="a question (query, prompt, input, ...) and an answer (response, output, ...)",
)
"""Fallback format, in which fields are recognized by common names."""


def read_ragassay(item: Item, tally: FieldTally | None = None) -> Record:
    """Convert a line, whose fields may have any name in `formats.fields`, to a record."""
    named = rename_fields(item.fields)
    fields, other = _split_fields(named.fields)
    try:
        row = parse(RecordRow, fields)
    except ProblemError as error:
        own, dot, rest = error.problem.field.partition(".")
        path = f"{named.names.get(own, own)}{dot}{rest}"
        raise ProblemError(path, error.problem.text, error.problem.expected) from error
    unknown = collect_unknown_fields(row) | other
    if duplicates := sorted(row.metadata.keys() & unknown.keys()):
        text = "the field occurs both inside and outside metadata"
        raise ProblemError(join_path(duplicates[:1]), text, "the field in only one of these places")
    metadata = {name: as_text(value) for name, value in row.metadata.items() if value is not None}
    if tally is not None:
        tally.add(named.names)
    return Record(
        id=row.id or item.place.label,
        question=row.question,
        answer=_build_answer(row.answer),
        sources=_build_documents(row.sources),
        nuggets=tuple(nugget.to_nugget() for nugget in row.nuggets),
        reference=row.reference,
        system=row.system,
        topic=row.topic,
        date=row.date,
        rubrics=tuple(row.rubrics),
        metadata=metadata | unknown,
        citations=tuple(row.citations),
        turns=tuple(row.turns),
        unread=tuple(dict.fromkeys((*row.unread, *named.unread))),
    )


RAGASSAY = Format(
    name="ragassay",
    required=(("question",), ("answer",)),
    fields=frozenset(RecordRow.model_fields) | {"contexts", "ground_truth"},
    leading="question",
    keys="question, answer[, id, sources, nuggets, reference, system, topic, date, rubrics]",
)


def read_sources(value: object) -> tuple[Document, ...] | Problem:
    """Convert a sources field, in any structure that `build_source_rows` reads, to documents."""
    row = validate(_Sources, {"sources": value})
    return row if isinstance(row, Problem) else _build_documents(row.sources)


def _build_documents(rows: list[SourceRow]) -> tuple[Document, ...]:
    documents = [row.to_document(i) for i, row in enumerate(rows, start=1)]
    return assign_document_ids(documents, [row.id is not None for row in rows])


def _split_fields(fields: dict[str, object]) -> tuple[dict[str, object], dict[str, str]]:
    """Convert fields with unexpected contents, such as another tool's citations, to text."""
    other: dict[str, str] = {}
    for name, keys in _OWN_SHAPES.items():
        value = fields.get(name)
        if value is not None and not (is_list(value) and all(_has(part, keys) for part in value)):
            fields = {key: part for key, part in fields.items() if key != name}
            other[name] = as_text(value)
    return fields, other


def _has(part: object, keys: frozenset[str]) -> bool:
    return isinstance(part, str) if not keys else is_object(part) and part.keys() == keys


def _build_answer(answer: str | list[SentenceRow]) -> str | tuple[SentenceInput, ...]:
    if isinstance(answer, str):
        return answer
    return tuple(sentence.to_sentence() for sentence in answer)
