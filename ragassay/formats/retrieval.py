"""Read and write retrieval data: corpora, queries, relevance judgments and rankings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field

from ragassay.errors import InputError
from ragassay.files import AnyPath
from ragassay.formats.files import RawLine, describe_encoding, iter_lines
from ragassay.formats.items import (
    Item,
    Place,
    UnreadableLineCount,
    iter_items,
    iter_read,
    read_once,
    shorten_text,
    split_rejections,
)
from ragassay.formats.output import replace_file
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    build_empty_file_error,
    describe_value,
    parse,
    quote_text,
)
from ragassay.formats.rows import IdText, Row
from ragassay.formats.sniff import Format, sniff
from ragassay.formats.values import find_bad_value
from ragassay.records import Article, Document, Rejection

_DOCUMENT_ID_KEYS = ("pmid", "id", "docid", "doc_id", "_id")
_DOCUMENT_TEXT_KEYS = ("abstract", "text", "contents")
_ARTICLE_KEYS = ("journal", "published", "doi", "publication_types", "mesh")


def _join_sentences(value: object) -> object:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return " ".join(map(str.strip, value))
    return value


class DocumentRow(Row):
    """A document of a corpus, identified by its PMID or, without a PMID, by another id."""

    id: IdText = Field(validation_alias=AliasChoices(*_DOCUMENT_ID_KEYS))
    text: Annotated[str, BeforeValidator(_join_sentences)] = Field(
        validation_alias=AliasChoices(*_DOCUMENT_TEXT_KEYS)
    )
    title: str = ""
    journal: str = ""
    published: str = Field(default="", pattern=r"^(\d{4}(-\d{2}(-\d{2})?)?)?$")
    doi: str = ""
    publication_types: list[str] = Field(default_factory=list)
    mesh: list[str] = Field(default_factory=list)


CORPUS = Format(
    name="corpus",
    required=(_DOCUMENT_ID_KEYS, _DOCUMENT_TEXT_KEYS),
    fields=frozenset((*_DOCUMENT_ID_KEYS, *_DOCUMENT_TEXT_KEYS, "title", *_ARTICLE_KEYS)),
    leading="title",
    keys="pmid or id or docid, abstract or text or contents[, title, journal, published, doi, "
    "publication_types, mesh]",
)


@dataclass(frozen=True)
class CorpusResult:
    """Documents of a corpus, in file order and with unique ids, and rejected lines."""

    documents: tuple[Document, ...]
    rejections: tuple[Rejection, ...]


def read_corpus(path: AnyPath) -> CorpusResult:
    """Read a corpus from JSON lines or a JSON array, optionally compressed with gzip.

    Documents have `pmid`, `id` or `docid`; `abstract`, `text` or `contents`; and optionally `title`
    and the fields of an `Article`. A text may be a list of sentences. Fields with any other name
    are ignored. Lines that repeat an id are rejected.

    Raises:
        InputError: The file is missing or empty, or contains no documents.
    """
    return CorpusResult(*split_rejections(iter_corpus(Path(path))))


def iter_corpus(path: Path) -> Iterator[Document | Rejection]:
    """Yield the documents of a corpus one at a time, and keep only their ids in memory."""
    _, items = sniff(iter_items(path), (CORPUS,), str(path))
    lines: dict[str, int] = {}
    yield from iter_read(items, lambda item: [_read_document(item, lines)])


def _read_document(item: Item, lines: dict[str, int]) -> Document:
    row = parse(DocumentRow, item.fields)
    if row.id in lines:
        field = next(key for key in _DOCUMENT_ID_KEYS if item.fields.get(key) is not None)
        text = f"the id {quote_text(row.id)} is already on line {lines[row.id]}"
        raise ProblemError(field, text, "one line for each document")
    lines[row.id] = item.place.line
    if not any(getattr(row, key) for key in _ARTICLE_KEYS):
        return Document(id=row.id, text=row.text, title=row.title)
    return Article(
        id=row.id,
        text=row.text,
        title=row.title,
        journal=row.journal,
        published=row.published,
        doi=row.doi.lower(),
        publication_types=tuple(row.publication_types),
        mesh=tuple(row.mesh),
    )


def read_columns(
    path: Path, add: Callable[[int, list[str]], Problem | None], separator: str | None = None
) -> list[Rejection]:
    """Split each line into columns, pass them to `add`, and return the rejected lines.

    Args:
        add: Function that receives the number and columns of a line, and returns a problem with the
            line or None.
        separator: Column separator. Defaults to whitespace.
    """
    rejections: list[Rejection] = []
    junk = UnreadableLineCount(path)
    for line in iter_lines(path):
        columns = _split_columns(line, separator)
        problem = columns if isinstance(columns, Problem) else add(line.number, columns)
        if problem is not None:
            text = shorten_text(line.data.decode("utf-8", "backslashreplace"))
            place = Place(str(path), line.number, f"line-{line.number}", text)
            rejections.append(place.reject(problem))
        if end := junk.count_line(line.number, problem is not None):
            return [*rejections, end]
    return rejections


def _split_columns(line: RawLine, separator: str | None) -> list[str] | Problem:
    if line.problem:
        return Problem("", line.problem, line.expected)
    try:
        text = line.data.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        return Problem(
            "",
            f"the line is not UTF-8 ({error.reason}){describe_encoding(line.data)}",
            "text in UTF-8",
        )
    if "\x00" in text:
        return Problem("", "found a NUL byte, so this is not a text file", "text")
    return text.split(separator)


def write_columns(rows: Iterable[Sequence[str]], path: Path) -> None:
    """Write rows of columns separated by spaces. Cells must not be empty or contain whitespace."""
    with replace_file(path) as handle:
        for row in rows:
            for cell in row:
                if cell.split() != [cell] or find_bad_value(cell) or cell.startswith("\ufeff"):
                    problem = f"{cell!r} is empty or contains whitespace, or is not valid text"
                    raise InputError(f"{path} cannot be written: {problem}")
            handle.write(" ".join(row).encode("utf-8") + b"\n")


_QUERY_ID_KEYS = ("id", "_id", "query_id", "qid", "topic_id")
_QUERY_TEXT_KEYS = ("text", "query", "claim", "question", "title")
_GRADE = re.compile("-?[0-9]{1,9}")


def read_qrels(path: AnyPath) -> tuple[dict[str, dict[str, int]], list[Rejection]]:
    """Read relevance grades of documents, keyed by query, and return them with the rejected lines.

    The file has trec_eval's columns `qid 0 docid grade`, or BEIR's columns `qid docid grade` with
    an optional header, and may be compressed with gzip. Lines that grade a document again for the
    same query are rejected.

    Raises:
        InputError: The file cannot be opened, or contains no judgments.
    """
    path = Path(path)
    grades: dict[str, dict[str, int]] = {}

    def add(number: int, columns: list[str]) -> Problem | None:
        if len(columns) not in (3, 4):
            expected = "`qid 0 docid grade` or `qid docid grade`"
            return Problem("", f"found {len(columns)} columns", expected)
        query, document, grade = columns[0], columns[-2], columns[-1]
        if not _GRADE.fullmatch(grade):
            if number == 1 and len(columns) == 3 and grade.isalpha():
                return None  # header
            return Problem("grade", f"found {describe_value(grade)}", "a whole number")
        if (first := grades.get(query, {}).get(document)) is not None:
            text = f"{quote_text(document)} already has the grade {first} for {quote_text(query)}"
            return Problem("docid", text, "one grade for each document")
        grades.setdefault(query, {})[document] = int(grade)
        return None

    rejections = read_columns(path, add)
    if not grades:
        raise build_empty_file_error(path, "judgments", rejections)
    return grades, rejections


def write_qrels(qrels: Mapping[str, Mapping[str, int]], path: AnyPath) -> None:
    """Write relevance grades in trec_eval's format, compressed if the name ends in `.gz`.

    Queries without documents are not written.

    Raises:
        InputError: An id is empty or contains whitespace, or the file cannot be written.
    """
    rows = ((query, "0", name, str(n)) for query in qrels for name, n in qrels[query].items())
    write_columns(rows, Path(path))


def read_queries(path: Path) -> tuple[dict[str, str], list[Rejection]]:
    """Read query texts, keyed by query id, and return them with the rejected lines.

    The file contains lines `qid TAB text`, or JSON lines with an id (`id`, `_id`, `query_id`, `qid`
    or `topic_id`) and a text (`text`, `query`, `claim`, `question` or `title`), and may be
    compressed with gzip.
    """
    queries: dict[str, str] = {}

    def add(number: int, columns: list[str]) -> Problem | None:
        if len(columns) != 2:
            return Problem("", f"found {len(columns)} columns", "`qid TAB text`")
        if columns[0] in queries:
            return _describe_repeat(columns[0])
        queries[columns[0]] = columns[1]
        return None

    if ".json" in path.name:
        pairs, rejections = read_once(
            iter_items(path),
            read=_read_json_query,
            key_of=lambda query: query[0],
            repeated=lambda query, _: _describe_repeat(query[0]),
        )
        queries.update(pairs)
    else:
        rejections = read_columns(path, add, "\t")
    if not queries:
        raise build_empty_file_error(path, "queries", rejections)
    return queries, rejections


def _read_json_query(item: Item) -> tuple[str, str]:
    name = next((item.fields[key] for key in _QUERY_ID_KEYS if key in item.fields), None)
    text = next((item.fields[key] for key in _QUERY_TEXT_KEYS if key in item.fields), None)
    if not isinstance(name, str | int) or not isinstance(text, str):
        expected = f"an id ({', '.join(_QUERY_ID_KEYS)}) and a text ({', '.join(_QUERY_TEXT_KEYS)})"
        raise ProblemError("", f"found {describe_value(item.fields)}", expected)
    return str(name), text


def _describe_repeat(name: str) -> Problem:
    return Problem("", f"the query {quote_text(name)} already appeared", "unique ids")


_RANK = re.compile("[0-9]{1,9}")
_RUN_COLUMNS = ("qid", "Q0", "docid", "rank", "score", "tag")


@dataclass(frozen=True)
class RankedDocument:
    """A document in a ranking.

    Attributes:
        rank: Rank of the document as written in the file, which trec_eval ignores.
        score: Finite score. Higher is better.
    """

    id: str
    rank: int
    score: float


@dataclass(frozen=True)
class RetrievalRun:
    """Rankings of documents by a system, keyed by query id, with the tag of the system."""

    tag: str
    rankings: Mapping[str, tuple[RankedDocument, ...]]


def read_run(path: AnyPath) -> tuple[RetrievalRun, list[Rejection]]:
    """Read rankings in TREC run format, and return them with the rejected lines.

    The file may be compressed with gzip. A line is rejected if its tag differs from that of the
    first line, or if it ranks a document again.

    Raises:
        InputError: The file cannot be opened, or contains no rankings.
    """
    path = Path(path)
    tag = ""
    rankings: dict[str, dict[str, RankedDocument]] = {}

    def add(_number: int, columns: list[str]) -> Problem | None:
        nonlocal tag
        if len(columns) != len(_RUN_COLUMNS):
            return Problem("", f"found {len(columns)} columns", f"`{' '.join(_RUN_COLUMNS)}`")
        query, _, name, rank, score, own_tag = columns
        if not _RANK.fullmatch(rank):
            return Problem("rank", f"found {describe_value(rank)}", "a whole number")
        if (number := _parse_score(score)) is None:
            return Problem("score", f"found {describe_value(score)}", "a finite number")
        if name in rankings.get(query, {}):
            text = f"{quote_text(query)} already ranks {quote_text(name)}"
            return Problem("docid", text, "one rank for each document")
        if tag and own_tag != tag:
            text = f"found {describe_value(own_tag)}"
            return Problem("tag", text, f"{quote_text(tag)}, as in the first line")
        rankings.setdefault(query, {})[name] = RankedDocument(name, int(rank), number)
        tag = own_tag
        return None

    rejections = read_columns(path, add)
    if not rankings:
        raise build_empty_file_error(path, "rankings", rejections)
    ranked = {query: tuple(ranking.values()) for query, ranking in rankings.items()}
    return RetrievalRun(tag, ranked), rejections


def _parse_score(text: str) -> float | None:
    try:
        score = float(text)
    except ValueError:
        return None
    return score if math.isfinite(score) else None


def write_run(run: RetrievalRun, path: AnyPath) -> None:
    """Write rankings in TREC run format. Queries without documents are not written.

    Raises:
        InputError: An id or the tag is empty or contains whitespace, a query ranks a document
            twice, a rank is negative, a score is not finite, or the file cannot be written.
    """
    path = Path(path)
    rows: list[tuple[str, ...]] = []
    for query, ranking in run.rankings.items():
        seen: set[str] = set()
        for document in ranking:
            if document.id in seen or document.rank < 0 or not math.isfinite(document.score):
                problem = f"{query} ranks {document.id} twice, or with an invalid rank or score"
                values = f"rank {document.rank}, score {document.score}"
                raise InputError(f"{path} cannot be written: {problem} ({values})")
            seen.add(document.id)
            score = repr(float(document.score))
            rows.append((query, "Q0", document.id, str(document.rank), score, run.tag))
    write_columns(rows, path)
