"""A file that several starts of a command write, and the store of finished work beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragassay.errors import InputError
from ragassay.storage import locked, storing


def states_of(file: Path) -> Path:
    """Return where the finished work on a file is kept."""
    return file.with_name(f"{file.name}.state.sqlite")


@contextmanager
def written_alone(file: Path) -> Iterator[Path]:
    """Yield the file of finished work, while no other process writes the file; make its folder.

    Raises:
        InputError: Another process is writing it.
        StorageError: Nothing can be written there.
    """
    with storing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
    refusal = InputError(f"another process is writing {file}: wait for its end")
    with locked(file.with_name(f".{file.name}.lock"), refusal):
        yield states_of(file)
