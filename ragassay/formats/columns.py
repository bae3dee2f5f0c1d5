"""Read and write files whose lines are columns: qrels, rankings, leaderboards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.encodings import encoding_note
from ragassay.formats.items import Place, shown
from ragassay.formats.json_values import find_bad_value
from ragassay.formats.junk import JunkCount
from ragassay.formats.lines import RawLine, iter_lines
from ragassay.formats.output import whole_file
from ragassay.formats.problems import Problem
from ragassay.records import Rejection


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
            text = shown(line.data.decode("utf-8", "backslashreplace"))
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
