"""Read the questions of topics from a file.

topic_id,title,question,narrative                            TREC BioGen (CSV)
{"topics": [{"id", "question"}]}                             JSON document; BioASQ with "questions"
{"id", "title"} per line, [{"id", "title"}]                  TREC RAG 2025, without other texts
2024-1 TAB what is it?                                       TREC RAG 2024 and 2026
{"request_id", "title", "problem_statement", "background"}   TREC RAGTIME and AutoJudge
{"1": "What is it?"}                                         Workbench
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import AliasChoices, Field, model_validator

from ragassay.errors import InputError
from ragassay.formats.files import iter_lines
from ragassay.formats.items import (
    Item,
    Place,
    as_item,
    format_content,
    iter_items,
    read_once,
    shorten_text,
    stop_at_junk,
)
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    build_empty_file_error,
    describe_value,
    is_list,
    is_object,
    join_path,
    parse,
    quote_text,
)
from ragassay.formats.rows import IdText, Row
from ragassay.formats.tables import check_column_names
from ragassay.formats.values import parse_json
from ragassay.records import Rejection

_SHAPES = (
    'CSV topic_id,title,question,narrative or JSON {"topics": [{"id", "question"}]}, or these '
    "objects as JSON lines, or lines `id TAB question`"
)
_IDS = ("topic_id", "id", "qid", "question_id", "query_id", "narrative_id", "_id", "request_id")
_REQUEST = ("title", "problem_statement", "background")
_TEXTS = ("question", "narrative", "body", "text", "query", "title", "topic")
"""Fields that may contain the question of a topic, in order of preference."""


class TopicRow(Row):
    """A topic of TREC BioGen, RAG or RAGTIME, or a question of BioASQ or MedAESQA."""

    id: IdText = Field(validation_alias=AliasChoices(*_IDS))
    question: str = Field(min_length=1, validation_alias=AliasChoices(*_TEXTS))

    @model_validator(mode="before")
    @classmethod
    def _join_request(cls, value: object) -> object:
        if not is_object(value) or "problem_statement" not in value or "question" in value:
            return value
        parts = [part for name in _REQUEST if isinstance(part := value.get(name), str) and part]
        return value | {"question": "\n".join(parts)} if parts else value


def read_topics(path: Path) -> tuple[dict[str, str], list[Rejection]]:
    """Read topics from a CSV, TSV or JSON file, and return questions by topic id and rejections."""
    topics, rejections = read_once(
        stop_at_junk(_read_topic_items(path), path),
        read=lambda item: parse(TopicRow, item.fields),
        key_of=lambda topic: topic.id,
        repeated=lambda topic, _: Problem(
            "topic_id", f"the topic {quote_text(topic.id)} already appeared", "unique ids"
        ),
    )
    if not topics:
        raise build_empty_file_error(path, "topics", rejections, _SHAPES)
    return {topic.id: topic.question for topic in topics}, rejections


def find_question(
    question: str | None, topic: str, questions: Mapping[str, str], field: str
) -> str:
    """Return the question of an answer or, if it has none, the question of its topic."""
    question = question or questions.get(topic)
    if question is not None:
        return question
    where = ", nor is the topic in the questions file" if questions else ""
    raise ProblemError(
        field,
        f"the question of topic {quote_text(topic)} is not in the file{where}",
        "a question, or a questions file with the columns topic_id,title,question,narrative",
    )


def read_small_file(path: Path) -> bytes:
    """Return the content of a file, which must not be empty, with normalized line endings."""
    lines = list(iter_lines(path))
    if not lines:
        raise InputError(f"{path} is empty")
    for line in lines:
        if line.problem:
            problem = f"{line.problem}; expected {line.expected}"
            raise InputError(f"{path}, line {line.number}: {problem}")
    return b"\n".join(line.data for line in lines)


def _read_topic_items(path: Path) -> Iterator[Item | Rejection]:
    data = read_small_file(path)
    if not data.lstrip().startswith((b"{", b"[")):
        return _read_csv_topics(path, data) if _is_table(data) else _read_tab_topics(path)
    value = parse_json(data)
    n_objects = sum(line.startswith(b"{") and b":" in line for line in data.splitlines())
    if isinstance(value, Problem) and n_objects > 1:
        return iter_items(path)
    if isinstance(value, Problem):
        raise InputError(f"{path}: {value.text}; expected {_SHAPES}")
    name = ""
    if is_object(value):
        name = next((one for one in ("topics", "questions") if one in value), "")
        value = value.get(name, value)
    if is_object(value) and not value.keys().isdisjoint(_IDS):
        value = [value]
    if is_list(value):
        rows = {".".join(filter(None, (name, str(i)))): row for i, row in enumerate(value)}
        return _place_topics(path, rows)
    if is_object(value):
        return _place_topics(path, {k: {"id": k, "question": part} for k, part in value.items()})
    raise InputError(f"{path}: found {describe_value(value)} as topics; expected {_SHAPES}")


def _is_table(data: bytes) -> bool:
    first = data.partition(b"\n")[0].decode("utf-8", "replace").strip()
    cells = {cell.strip().casefold() for cell in first.replace(",", "\t").split("\t")}
    return "\t" not in first or not cells.isdisjoint(_IDS)


def _read_tab_topics(path: Path) -> Iterator[Item | Rejection]:
    for line in iter_lines(path):
        text = line.data.decode("utf-8", "backslashreplace").strip()
        place = Place(str(path), line.number, f"line-{line.number}", shorten_text(text))
        name, tab, question = text.partition("\t")
        if tab and name.strip() and question.strip():
            yield as_item(place, {"id": name.strip(), "question": question.strip()})
        else:
            yield place.reject(
                Problem("", "the line has no id, tab and question", "id TAB question")
            )


def _read_csv_topics(path: Path, data: bytes) -> Iterator[Item | Rejection]:
    try:
        text = data.decode("utf-8")
        delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows = [(reader.line_num, row) for row in reader]
        check_column_names(reader.fieldnames or [], path)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as CSV ({error}); expected {_SHAPES}") from error
    numbers = [line.number for line in iter_lines(path)]
    for last, row in rows:
        # csv.DictReader stores the extra cells of a long row under None.
        fields = {str(key): row[key] for key in row}
        # The csv module also counts a single carriage return as a line end.
        line = numbers[min(last, len(numbers)) - 1]
        yield as_item(Place(str(path), line, f"line-{line}", format_content(fields)), fields)


def _place_topics(path: Path, values: Mapping[str, object]) -> Iterator[Item | Rejection]:
    """Yield topics with their paths in a JSON document, because their lines are unknown."""
    for path_in_file, value in values.items():
        place = Place(str(path), 0, path_in_file, format_content(value), join_path((path_in_file,)))
        yield as_item(place, value)
