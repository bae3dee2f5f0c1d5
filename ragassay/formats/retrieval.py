"""Read and write what retrieval is measured with: corpora, queries, judgments, rankings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field

from ragassay.errors import InputError
from ragassay.files import AnyPath
from ragassay.formats.files import RawLine, encoding_note, iter_lines
from ragassay.formats.items import (
    Item,
    JunkCount,
    Place,
    iter_items,
    read_item,
    read_once,
    shorten_text,
)
from ragassay.formats.output import whole_file
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    describe_value,
    found_text,
    nothing_in,
    parse,
)
from ragassay.formats.rows import IdText, Row
from ragassay.formats.sniff import Format, sniff
from ragassay.formats.values import find_bad_value
from ragassay.records import Article, Document, Rejection

_DOCUMENT_ID_KEYS = ("pmid", "id", "docid", "doc_id", "_id")
_DOCUMENT_TEXT_KEYS = ("abstract", "text", "contents")
_ARTICLE_KEYS = ("journal", "published", "doi", "publication_types", "mesh")


def _join_sentences(value: object) -> object:
    """Return a text that is given as its sentences, as SciFact's abstracts are."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return " ".join(map(str.strip, value))
    return value


class DocumentRow(Row):
    """A line of a corpus; its id is the PMID where there is one."""

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
    """The documents of a corpus file in its order, each id once, and its rejected lines."""

    documents: tuple[Document, ...]
    rejections: tuple[Rejection, ...]


def read_corpus(path: AnyPath) -> CorpusResult:
    """Read a corpus from JSON lines or a JSON array, plain or gzip.

    Args:
        path: Objects with `pmid`, `id` or `docid`, with `abstract`, `text` or `contents`,
            optionally `title` and the fields of an `Article`; a text may be a list of sentences.
            Further fields are dropped.

    Returns:
        The documents; a line that cannot be read, or repeats an id, is a rejection.

    Raises:
        InputError: the file is missing, empty, or has no documents.
    """
    path = Path(path)
    outcomes = list(iter_corpus(path))
    documents = tuple(one for one in outcomes if not isinstance(one, Rejection))
    return CorpusResult(documents, tuple(one for one in outcomes if isinstance(one, Rejection)))


def iter_corpus(path: Path) -> Iterator[Document | Rejection]:
    """Read the same, one document at a time. Only the ids are kept in memory.

    Raises:
        InputError: the file is missing, empty, or has no documents.
    """
    _, items = sniff(iter_items(path), (CORPUS,), str(path))
    lines: dict[str, int] = {}
    for item in items:
        if isinstance(item, Rejection):
            yield item
            continue
        found = read_item(partial(_document, lines=lines), item)
        yield item.place.reject(found) if isinstance(found, Problem) else found


def _document(item: Item, lines: dict[str, int]) -> Document:
    row = parse(DocumentRow, item.fields)
    if row.id in lines:
        field = next(key for key in _DOCUMENT_ID_KEYS if item.fields.get(key) is not None)
        text = f"the id {found_text(row.id)} is already on line {lines[row.id]}"
        raise ProblemError(field, text, "each document once")
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
    """Hand over the columns of each line; a line that cannot be read does not stop the others.

    Args:
        path: Plain or gzip.
        add: Takes a line's number and columns; returns what is wrong with them, if anything.
        separator: Stands between columns; by default white space.

    Returns:
        The lines that could not be read.

    Raises:
        InputError: The file cannot be opened.
    """
    rejections: list[Rejection] = []
    junk = JunkCount(path)
    for line in iter_lines(path):
        columns = _columns(line, separator)
        problem = columns if isinstance(columns, Problem) else add(line.number, columns)
        if problem is not None:
            text = shorten_text(line.data.decode("utf-8", "backslashreplace"))
            place = Place(str(path), line.number, f"line-{line.number}", text)
            rejections.append(place.reject(problem))
        if end := junk.end(line.number, problem is not None):
            return [*rejections, end]
    return rejections


def _columns(line: RawLine, separator: str | None) -> list[str] | Problem:
    if line.problem:
        return Problem("", line.problem, line.expected)
    try:
        text = line.data.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        return Problem("", f"not UTF-8 ({error.reason}){encoding_note(line.data)}", "text in UTF-8")
    if "\x00" in text:
        return Problem("", "a NUL byte: not a text file", "text")
    return text.split(separator)


def write_columns(rows: Iterable[Sequence[str]], path: Path) -> None:
    """Write rows of a file whose columns are separated by white space.

    Raises:
        InputError: A cell is empty or has white space in it, or the file cannot be written.
    """
    with whole_file(path) as handle:
        for row in rows:
            for cell in row:
                if len(cell.split()) != 1 or cell.split()[0] != cell or not _is_plain(cell):
                    raise InputError(
                        f"{path} cannot be written: {cell!r} cannot be in a column: ids there "
                        "have no white space"
                    )
            handle.write(" ".join(row).encode("utf-8") + b"\n")


def _is_plain(cell: str) -> bool:
    return find_bad_value(cell) is None and not cell.startswith("\ufeff")


_QUERY_ID_KEYS = ("id", "_id", "query_id", "qid", "topic_id")
_QUERY_TEXT_KEYS = ("text", "query", "claim", "question", "title")
_GRADE = re.compile("-?[0-9]{1,9}")


def read_qrels(path: AnyPath) -> tuple[dict[str, dict[str, int]], list[Rejection]]:
    """Read grades of documents, query by query.

    Args:
        path: trec_eval's `qid 0 docid grade`, or three columns `qid docid grade` with or without
            a header line (BEIR); plain or gzip.

    Returns:
        The grades, and the lines that could not be read. Of several grades of a document, the
        first counts; the others are such lines.

    Raises:
        InputError: The file cannot be opened, or has no judgment.
    """
    path = Path(path)
    grades: dict[str, dict[str, int]] = {}

    def add(number: int, columns: list[str]) -> Problem | None:
        if len(columns) not in (3, 4):
            expected = "`qid 0 docid grade` or `qid docid grade`"
            return Problem("", f"found {len(columns)} columns", expected)
        query, document, grade = columns[0], columns[-2], columns[-1]
        if not _GRADE.fullmatch(grade):
            is_header = number == 1 and len(columns) == 3 and grade.isalpha()
            return (
                None
                if is_header
                else Problem("grade", f"found {describe_value(grade)}", "a whole number")
            )
        first = grades.get(query, {}).get(document)
        if first is not None:
            text = f"{found_text(query)} has a grade of {found_text(document)} above, {first}"
            return Problem("docid", f"{text}, which counts", "one grade for each document")
        grades.setdefault(query, {})[document] = int(grade)
        return None

    rejections = read_columns(path, add)
    if not grades:
        raise nothing_in(path, "judgment", rejections)
    return grades, rejections


def write_qrels(qrels: Mapping[str, Mapping[str, int]], path: AnyPath) -> None:
    """Write grades of documents as trec_eval reads them; `read_qrels` returns them.

    Args:
        qrels: Grades of documents, query by query. A query without documents is not written.
        path: Overwritten where it exists; compressed where the name ends in `.gz`.

    Raises:
        InputError: An id is empty or has white space in it, or the file cannot be written.
    """
    path = Path(path)
    write_columns(
        ((query, "0", name, str(grade)) for query in qrels for name, grade in qrels[query].items()),
        path,
    )


def read_queries(path: Path) -> tuple[dict[str, str], list[Rejection]]:
    """Read the text of each query.

    Args:
        path: JSON lines with an id (`id`, `_id`, `query_id`, `qid`) and a text (`text`, `query`,
            `claim`, `question`), or two columns `qid TAB text`; plain or gzip.

    Returns:
        The texts by id, and the lines that could not be read.

    Raises:
        InputError: The file cannot be opened, or has no query.
    """
    if ".json" in path.name:
        return _json_queries(path)
    queries: dict[str, str] = {}

    def add(number: int, columns: list[str]) -> Problem | None:
        if len(columns) != 2:
            return Problem("", f"found {len(columns)} columns", "`qid TAB text`")
        if columns[0] in queries:
            return _repeated_query_problem(columns[0])
        queries[columns[0]] = columns[1]
        return None

    rejections = read_columns(path, add, "\t")
    if not queries:
        raise nothing_in(path, "query", rejections)
    return queries, rejections


def _json_queries(path: Path) -> tuple[dict[str, str], list[Rejection]]:
    queries, rejections = read_once(
        iter_items(path),
        read=_json_query,
        key_of=lambda query: query[0],
        repeated=lambda query, _: _repeated_query_problem(query[0]),
    )
    if not queries:
        raise nothing_in(path, "query", rejections)
    return dict(queries), rejections


def _json_query(item: Item) -> tuple[str, str]:
    name = next((item.fields[key] for key in _QUERY_ID_KEYS if key in item.fields), None)
    text = next((item.fields[key] for key in _QUERY_TEXT_KEYS if key in item.fields), None)
    if not isinstance(name, str | int) or not isinstance(text, str):
        expected = f"an id ({', '.join(_QUERY_ID_KEYS)}) and a text ({', '.join(_QUERY_TEXT_KEYS)})"
        raise ProblemError("", f"found {describe_value(item.fields)}", expected)
    return str(name), text


def _repeated_query_problem(name: str) -> Problem:
    return Problem("", f"the query {found_text(name)} already appeared", "unique ids")


_RANK = re.compile("[0-9]{1,9}")
_RUN_COLUMNS = ("qid", "Q0", "docid", "rank", "score", "tag")


@dataclass(frozen=True)
class RankedDocument:
    """A document in a ranking.

    Attributes:
        rank: As the file gives it; trec_eval itself uses the score.
        score: Higher is better; finite.
    """

    id: str
    rank: int
    score: float


@dataclass(frozen=True)
class RetrievalRun:
    """The rankings of a system.

    Attributes:
        tag: The system's name.
        rankings: Its documents query by query, in the file's order.
    """

    tag: str
    rankings: Mapping[str, tuple[RankedDocument, ...]]


def read_run(path: AnyPath) -> tuple[RetrievalRun, list[Rejection]]:
    """Read a ranking, plain or gzip.

    Returns:
        The ranking, and the lines that could not be read; such are those of another tag than the
        first one, and a document that its query has above.

    Raises:
        InputError: The file cannot be opened, or has no ranking.
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
        number = _score(score)
        if number is None:
            return Problem("score", f"found {describe_value(score)}", "a finite number")
        if name in rankings.get(query, {}):
            text = f"{found_text(query)} ranks {found_text(name)} above, which counts"
            return Problem("docid", text, "each document once")
        if tag and own_tag != tag:
            return Problem(
                "tag", f"found {describe_value(own_tag)}", f"{found_text(tag)}, as above"
            )
        rankings.setdefault(query, {})[name] = RankedDocument(name, int(rank), number)
        tag = own_tag
        return None

    rejections = read_columns(path, add)
    if not rankings:
        raise nothing_in(path, "ranking", rejections)
    ranked = {query: tuple(ranking.values()) for query, ranking in rankings.items()}
    return RetrievalRun(tag, ranked), rejections


def _score(text: str) -> float | None:
    try:
        score = float(text)
    except ValueError:
        return None
    return score if math.isfinite(score) else None


def write_run(run: RetrievalRun, path: AnyPath) -> None:
    """Write a ranking; `read_run` returns it. A query without documents is not written.

    Raises:
        InputError: An id or the tag is empty or has white space in it, a query ranks a document
            twice, a rank is below 0, a score is not finite, or the file cannot be written.
    """
    path = Path(path)
    rows: list[tuple[str, ...]] = []
    for query, ranking in run.rankings.items():
        seen: set[str] = set()
        for document in ranking:
            if document.id in seen or document.rank < 0 or not math.isfinite(document.score):
                raise InputError(
                    f"{path} cannot be written: {query} {document.id} is there twice, or its "
                    f"rank {document.rank} or score {document.score} is not an ordinary number"
                )
            seen.add(document.id)
            score = repr(float(document.score))
            rows.append((query, "Q0", document.id, str(document.rank), score, run.tag))
    write_columns(rows, path)
