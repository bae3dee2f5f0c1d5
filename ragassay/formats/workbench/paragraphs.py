"""Read and write graded paragraphs: responses to queries with judgments, rankings and grades.

    [query_id, [{"paragraph_id", "text", "paragraph", "paragraph_data": {"judgments", "rankings"},
                 "exam_grades": [...], "grades": [...]}]]   per line, compressed with gzip

Fields have the same names as in the file (Dietz 2024, figure 4), but in snake case. Unknown fields
are preserved. The file contains only the ids of the queries, whose texts are read from a topics
file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    AliasChoices,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from ragassay.errors import InputError
from ragassay.files import AnyPath
from ragassay.formats.files import RawLine, iter_lines
from ragassay.formats.items import (
    Item,
    Place,
    UnreadableLineCount,
    format_content,
    keep_first,
    shorten_text,
)
from ragassay.formats.output import JsonRow, write_values
from ragassay.formats.problems import (
    Problem,
    build_empty_file_error,
    describe_value,
    is_list,
    is_object,
    parse,
    quote_text,
    validate,
)
from ragassay.formats.rows import IdText, Row
from ragassay.formats.sniff import Format
from ragassay.formats.topics import find_question
from ragassay.formats.values import find_bad_value, parse_json
from ragassay.records import Record, Rejection
from ragassay.records.base import define_renamed_field

SHAPE = "[query_id, [{paragraph_id, text, paragraph_data, ...}]] per line"


_BEGINNING = re.compile(rb'\s*\[\s*["0-9-]')
"""Matches the start of a line that may contain a query, so that other lines are not parsed."""


class ParagraphPart(Row):
    """Base class of graded paragraphs and their parts that preserves unknown fields and nulls."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)
    _nulls: frozenset[str] = PrivateAttr(default=frozenset())

    @model_validator(mode="wrap")
    @classmethod
    def _remember_nulls(cls, value: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        part = handler(value)
        if is_object(value):
            part._nulls = frozenset(name for name, one in value.items() if one is None)
        return part

    @model_serializer(mode="wrap")
    def _restore_nulls(self, handler: SerializerFunctionWrapHandler) -> JsonRow:
        fields: JsonRow = handler(self)
        return dict.fromkeys(self._nulls) | {k: v for k, v in fields.items() if v is not None}

    def __eq__(self, other: object) -> bool:
        """Return whether all fields are equal. A null field equals an absent one."""
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.__dict__ == other.__dict__ and self.model_extra == other.model_extra


Names = Annotated[tuple[str, ...], Field(strict=False)]


class ParagraphJudgment(ParagraphPart):
    """A human relevance judgment of a paragraph for a query, on the collection's scale."""

    paragraph_id: IdText = Field(alias="paragraphId")
    query: IdText
    relevance: int
    title_query: IdText | None = Field(default=None, alias="titleQuery")


class ParagraphRanking(ParagraphPart):
    """Rank that a system gave to a paragraph, or 1 if the system returns a single response."""

    method: str
    paragraph_id: IdText = Field(alias="paragraphId")
    query_id: IdText = Field(alias="queryId")
    rank: int
    score: float


class ParagraphData(ParagraphPart):
    """Human judgments of a paragraph, and the ranks that systems gave to it."""

    judgments: tuple[ParagraphJudgment, ...] = Field(default=(), strict=False)
    rankings: tuple[ParagraphRanking, ...] = Field(default=(), strict=False)


class SelfRating(ParagraphPart):
    """A model's rating, from 0 to 5, of how well a paragraph covers a question or nugget."""

    question_id: IdText | None = None
    nugget_id: IdText | None = None
    self_rating: int


class ParagraphExamGrade(ParagraphPart):
    """A model's grade of a paragraph, based on a test bank.

    Attributes:
        llm_response_errors: Error messages for items without a grade, keyed by item id.
        prompt_type: Either "question" or "nugget".
        tentative_ratings: Most likely ratings of items on which the grader did not decide, keyed by
            item id. ragassay added this field to the format.
    """

    correct_answered: Names = Field(default=(), alias="correctAnswered")
    wrong_answered: Names = Field(default=(), alias="wrongAnswered")
    self_ratings: tuple[SelfRating, ...] | None = Field(default=None, strict=False)
    answers: tuple[Annotated[tuple[str, str], Field(strict=False)], ...] = Field(
        default=(), strict=False
    )
    llm: str = ""
    llm_options: dict[str, object] = Field(default_factory=dict)
    prompt_info: dict[str, object] | None = None
    exam_ratio: float | None = None
    llm_response_errors: dict[str, object] | None = None
    prompt_type: str | None = None
    tentative_ratings: dict[str, int] | None = define_renamed_field(
        "tentative_ratings", "leanings", default=None
    )


class DirectGrade(ParagraphPart):
    """A model's direct grade of a paragraph, without a test bank.

    Attributes:
        llm_response_error: Error message that makes the grade invalid, or None.
    """

    correct_answered: bool = Field(alias="correctAnswered")
    self_ratings: int | None = None
    answer: str = Field(default="", validation_alias=AliasChoices("answer", "answers"))
    llm: str = ""
    llm_options: dict[str, object] = Field(default_factory=dict)
    prompt_info: dict[str, object] | None = None
    llm_response_error: str | None = None


class GradedParagraph(ParagraphPart):
    """A response to a query, with its judgments and grades.

    Attributes:
        paragraph_id: Id of the paragraph, unique among the paragraphs of a query.
        paragraph: Paragraph with markup, or None.
        exam_grades: Grades based on test banks, or None if the response was not graded.
    """

    paragraph_id: IdText
    text: str
    paragraph: object = None
    paragraph_data: ParagraphData = ParagraphData()
    exam_grades: tuple[ParagraphExamGrade, ...] | None = Field(default=None, strict=False)
    grades: tuple[DirectGrade, ...] | None = Field(default=None, strict=False)


@dataclass(frozen=True)
class QueryParagraphs:
    """Responses to a query."""

    query_id: str
    paragraphs: tuple[GradedParagraph, ...]


@dataclass(frozen=True)
class ParagraphResult:
    """Queries in a file, with unique ids, and rejections of unreadable lines and paragraphs."""

    queries: tuple[QueryParagraphs, ...]
    rejections: tuple[Rejection, ...]


def is_paragraph_file(path: Path) -> bool:
    """Return whether the first line of a file is a query with its paragraphs."""
    return any(_split_line(line) is not None for line in islice(iter_lines(path), 1))


def _split_line(line: RawLine) -> tuple[str, list[object]] | None:
    may_be = not line.problem and _BEGINNING.match(line.data)
    value = parse_json(line.data) if may_be else None
    if not is_list(value) or len(value) != 2:
        return None
    query, paragraphs = value
    if isinstance(query, bool) or not isinstance(query, str | int) or not is_list(paragraphs):
        return None
    return str(query), paragraphs


def read_graded_paragraphs(path: AnyPath) -> ParagraphResult:
    """Read graded paragraphs, optionally compressed with gzip.

    Raises:
        InputError: The file cannot be opened, is empty, or contains no query with paragraphs.
    """
    path = Path(path)
    queries, rejections = keep_first(
        _iter_queries(path),
        key_of=lambda query: query.query_id,
        repeated=lambda query, _: Problem(
            "0",
            f"the query {quote_text(query.query_id)} already appeared",
            "all paragraphs of a query on one line",
        ),
    )
    if not queries:
        raise build_empty_file_error(path, "graded paragraphs", rejections, SHAPE)
    return ParagraphResult(queries, tuple(rejections))


def _iter_queries(path: Path) -> Iterator[tuple[QueryParagraphs | Rejection, Place]]:
    """Yield queries and rejections with their places. Rejected paragraphs precede their query."""
    junk = UnreadableLineCount(path)
    for line in iter_lines(path):
        text = line.data[:8_000].decode("utf-8", "backslashreplace")
        place = Place(str(path), line.number, f"line-{line.number}", shorten_text(text))
        query = _read_query(line)
        if isinstance(query, Problem):
            yield place.reject(query), place
        else:
            yield from ((one, place) for one in _read_paragraphs(*query, place))
        if end := junk.count_line(line.number, isinstance(query, Problem)):
            yield end, place
            return


def _read_query(line: RawLine) -> tuple[str, list[object]] | Problem:
    if line.problem:
        return Problem("", line.problem, line.expected)
    value = parse_json(line.data)
    if isinstance(value, Problem):
        return value
    parts = _split_line(line)
    if parts is None or not parts[0].strip():
        return Problem("", f"found {describe_value(value)}", SHAPE)
    problem = find_bad_value(parts[0])
    return parts if problem is None else Problem("0", problem.text, problem.expected)


def _read_paragraphs(
    query: str, rows: list[object], place: Place
) -> list[QueryParagraphs | Rejection]:
    rejections: list[QueryParagraphs | Rejection] = []
    paragraphs: dict[str, GradedParagraph] = {}
    for i, fields in enumerate(rows):
        paragraph = _read_paragraph(fields)
        if isinstance(paragraph, GradedParagraph) and paragraph.paragraph_id in paragraphs:
            text = f"the id {quote_text(paragraph.paragraph_id)} already appeared"
            paragraph = Problem("paragraph_id", text, "unique ids within a query")
        if isinstance(paragraph, Problem):
            own = replace(place, content=format_content(fields), path=f"1.{i}")
            rejections.append(own.reject(paragraph))
        else:
            paragraphs[paragraph.paragraph_id] = paragraph
    return [*rejections, QueryParagraphs(query, tuple(paragraphs.values()))]


def _read_paragraph(fields: object) -> GradedParagraph | Problem:
    if not is_object(fields):
        return Problem("", f"found {describe_value(fields)}", "a paragraph: {…}")
    return find_bad_value(fields) or validate(GradedParagraph, fields)


def write_graded_paragraphs(queries: Sequence[QueryParagraphs], path: AnyPath) -> None:
    """Write graded paragraphs. For the Workbench, use a file name that ends in `.gz`.

    Raises:
        InputError: A query id, or a paragraph id within a query, is blank or occurs twice, or the
            file cannot be written.
    """
    path = Path(path)
    ids = [query.query_id for query in queries]
    for names in (ids, *([p.paragraph_id for p in query.paragraphs] for query in queries)):
        invalid = next(
            (name for i, name in enumerate(names) if not name.strip() or name in names[:i]), None
        )
        if invalid is not None:
            raise InputError(
                f"{path} cannot be written: the id {invalid!r} is blank or occurs twice"
            )
    rows = (
        [query.query_id, [one.model_dump(by_alias=True) for one in query.paragraphs]]
        for query in queries
    )
    write_values(rows, path)


class ResponseRow(Row):
    """Fields of a response that become part of a record, which judges may see."""

    query_id: IdText
    paragraph_id: IdText
    text: str
    system: str | None = None
    is_repeated: bool = False


def build_response_id(query_id: str, paragraph_id: str, system: str = "") -> str:
    """Return the id of the record of a paragraph."""
    return "/".join(part for part in (query_id, paragraph_id, system) if part)


def list_systems(paragraph: GradedParagraph) -> tuple[str, ...]:
    """Return the distinct systems that ranked a paragraph, in file order."""
    return tuple(dict.fromkeys(one.method for one in paragraph.paragraph_data.rankings))


def find_system(paragraph: GradedParagraph) -> str | None:
    """Return the only system that ranked a paragraph, or None if there are none or several."""
    systems = list_systems(paragraph)
    return systems[0] if len(systems) == 1 else None


def iter_responses(path: Path) -> Iterator[Item | Rejection]:
    """Yield each paragraph once per system that ranked it, without judgments and grades."""
    for query, place in _iter_queries(path):
        if isinstance(query, Rejection):
            yield query
            continue
        for paragraph in query.paragraphs:
            for n, system in enumerate(list_systems(paragraph) or (None,)):
                fields: dict[str, object] = {
                    "query_id": query.query_id,
                    "paragraph_id": paragraph.paragraph_id,
                    "text": paragraph.text,
                    "system": system,
                    "is_repeated": n > 0,
                }
                yield Item(place, fields)


def read_response(item: Item, questions: Mapping[str, str]) -> Record:
    """Convert a paragraph to a record with the id `query_id/paragraph_id`.

    A paragraph ranked by several systems becomes several records. The system is part of each id but
    the first, so a human judgment of the paragraph applies to the first record.
    """
    row = parse(ResponseRow, item.fields)
    return Record(
        id=build_response_id(
            row.query_id, row.paragraph_id, (row.system or "") if row.is_repeated else ""
        ),
        question=find_question(None, row.query_id, questions, "0"),
        answer=row.text,
        system=row.system,
        topic=row.query_id,
    )


RESPONSES = Format(
    name="rubric-workbench",
    required=tuple((name,) for name in ResponseRow.model_fields),
    fields=frozenset(ResponseRow.model_fields),
    leading="paragraph_id",
    keys=SHAPE,
    read=read_response,
    has_topics=True,
)
