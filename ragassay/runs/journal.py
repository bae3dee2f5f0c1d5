"""The journal of people's reviews, and lists of nuggets as text to edit."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from filelock import FileLock

from ragassay.errors import InputError, RagassayError
from ragassay.formats.reviews import read_reviews
from ragassay.records import Review, final_reviews

__all__ = ["Journal", "final_reviews", "journal_of"]


def journal_of(path: Path) -> Journal:
    """Return the journal of a run folder, a test bank or a file of grades."""
    if path.is_dir():
        return Journal(path / "reviews.jsonl")
    return Journal(path.with_name(f"{path.name}.reviews.jsonl"))


class Journal:
    """A file of reviews.

    Args:
        path: Created with the first review.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path.with_name(f".{path.name}.lock"))

    def add(self, *reviews: Review) -> tuple[Review, ...]:
        """Add reviews; return those that were not there yet, now on disk.

        Raises:
            InputError: The file is damaged.
        """
        with self._lock:
            known = {review.id for review in self.read()}
            new = tuple(review for review in reviews if review.id not in known)
            lines = b"".join(review.model_dump_json().encode() + b"\n" for review in new)
            with self.path.open("ab+") as file:
                if file.tell() and not _ends_whole(file):
                    lines = b"\n" + lines
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        return new

    def read(self) -> tuple[Review, ...]:
        """Return all reviews, the oldest first.

        Raises:
            InputError: A whole line is no review.
        """
        return read_reviews(self.path)


def _ends_whole(file: BinaryIO) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


HELP = """\
# {topic}: {question}
#
# One nugget a line: vital, okay or - (unknown), a tab or spaces, then the fact.
# Change, remove, add or move lines. Lines that start with # are left out.
"""

REASONS = {
    "not_carried": "no sentence of the sources states this",
    "duplicate": "states what another one does",
    "too_many": "the list is full",
}

MARKS = {"vital": "vital", "okay": "okay", "-": None}


T = TypeVar("T")

PROBLEM = "# PROBLEM: "


def until_read(
    text: str, read: Callable[[str], T], edit: Callable[[str], str], tell: Callable[[str], None]
) -> T:
    """Return what a person made of a text; the editor opens again where it cannot be read.

    Args:
        text: What is shown first.
        read: Raises one of our errors where the edited text cannot be used.
        edit: Shows a text to a person and returns the edited text.
        tell: Receives why it cannot be used.
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
    """A list that waits for a person.

    Attributes:
        topic: The question's id.
        nuggets: Importance and text of each nugget.
        left_out: Reason and text of each fact that is not on the list.
    """

    topic: str
    question: str
    nuggets: tuple[tuple[str | None, str], ...]
    left_out: tuple[tuple[str, str], ...] = ()


def as_text(asked: EditRequest) -> str:
    """Return the list as text to edit; omitted facts follow, each after a #."""
    lines = [f"{importance or '-'}\t{_line(text)}" for importance, text in asked.nuggets]
    out = [
        f"# okay\t{_line(text)}    # {REASONS.get(reason, reason)}"
        for reason, text in asked.left_out
        if reason != "duplicate"
    ]
    if out:
        lines += ["", "# Left out; remove the # to keep one:", *out]
    opening = HELP.format(topic=_line(asked.topic), question=_line(asked.question))
    return f"{opening}\n" + "\n".join(lines) + "\n"


def from_text(text: str) -> list[dict[str, str | None]]:
    """Parse the edited text: {text, importance} for each line.

    Raises:
        InputError: Names the line and what is wrong with it.
    """
    found: list[dict[str, str | None]] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        mark, _, fact = line.strip().partition("\t")
        if not fact:
            mark, _, fact = line.strip().partition(" ")
        fact = _without_reason(fact)
        if mark not in MARKS:
            raise InputError(f"line {number} starts with {mark!r}: write vital, okay or -")
        if not fact:
            raise InputError(f"line {number} has no fact after {mark!r}")
        first = seen.setdefault(fact.casefold(), number)
        if first != number:
            raise InputError(f"line {number} repeats line {first}")
        found.append({"text": fact, "importance": MARKS[mark]})
    return found


def _without_reason(fact: str) -> str:
    """Return a fact restored from the omitted ones, without the reason after it."""
    for reason in REASONS.values():
        fact = fact.removesuffix(f"# {reason}")
    return " ".join(fact.split())


def _line(text: str) -> str:
    return " ".join(text.split())
