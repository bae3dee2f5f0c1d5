"""Storage of a graph's states and finished verdicts: SQLite files of the run folder."""

from __future__ import annotations

import inspect
import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.cache.base import BaseCache, FullKey, Namespace
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import ERROR
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from ragassay import errors, records
from ragassay.graphs import (
    evidence_state,
    exam_state,
    nugget_state,
    qa_state,
    state,
    synthesis_state,
)
from ragassay.storage import storing


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
            *state.SERIALIZED_TYPES,
            *evidence_state.SERIALIZED_TYPES,
            *nugget_state.SERIALIZED_TYPES,
            *exam_state.SERIALIZED_TYPES,
            *qa_state.SERIALIZED_TYPES,
            *synthesis_state.SERIALIZED_TYPES,
            *(getattr(records, name) for name in records.__all__),
            *(kind for _, kind in inspect.getmembers(errors, inspect.isclass)),
        )
        if isinstance(kind, type)
    ]
    return _Serializer(allowed_msgpack_modules=sorted(set(known)))


@contextmanager
def _opened_first(path: Path) -> Iterator[None]:
    """Set a damaged file aside: whether to pay again for what it held is the user's to decide."""
    try:
        with storing(path):
            yield
    except errors.StorageError as error:
        if isinstance(error.__cause__, OSError | sqlite3.OperationalError):  # no damage
            raise
        for ending in ("", "-wal", "-shm"):
            part = path.with_name(path.name + ending)
            if part.exists():
                part.replace(path.with_name(f"{path.name}.damaged{ending}"))
        raise errors.StorageError(
            f"{path} is damaged ({error.__cause__}), and was set aside as {path.name}.damaged: "
            "the same command goes on without it"
        ) from error


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
        with _opened_first(path):
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


Row = tuple[str, str, str, bytes]
"""A stored verdict: the node's namespace, its key, how it is encoded, its bytes."""


class VerdictCache(BaseCache[Any]):
    """A permanent cache of verdicts that works in the calling thread: handing over costs more.

    Args:
        path: A SQLite file; created if missing.

    Raises:
        StorageError: The file is damaged, or the disk is full.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(serde=serializer())
        self._path = path
        with _opened_first(path):
            self._file = sqlite3.connect(path, isolation_level=None)
            # Under NORMAL only a crash of the machine can lose data, not a killed process.
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS cache (ns TEXT, key TEXT, encoding TEXT NOT NULL, "
                "val BLOB NOT NULL, PRIMARY KEY (ns, key))"
            )

    def rows(self, keys: Sequence[FullKey]) -> list[Row]:
        """Return the stored verdicts as they are stored."""
        wanted = "SELECT ns, key, encoding, val FROM cache WHERE ns = ? AND key = ?"
        with storing(self._path):
            found = (self._file.execute(wanted, row_key(key)).fetchone() for key in keys)
            return [row for row in found if row]

    def all_rows(self) -> Iterator[Row]:
        """Return all stored verdicts as they are stored."""
        with storing(self._path):
            yield from self._file.execute("SELECT ns, key, encoding, val FROM cache")

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Store verdicts that another cache has stored."""
        kept = "INSERT OR REPLACE INTO cache (ns, key, encoding, val) VALUES (?, ?, ?, ?)"
        with storing(self._path):
            self._file.executemany(kept, rows)

    @property
    def is_empty(self) -> bool:
        """Return whether there is no verdict yet."""
        with storing(self._path):
            return self._file.execute("SELECT 1 FROM cache LIMIT 1").fetchone() is None

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        """Return the stored verdicts."""
        by_row = {row_key(key): key for key in keys}
        return {
            by_row[ns, key]: self.serde.loads_typed((encoding, value))
            for ns, key, encoding, value in self.rows(keys)
        }

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        """Return the stored verdicts."""
        return self.get(keys)

    def set(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        """Store verdicts."""
        self.add_rows(rows_of(pairs, self.serde))

    async def aset(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        """Store verdicts."""
        self.set(pairs)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Delete the verdicts of some nodes; of all without names."""
        with storing(self._path):
            if namespaces is None:
                self._file.execute("DELETE FROM cache")
            for namespace in namespaces or ():
                self._file.execute("DELETE FROM cache WHERE ns = ?", (",".join(namespace),))

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Delete the verdicts of some nodes; of all without names."""
        self.clear(namespaces)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def rows_of(
    pairs: Mapping[FullKey, tuple[Any, int | None]], serde: SerializerProtocol
) -> list[Row]:
    """Return verdicts as a cache stores them."""
    return [(*row_key(key), *serde.dumps_typed(value)) for key, (value, _) in pairs.items()]


def row_key(key: FullKey) -> tuple[str, str]:
    """Return namespace and key as a cache stores them."""
    namespace, name = key
    return ",".join(namespace), name


@contextmanager
def opened_cache(path: Path) -> Iterator[VerdictCache]:
    """Open the finished verdicts, stored by the hash of everything that they depend on."""
    with closing(VerdictCache(path)) as cache:
        yield cache
