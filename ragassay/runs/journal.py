"""Read and write journals of human reviews, and convert nugget lists to editable text and back."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from filelock import FileLock

from ragassay.errors import InputError, RagassayError
from ragassay.formats.reviews import read_reviews
from ragassay.records import Review


def open_journal(path: Path) -> Journal:
    """Return the journal of a run folder, test bank or graded file."""
    if path.is_dir():
        return Journal(path / "reviews.jsonl")
    return Journal(path.with_name(f"{path.name}.reviews.jsonl"))


class Journal:
    """A file of reviews.

    Args:
        path: Path of the journal file, which is created with the first review.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path.with_name(f".{path.name}.lock"))

    def add(self, *reviews: Review) -> tuple[Review, ...]:
        """Write new reviews to disk and return them.

        Reviews whose id is already in the journal are skipped.

        Raises:
            InputError: The file is damaged.
        """
        with self._lock:
            known = {review.id for review in self.read()}
            new = tuple(review for review in reviews if review.id not in known)
            lines = b"".join(review.model_dump_json().encode() + b"\n" for review in new)
            with self.path.open("ab+") as file:
                if file.tell() and not _ends_with_newline(file):
                    lines = b"\n" + lines
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        return new

    def read(self) -> tuple[Review, ...]:
        """Return all reviews, oldest first.

        Raises:
            InputError: A complete line is not a valid review.
        """
        return read_reviews(self.path)


def _ends_with_newline(file: BinaryIO) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


HELP = """\
# {topic}: {question}
#
# One nugget per line: vital, okay or - (unknown), a tab or spaces, then the fact.
# Change, remove, add or move lines. Lines that start with # are ignored.
"""

REASONS = {
    "not_carried": "no source sentence states this",
    "duplicate": "duplicate of another nugget",
    "too_many": "the list is full",
}

MARKS = {"vital": "vital", "okay": "okay", "-": None}


T = TypeVar("T")

PROBLEM = "# PROBLEM: "


def read_with_repairs(
    text: str, read: Callable[[str], T], edit: Callable[[str], str], tell: Callable[[str], None]
) -> T:
    """Let a user edit a text until it can be parsed, and return the parsed result.

    Args:
        read: Function that parses the edited text, or raises a `RagassayError`.
        edit: Function that lets a user edit a text and returns the edited text.
        tell: Function to call with the reason why the text is invalid.
    """
    while True:
        text = edit(text)
        try:
            return read(text)
        except RagassayError as error:
            tell(str(error))
            kept = [line for line in text.splitlines() if not line.startswith(PROBLEM)]
            text = "\n".join([f"{PROBLEM}{error}", *kept]) + "\n"


@dataclass(frozen=True)
class EditRequest:
    """A nugget list to edit.

    Attributes:
        nuggets: Importance and text of each nugget.
        left_out: Reason and text of each fact that was left out.
    """

    topic: str
    question: str
    nuggets: tuple[tuple[str | None, str], ...]
    left_out: tuple[tuple[str, str], ...] = ()


def as_text(asked: EditRequest) -> str:
    """Return the list as editable text. Facts that were left out follow as comments."""
    lines = [f"{importance or '-'}\t{_collapse_spaces(text)}" for importance, text in asked.nuggets]
    left_out = [
        f"# okay\t{_collapse_spaces(text)}    # {REASONS.get(reason, reason)}"
        for reason, text in asked.left_out
        if reason != "duplicate"
    ]
    if left_out:
        lines += ["", "# Facts left out (remove the # to include one):", *left_out]
    header = HELP.format(
        topic=_collapse_spaces(asked.topic), question=_collapse_spaces(asked.question)
    )
    return f"{header}\n" + "\n".join(lines) + "\n"


def from_text(text: str) -> list[dict[str, str | None]]:
    """Parse the edited text, and return a dictionary with text and importance for each nugget.

    Raises:
        InputError: A line is invalid.
    """
    rows: list[dict[str, str | None]] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        mark, _, fact = line.strip().partition("\t")
        if not fact:
            mark, _, fact = line.strip().partition(" ")
        fact = _remove_reason(fact)
        if mark not in MARKS:
            raise InputError(
                f"line {number} starts with {mark!r}; it must start with vital, okay or -"
            )
        if not fact:
            raise InputError(f"line {number} has no fact after {mark!r}")
        first = seen.setdefault(fact.casefold(), number)
        if first != number:
            raise InputError(f"line {number} is a duplicate of line {first}")
        rows.append({"text": fact, "importance": MARKS[mark]})
    return rows


def _remove_reason(fact: str) -> str:
    for reason in REASONS.values():
        fact = fact.removesuffix(f"# {reason}")
    return " ".join(fact.split())


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())
