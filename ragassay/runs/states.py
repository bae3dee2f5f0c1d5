"""A file that several starts of a command write, and the states of unfinished work beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from ragassay.errors import InputError
from ragassay.graphs.persistence import Saver, opened_checkpointer
from ragassay.storage import locked, storing


def states_of(file: Path) -> Path:
    """Return where the states of a file are kept."""
    return file.with_name(f"{file.name}.state.sqlite")


@contextmanager
def written_alone(file: Path) -> Iterator[Path]:
    """Yield the file of states, while no other process writes the file; make its folder.

    Raises:
        InputError: Another process is writing it.
        StorageError: Nothing can be written there.
    """
    with storing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
    refusal = InputError(f"another process is writing {file}: wait for its end")
    with locked(file.with_name(f".{file.name}.lock"), refusal):
        yield states_of(file)


@asynccontextmanager
async def opened_states(file: Path) -> AsyncIterator[Saver]:
    """Open the states of unfinished work on a file that no other process writes meanwhile.

    Raises:
        InputError: Another process is writing the file.
        RunMismatchError: Another version of ragassay left states that this one cannot read.
        StorageError: The states are damaged, or nothing can be written there.
    """
    with written_alone(file) as states:
        async with opened_checkpointer(states) as saver:
            yield saver
