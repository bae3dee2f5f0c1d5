"""Read and write queries and relevance judgments of retrieval experiments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.items import iter_items
from ragassay.formats.json_values import find_bad_value
from ragassay.formats.lines import iter_lines
from ragassay.formats.output import whole_file
from ragassay.records import Rejection

_ID_KEYS = ("id", "_id", "query_id", "qid", "topic_id")
_TEXT_KEYS = ("text", "query", "claim", "question", "title")


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read grades of documents, query by query.

    Args:
        path: trec_eval's `qid 0 docid grade`, or three columns `qid docid grade` with or without
            a header line (BEIR); plain or gzip.

    Raises:
        InputError: The file is missing, empty or malformed; the message names the line.
    """
    found: dict[str, dict[str, int]] = {}
    for number, columns in iter_columns(path):
        if len(columns) not in (3, 4):
            raise InputError(
                f"{path}:{number}: found {len(columns)} columns, expected "
                "`qid 0 docid grade` or `qid docid grade`"
            )
        query, document, grade = columns[0], columns[-2], columns[-1]
        if not re.fullmatch("-?[0-9]{1,9}", grade):
            if number == 1 and len(columns) == 3:
                continue
            raise InputError(f"{path}:{number}: the grade {grade!r} is not a whole number")
        if found.setdefault(query, {}).setdefault(document, int(grade)) != int(grade):
            raise InputError(f"{path}:{number}: {query} {document} has another grade above")
    if not found:
        raise InputError(f"{path} has no judgment")
    return found


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


def read_queries(path: Path) -> dict[str, str]:
    """Read the text of each query.

    Args:
        path: JSON lines with an id (`id`, `_id`, `query_id`, `qid`) and a text (`text`, `query`,
            `claim`, `question`), or two columns `qid TAB text`; plain or gzip.

    Raises:
        InputError: The file is missing, empty or malformed; the message names the line.
    """
    if ".json" in path.name:
        return dict(_json_queries(path))
    found: dict[str, str] = {}
    for number, columns in iter_columns(path, "\t"):
        if len(columns) != 2:
            raise InputError(f"{path}:{number}: expected `qid TAB text`")
        found[columns[0]] = columns[1]
    if not found:
        raise InputError(f"{path} has no query")
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


def iter_columns(path: Path, separator: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield the columns of each line with its number; by default separated by white space.

    Raises:
        InputError: The file cannot be opened or is damaged; the message names the line.
    """
    for line in iter_lines(path):
        if line.problem:
            raise InputError(f"{path}:{line.number}: {line.problem}")
        try:
            text = line.data.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise InputError(f"{path}:{line.number}: not UTF-8 ({error.reason})") from error
        if "\x00" in text:
            raise InputError(f"{path}:{line.number}: a NUL byte: not a text file")
        yield line.number, text.split(separator)
