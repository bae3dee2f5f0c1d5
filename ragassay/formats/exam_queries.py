"""Read the queries for test banks from any common format.

{"q1": "when did it begin?"}                                     JSON object of the Workbench
{"topics": [{"id", "question"}]}, CSV topic_id,title,question    TREC topics
{"id", "text"} per line, or `id TAB text`                        queries of a retrieval task
{"query_id", "title", "facets": [{"id", "text"}]} per line       pages with their sections
answers in any format that `read_records` reads                  questions, by topic
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field

from ragassay.errors import InputError
from ragassay.formats.items import Item, Place, iter_items, keep_first, read_once, shorten_text
from ragassay.formats.output import JsonRow, write_values
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    build_empty_file_error,
    is_object,
    parse,
    quote_text,
)
from ragassay.formats.read import FORMATS, read_records
from ragassay.formats.rows import IdText, Row
from ragassay.formats.topics import read_small_file, read_topics
from ragassay.formats.workbench.paragraphs import is_paragraph_file
from ragassay.records import Record, Rejection

SHAPES = (__doc__ or "").partition("\n\n")[2]


@dataclass(frozen=True)
class ExamQuery:
    """A query with its facets, such as a page title with the ids and headings of the sections."""

    id: str
    text: str
    facets: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class QueryFile:
    """Queries in a file.

    Attributes:
        records: Answers, if the queries were read from a file of answers.
    """

    queries: tuple[ExamQuery, ...]
    records: tuple[Record, ...] = ()
    rejections: tuple[Rejection, ...] = ()

    def limit_queries(self, limit: int | None) -> QueryFile:
        """Return the file with only the first `limit` queries, or unchanged if `limit` is None."""
        return replace(self, queries=self.queries[:limit])


def _wrap_facet(value: object) -> object:
    return {"id": value, "text": value} if isinstance(value, str) else value


class FacetRow(Row):
    """A part of a query, as plain text or an object."""

    id: IdText = Field(validation_alias=AliasChoices("id", "facet_id", "heading_id"))
    text: str = Field(
        min_length=1, validation_alias=AliasChoices("text", "facet_text", "heading", "title")
    )


class ExamQueryRow(Row):
    """A query on its own line."""

    id: IdText = Field(validation_alias=AliasChoices("query_id", "id", "_id", "qid", "topic_id"))
    text: str = Field(
        min_length=1,
        validation_alias=AliasChoices(
            *("text", "query", "question", "query_text", "claim", "narrative", "title")
        ),
    )
    facets: list[Annotated[FacetRow, BeforeValidator(_wrap_facet)]] = Field(
        default_factory=list[FacetRow]
    )


def read_exam_queries(path: Path) -> QueryFile:
    """Read queries from a file. The format is detected from the file's content."""
    data = read_small_file(path)
    head = data[:4096].lstrip()
    if head.startswith(b"<"):
        return _read_sgml(path, data)
    if not head.startswith((b"{", b"[")):
        return _convert_topics(*read_topics(path))
    if is_paragraph_file(path):
        return _read_record_queries(path)
    items = iter_items(path)
    first = list(islice(items, 1))
    keys = first[0].keys if first and isinstance(first[0], Item) else frozenset[str]()
    if any(form.is_complete(keys) for form in FORMATS):
        return _read_record_queries(path)
    if not _is_query(first):
        return _convert_topics(*read_topics(path))
    return _read_query_rows(path, chain(first, items))


def _is_query(first: list[Item | Rejection]) -> bool:
    if not first or not isinstance(first[0], Item) or is_object(first[0].fields.get("topics")):
        return bool(first) and isinstance(first[0], Rejection)
    names = {"query_id", "id", "_id", "qid", "topic_id"}
    return bool(names & first[0].fields.keys())


def write_exam_queries(queries: Iterable[ExamQuery], path: Path) -> None:
    """Write queries with unique ids, but not their facets, as a JSON object `{"id": "text"}`."""
    texts: JsonRow = {}
    for query in queries:
        if query.id in texts:
            raise InputError(f"{path} cannot be written: the query {query.id!r} occurs twice")
        texts[query.id] = query.text
    if not texts:
        raise InputError(f"{path} cannot be written: there are no queries")
    write_values([texts], path)


_OPENING = re.compile(r"<top(?:ic)?\b[^<>]*>", re.IGNORECASE)
_CLOSING = re.compile(r"</top(?:ic)?>", re.IGNORECASE)
_NUMBER = re.compile(
    r"""(?:number|id)\s*=\s*["']([^"']+)["']|<num>\s*+(?:Number:\s*+)?([^\s<]+)""", re.IGNORECASE
)
_TITLE = re.compile(r"<(?:title|query|question)>([^<]*)", re.IGNORECASE)


def _split_topics(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and the text of each topic in SGML."""
    line, position = 1, 0
    while opening := _OPENING.search(text, position):
        if (closing := _CLOSING.search(text, opening.end())) is None:
            return
        line += text.count("\n", position, opening.start())
        yield line, text[opening.start() : closing.end()]
        line += text.count("\n", opening.start(), closing.end())
        position = closing.end()


def _read_sgml(path: Path, data: bytes) -> QueryFile:
    """Read topics from SGML, in which inner tags may be unclosed."""
    text = data.decode("utf-8", "replace")
    queries, rejections = keep_first(
        (
            (_parse_topic(topic), Place(str(path), line, f"line-{line}", shorten_text(topic)))
            for line, topic in _split_topics(text)
        ),
        key_of=lambda query: query.id,
        repeated=lambda query, _: Problem(
            "num", f"the topic {quote_text(query.id)} already appeared", "unique ids"
        ),
    )
    return _build_query_file(path, queries, rejections)


def _parse_topic(topic: str) -> ExamQuery | Problem:
    number, title = _NUMBER.search(topic), _TITLE.search(topic)
    name = (number[1] or number[2]) if number else ""
    query = " ".join(html.unescape(title[1]).split()) if title else ""
    query = query.removeprefix("Topic:").strip()
    if not name or not query:
        missing = "title" if name else "num"
        return Problem(missing, f"the topic has no {missing}", f"<{missing}> with a text")
    return ExamQuery(name, query)


def _convert_topics(queries: dict[str, str], rejections: Iterable[Rejection] = ()) -> QueryFile:
    exam_queries = tuple(ExamQuery(name, text) for name, text in queries.items())
    return QueryFile(exam_queries, rejections=tuple(rejections))


def _read_query_rows(path: Path, items: Iterable[Item | Rejection]) -> QueryFile:
    queries, rejections = read_once(
        items,
        read=_parse_query,
        key_of=lambda query: query.id,
        repeated=lambda query, first: Problem(
            "id", f"the query {quote_text(query.id)} is already on line {first.line}", "unique ids"
        ),
    )
    return _build_query_file(path, queries, rejections)


def _build_query_file(
    path: Path, queries: tuple[ExamQuery, ...], rejections: list[Rejection]
) -> QueryFile:
    if not queries:
        raise build_empty_file_error(path, "query", rejections, f"one of:\n{SHAPES}")
    return QueryFile(queries, rejections=tuple(rejections))


def _parse_query(item: Item) -> ExamQuery:
    row = parse(ExamQueryRow, item.fields)
    ids = [facet.id for facet in row.facets]
    twice = next((i for i, name in enumerate(ids) if name in ids[:i]), None)
    if twice is not None:
        text = f"the facet {quote_text(ids[twice])} already appeared"
        raise ProblemError(f"facets.{twice}.id", text, "unique ids")
    return ExamQuery(row.id, row.text, tuple((facet.id, facet.text) for facet in row.facets))


def _read_record_queries(path: Path) -> QueryFile:
    result = read_records(path)
    queries: dict[str, ExamQuery] = {}
    for record in result.records:
        name = record.topic or record.id
        queries.setdefault(name, ExamQuery(name, record.question))
    return QueryFile(tuple(queries.values()), result.records, result.rejections)
