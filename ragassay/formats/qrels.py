"""Queries and relevance judgments of retrieval experiments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.items import iter_items
from ragassay.formats.lines import iter_lines
from ragassay.records import Rejection

_ID_KEYS = ("id", "_id", "query_id", "qid", "topic_id")
_TEXT_KEYS = ("text", "query", "claim", "question", "title")


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Grades of documents, query by query.

    Args:
        path: trec_eval's `qid 0 docid grade`, or three columns `qid docid grade` with or without
            a header line (BEIR); plain or gzip.

    Raises:
        InputError: The file is missing, empty or malformed; the message names the line.
    """
    found: dict[str, dict[str, int]] = {}
    for number, columns in _rows(path):
        if len(columns) not in (3, 4):
            raise InputError(
                f"{path}:{number}: found {len(columns)} columns, expected "
                "`qid 0 docid grade` or `qid docid grade`"
            )
        query, document, grade = columns[0], columns[-2], columns[-1]
        if not grade.lstrip("-").isdigit():
            if number == 1:
                continue
            raise InputError(f"{path}:{number}: the grade {grade!r} is no whole number")
        found.setdefault(query, {})[document] = int(grade)
    if not found:
        raise InputError(f"{path} holds no judgment")
    return found


def read_queries(path: Path) -> dict[str, str]:
    """The text of each query.

    Args:
        path: JSON lines with an id (`id`, `_id`, `query_id`, `qid`) and a text (`text`, `query`,
            `claim`, `question`), or two columns `qid TAB text`; plain or gzip.

    Raises:
        InputError: The file is missing, empty or malformed; the message names the line.
    """
    if ".json" in path.name:
        return dict(_json_queries(path))
    found: dict[str, str] = {}
    for number, columns in _rows(path, "\t"):
        if len(columns) != 2:
            raise InputError(f"{path}:{number}: expected `qid TAB text`")
        found[columns[0]] = columns[1]
    if not found:
        raise InputError(f"{path} holds no query")
    return found


def _json_queries(path: Path) -> Iterator[tuple[str, str]]:
    for item in iter_items(path):
        if isinstance(item, Rejection):
            raise InputError(f"{path}:{item.line}: {item.problem}")
        name = next((item.fields[key] for key in _ID_KEYS if key in item.fields), None)
        text = next((item.fields[key] for key in _TEXT_KEYS if key in item.fields), None)
        if not isinstance(name, str | int) or not isinstance(text, str):
            raise InputError(
                f"{path}:{item.place.line}: expected an id ({', '.join(_ID_KEYS)}) and a text "
                f"({', '.join(_TEXT_KEYS)})"
            )
        yield str(name), text


def _rows(path: Path, separator: str | None = None) -> Iterator[tuple[int, list[str]]]:
    for line in iter_lines(path):
        if line.problem:
            raise InputError(f"{path}:{line.number}: {line.problem}")
        yield line.number, line.data.decode("utf-8", "replace").strip().split(separator)
