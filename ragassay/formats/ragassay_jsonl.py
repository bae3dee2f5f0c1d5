"""Read ragassay's own format: one `Record` a line.

    {"id": "q1", "question": "…", "answer": "… [1].", "sources": ["…", {"id": "1", "text": "…"}]}

The answer is text, or a list of sentences `{"text": …, "citations": [1, "31452104"]}`. Sources and
nuggets may be plain text; such sources get the ids "1", "2", … by their position. `contexts` and
`ground_truth`, as ragas before 0.2 wrote them, are read as sources and reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Discriminator, Field, Tag

from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, dotted, found_text, validate
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
    kept_fields,
    passages_of,
)
from ragassay.formats.sniff import Format
from ragassay.records import CitedSpan, Document, Record, SentenceInput, Turn

_TEXT_BRANCH, _LIST_BRANCH = "<text>", "<sentences>"


def _branch(value: object) -> str | None:
    if isinstance(value, str):
        return _TEXT_BRANCH
    return _LIST_BRANCH if isinstance(value, list) else None


Answer = Annotated[
    Annotated[str, Tag(_TEXT_BRANCH)] | Annotated[list[SentenceEntry], Tag(_LIST_BRANCH)],
    Discriminator(
        _branch,
        custom_error_type="answer_type",
        custom_error_message='text, or a list of {"text": …, "citations": […]}',
    ),
]


class RecordRow(Row):
    """A line of the format."""

    id: IdText | None = None
    question: str
    answer: Answer
    sources: Annotated[list[SourceEntry], BeforeValidator(passages_of)] = Field(
        default_factory=list[SourceRow], validation_alias=AliasChoices("sources", "contexts")
    )
    nuggets: list[NuggetEntry] = Field(default_factory=list[NuggetRow])
    reference: str | None = Field(
        default=None, validation_alias=AliasChoices("reference", "ground_truth")
    )
    system: str | None = None
    topic: IdText | None = None
    date: str | None = Field(default=None, pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")
    rubrics: list[str] = Field(default_factory=list[str])
    metadata: dict[str, object] = Field(default_factory=dict)
    citations: list[CitedSpan] = Field(default_factory=list[CitedSpan])
    turns: list[Turn] = Field(default_factory=list[Turn])
    unread: list[str] = Field(default_factory=list[str])


RAGASSAY = Format(
    name="ragassay",
    required=(("question",), ("answer",)),
    fields=frozenset(RecordRow.model_fields) | {"contexts", "ground_truth"},
    leading="question",
    keys="question, answer[, id, sources, nuggets, reference, system, topic, date, rubrics]",
)


def read_ragassay(item: Item) -> Record | Problem:
    """Turn a line into a record."""
    row = validate(RecordRow, item.fields)
    if isinstance(row, Problem):
        return row
    sources = tuple(source.to_document(i) for i, source in enumerate(row.sources, start=1))
    problem = repeated_id(sources) or _unclear_metadata(row)
    if problem is not None:
        return problem
    given = {name: as_text(value) for name, value in row.metadata.items() if value is not None}
    return Record(
        id=row.id or item.place.label,
        question=row.question,
        answer=_answer(row.answer),
        sources=sources,
        nuggets=tuple(nugget.to_nugget() for nugget in row.nuggets),
        reference=row.reference,
        system=row.system,
        topic=row.topic,
        date=row.date,
        rubrics=tuple(row.rubrics),
        metadata=given | kept_fields(row),
        citations=tuple(row.citations),
        turns=tuple(row.turns),
        unread=tuple(row.unread),
    )


def _answer(answer: str | list[SentenceRow]) -> str | tuple[SentenceInput, ...]:
    if isinstance(answer, str):
        return answer
    return tuple(sentence.to_sentence() for sentence in answer)


def _unclear_metadata(row: RecordRow) -> Problem | None:
    twice = sorted(row.metadata.keys() & kept_fields(row).keys())
    if not twice:
        return None
    text = "the field is both outside metadata and in it"
    return Problem(dotted(twice[:1]), text, "one of the two")


def repeated_id(sources: Sequence[Document]) -> Problem | None:
    """Return a problem where two sources share an id: a citation of it would be ambiguous."""
    seen: dict[str, int] = {}
    for i, source in enumerate(sources):
        first = seen.setdefault(source.id, i)
        if first != i:
            text = f"the id {found_text(source.id)} is also that of sources.{first}"
            expected = "ids that differ: join the passages of one document, or number them"
            return Problem(f"sources.{i}.id", text, expected)
    return None
