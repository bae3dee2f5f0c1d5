"""Read and write queries and relevance judgments of retrieval experiments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ragassay.formats.answered import nothing_in
from ragassay.formats.columns import read_columns, write_columns
from ragassay.formats.items import Item, iter_items, read_once
from ragassay.formats.problems import Problem, found, found_text
from ragassay.records import Rejection

_ID_KEYS = ("id", "_id", "query_id", "qid", "topic_id")
_TEXT_KEYS = ("text", "query", "claim", "question", "title")
_GRADE = re.compile("-?[0-9]{1,9}")


def read_qrels(path: Path) -> tuple[dict[str, dict[str, int]], list[Rejection]]:
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
    grades: dict[str, dict[str, int]] = {}

    def add(number: int, columns: list[str]) -> Problem | None:
        if len(columns) not in (3, 4):
            expected = "`qid 0 docid grade` or `qid docid grade`"
            return Problem("", f"found {len(columns)} columns", expected)
        query, document, grade = columns[0], columns[-2], columns[-1]
        if not _GRADE.fullmatch(grade):
            is_header = number == 1 and len(columns) == 3 and grade.isalpha()
            return (
                None if is_header else Problem("grade", f"found {found(grade)}", "a whole number")
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


def write_qrels(qrels: Mapping[str, Mapping[str, int]], path: Path) -> None:
    """Write grades of documents as trec_eval reads them; `read_qrels` returns them.

    Args:
        qrels: Grades of documents, query by query. A query without documents is not written.
        path: Overwritten where it exists; compressed where the name ends in `.gz`.

    Raises:
        InputError: An id is empty or has white space in it, or the file cannot be written.
    """
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
            return _repeated(columns[0])
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
        repeated=lambda query, _: _repeated(query[0]),
    )
    if not queries:
        raise nothing_in(path, "query", rejections)
    return dict(queries), rejections


def _json_query(item: Item) -> tuple[str, str] | Problem:
    name = next((item.fields[key] for key in _ID_KEYS if key in item.fields), None)
    text = next((item.fields[key] for key in _TEXT_KEYS if key in item.fields), None)
    if not isinstance(name, str | int) or not isinstance(text, str):
        expected = f"an id ({', '.join(_ID_KEYS)}) and a text ({', '.join(_TEXT_KEYS)})"
        return Problem("", f"found {found(item.fields)}", expected)
    return str(name), text


def _repeated(name: str) -> Problem:
    return Problem("", f"the query {found_text(name)} appeared before", "unique ids")
