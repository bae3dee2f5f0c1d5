"""Reject answers of which nothing can be evaluated, and inputs of nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from string import punctuation, whitespace

from ragassay.errors import InputError, NoRecordError
from ragassay.formats.problems import Problem
from ragassay.records import Record, Rejection

_SHOWN = 10
_MARKER = re.compile(r"\[[^\[\]]*\]")


def empty_answer(record: Record, else_read: str = "") -> Problem | None:
    """Return a problem where an answer is blank, or nothing but markers and marks.

    Args:
        record: The record.
        else_read: How its file is read otherwise, to be told with it.
    """
    given = record.answer
    text = given if isinstance(given, str) else " ".join(sentence.text for sentence in given)
    if _MARKER.sub("", text).strip(punctuation + whitespace):
        return None
    expected = f"text; {else_read}" if else_read else "text"
    return Problem("answer", "found an empty answer", expected)


def require_records(records: Sequence[Record], rejections: Sequence[Rejection], name: str) -> None:
    """Refuse an input without a record.

    Args:
        records: What was read.
        rejections: What was not.
        name: The input.

    Raises:
        NoRecordError: There is no record; the first ten rejections are named in its message.
    """
    if records:
        return
    lines = [rejection_line(rejection) for rejection in rejections[:_SHOWN]]
    if len(rejections) > _SHOWN:
        lines.append(f"... and {len(rejections) - _SHOWN} more rejected lines")
    raise NoRecordError(
        "\n  ".join([f"{name}: no record in it can be used", *lines]), tuple(rejections)
    )


def nothing_in(path: Path, what: str, rejections: Sequence[Rejection]) -> InputError:
    """Return the error that a file has nothing to use, with the first reason."""
    first = f": {rejection_line(rejections[0])}" if rejections else ""
    return InputError(f"{path} has no {what}{first}")


def rejection_line(rejection: Rejection) -> str:
    """Return a rejection as one line for a person, safe for a terminal."""
    field = f" {rejection.field}:" if rejection.field else ""
    expected = f", expected {rejection.expected}" if rejection.expected else ""
    line = f"{rejection.file}:{rejection.line}:{field} {rejection.problem}{expected}"
    return "".join(mark if mark.isprintable() else "\ufffd" for mark in line)
