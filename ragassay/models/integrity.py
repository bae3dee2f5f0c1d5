"""Check a model's files against their expected digests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragassay.models.shelf import ShelfFile, ShelfItem

State = Literal["ok", "damaged", "missing", "unproven"]
"""State of a file; "unproven" where it can be read and its digest is unknown."""


@dataclass(frozen=True)
class FileCheck:
    """The result of checking a file.

    Attributes:
        name: The file's name.
        state: Whether it matches.
        found: Its SHA-256; empty for a missing file.
        expected: The expected SHA-256.
    """

    name: str
    state: State
    found: str = ""
    expected: str = ""


def check(item: ShelfItem) -> tuple[FileCheck, ...]:
    """Compute the digest of each file of a model."""
    return tuple(_check(file, item) for file in item.files)


def is_sound(found: tuple[FileCheck, ...]) -> bool:
    """Return whether no file is missing or damaged."""
    return all(file.state in ("ok", "unproven") for file in found)


def _check(file: ShelfFile, item: ShelfItem) -> FileCheck:
    if file.path is None or not file.path.is_file():
        name = file.path.name if file.path is not None else item.source
        return FileCheck(name, "missing", expected=file.expected)
    try:
        found = file.digest(file.path)
    except (OSError, ValueError):
        return FileCheck(file.path.name, "damaged", expected=file.expected)
    if not file.expected:
        return FileCheck(file.path.name, "unproven", found)
    state = "ok" if found == file.expected else "damaged"
    return FileCheck(file.path.name, state, found, file.expected)
