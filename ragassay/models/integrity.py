"""Whether the files of a model are what they should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragassay.models.shelf import ShelfFile, ShelfItem

State = Literal["ok", "damaged", "missing", "unproven"]
"""Of a file; "unproven" where it can be read and nobody noted what its digest should be."""


@dataclass(frozen=True)
class FileCheck:
    """What a file turned out to be.

    Attributes:
        name: The file's name.
        state: Whether it is what it should be.
        found: Its SHA-256; empty for a missing file.
        expected: What it should have been.
    """

    name: str
    state: State
    found: str = ""
    expected: str = ""


def check(item: ShelfItem) -> tuple[FileCheck, ...]:
    """Compute the digest of each file of a model anew."""
    return tuple(_check(file, item) for file in item.files)


def is_sound(found: tuple[FileCheck, ...]) -> bool:
    """Whether no file is missing or damaged."""
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
