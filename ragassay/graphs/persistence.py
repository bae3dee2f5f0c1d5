"""Where a graph keeps its states and its finished verdicts: SQLite files of the run folder."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.cache.base import FullKey
from langgraph.cache.sqlite import SqliteCache
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import ERROR
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from ragassay import errors, records
from ragassay.graphs import evidence_state, nugget_state, state


def serializer() -> JsonPlusSerializer:
    """A serializer that knows our records, states and errors, and builds no other type."""
    known = [
        (kind.__module__, kind.__name__)
        for kind in (
            *state.SERIALIZED_TYPES,
            *evidence_state.SERIALIZED_TYPES,
            *nugget_state.SERIALIZED_TYPES,
            *(getattr(records, name) for name in records.__all__),
            *(kind for _, kind in inspect.getmembers(errors, inspect.isclass)),
        )
        if isinstance(kind, type)
    ]
    return JsonPlusSerializer(allowed_msgpack_modules=sorted(set(known)))


class Saver(AsyncSqliteSaver):
    """Keeps states, but no errors: a call that had failed when the process died is made again.

    LangGraph would hand the kept error, its type lost, to the error handler of the next start.
    """

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Keep the writes of a task that finished."""
        if not any(channel == ERROR for channel, _ in writes):
            await super().aput_writes(config, writes, task_id, task_path)


@asynccontextmanager
async def opened_checkpointer(path: Path) -> AsyncIterator[Saver]:
    """States of unfinished evaluations; survives the death of the process."""
    async with aiosqlite.connect(path) as connection:
        # A killed process loses nothing under NORMAL; only a crash of the machine could.
        await connection.execute("PRAGMA journal_mode=WAL")
        await connection.execute("PRAGMA synchronous=NORMAL")
        yield Saver(connection, serde=serializer())


class VerdictCache(SqliteCache[Any]):
    """Keeps verdicts, in the thread that asks: to hand a row to another costs more than the row."""

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        """The verdicts that are there."""
        return self.get(keys)

    async def aset(self, mapping: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        """Keep verdicts."""
        self.set(mapping)


@contextmanager
def opened_cache(path: Path) -> Iterator[VerdictCache]:
    """Finished verdicts, by the hash of everything that they depend on."""
    cache = VerdictCache(path=str(path), serde=serializer())
    cache._conn.execute("PRAGMA synchronous=NORMAL")
    try:
        yield cache
    finally:
        cache._conn.close()
