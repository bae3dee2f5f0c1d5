"""The states of a graph that waits for a person: LangGraph's checkpoints in a SQLite file."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import ERROR
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from ragassay import errors, records
from ragassay.graphs import nugget_state
from ragassay.storage import opened_first, storing


class _Serializer(JsonPlusSerializer):
    """Reads what it writes: no JSON that names a class to build, no pickle."""

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        if data[0] not in ("msgpack", "null", "bytes"):
            raise errors.RunMismatchError(
                f"a kept state is of kind {data[0][:20]!r}, which ragassay never writes: delete "
                "the run folder, which somebody has changed"
            )
        return super().loads_typed(data)


def serializer() -> JsonPlusSerializer:
    """Return a serializer for our records, states and errors that builds no other type."""
    known = [
        (kind.__module__, kind.__name__)
        for kind in (
            *nugget_state.SERIALIZED_TYPES,
            *(getattr(records, name) for name in records.__all__),
            *(kind for _, kind in inspect.getmembers(errors, inspect.isclass)),
        )
        if isinstance(kind, type)
    ]
    return _Serializer(allowed_msgpack_modules=sorted(set(known)))


class Saver(AsyncSqliteSaver):
    """A checkpointer without errors: a call that had failed when the process died is repeated.

    LangGraph would pass the stored error, without its type, to the error handler of the next start.

    Args:
        connection: To the file.
        path: The file.
    """

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        super().__init__(connection, serde=serializer())
        self._path = path

    async def setup(self) -> None:
        """Make the tables."""
        with storing(self._path):
            await super().setup()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the latest state."""
        with storing(self._path):
            return await super().aget_tuple(config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a state."""
        with storing(self._path):
            return await super().aput(config, checkpoint, metadata, new_versions)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete the states of an evaluation."""
        with storing(self._path):
            await super().adelete_thread(thread_id)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store the writes of a finished task."""
        if not any(channel == ERROR for channel, _ in writes):
            with storing(self._path):
                await super().aput_writes(config, writes, task_id, task_path)


STATE_FORM = 2
"""Counts up when a state changes its shape; kept in the file as SQLite's user version."""


@asynccontextmanager
async def opened_checkpointer(path: Path) -> AsyncIterator[Saver]:
    """Open the states of unfinished evaluations, which survive the death of the process.

    Raises:
        RunMismatchError: Another version of ragassay left states that this one cannot read.
        StorageError: The file is damaged, or the disk is full.
    """
    async with aiosqlite.connect(path) as connection:
        with opened_first(path):
            await _check_form(connection, path)
            # A killed process loses nothing under NORMAL; only a crash of the machine could.
            await connection.execute("PRAGMA journal_mode=WAL")
            await connection.execute("PRAGMA synchronous=NORMAL")
        yield Saver(connection, path)


async def _check_form(connection: aiosqlite.Connection, path: Path) -> None:
    """Refuse states of another form; stamp a file that has none."""
    form = await (await connection.execute("PRAGMA user_version")).fetchone()
    tables = "SELECT count(*) FROM sqlite_master WHERE name = 'checkpoints'"
    has_states = await (await connection.execute(tables)).fetchone() == (1,)
    if has_states and form != (STATE_FORM,):
        left = await (await connection.execute("SELECT count(*) FROM checkpoints")).fetchone()
        if left != (0,):
            raise errors.RunMismatchError(
                f"{path} has states of a run that another version of ragassay began: delete this "
                "file and start again; what was judged to the end is kept beside it"
            )
    await connection.execute(f"PRAGMA user_version = {STATE_FORM}")
