"""The journal of what people said: lines are added, under a lock, and never changed.

A line that is acknowledged is on disk. A line cut off by a kill was never acknowledged; it is left
out when the file is read, and closed off when the next one is added.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock

from ragassay.formats.reviews import read_reviews
from ragassay.records import Review, standing

__all__ = ["Journal", "journal_of", "standing"]


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
