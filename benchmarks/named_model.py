"""A scripted model in a process of its own: each reply names the request that it answers.

So a verdict on disk tells which request it came from, and the requests tell which came again.
"""

from __future__ import annotations

import json
import multiprocessing
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from ragassay.testing.chat_completions import JsonSchema, Message, request_key
from ragassay.testing.script import default_reply

_NAME = re.compile(rb"request:([0-9a-f]{64})")

Came = tuple[str, float]
"""A request: its key, and its arrival on the monotonic clock of the machine."""


def key_of(messages: Sequence[Message], schema: JsonSchema | None) -> str:
    return request_key({"messages": list(messages), "response_format": schema})


def named_reply(messages: Sequence[Message], schema: JsonSchema | None) -> Mapping[str, object]:
    """The default reply, with the request's key as its rationale."""
    return json.loads(default_reply(messages, schema)) | {
        "rationale": f"request:{key_of(messages, schema)}"
    }


@contextmanager
def named_model(latency_s: float) -> Iterator[tuple[str, Callable[[], list[Came]]]]:
    """Yields the base URL, and a function that returns the requests so far."""
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_serve, args=(theirs, latency_s), daemon=True)
    process.start()

    def came() -> list[Came]:
        ours.send("requests")
        return ours.recv()

    try:
        yield ours.recv(), came
    finally:
        process.kill()
        process.join()


def _serve(pipe: Connection, latency_s: float) -> None:
    from ragassay.testing import ScriptedModel

    with ScriptedModel(named_reply, latency_s=latency_s) as model:
        pipe.send(model.base_url)
        while pipe.recv():
            pipe.send([(key_of(r.messages, r.schema), r.received_s) for r in model.requests])


class OnDisk:
    """Reads which requests have their verdict in a run's file, the new ones at each reading."""

    def __init__(self, path: Path) -> None:
        self._path, self._last_row = path, 0

    def new(self) -> set[str]:
        if not self._path.exists():
            return set()
        with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as file:
            query = "SELECT rowid, value FROM finished WHERE rowid > ? ORDER BY rowid"
            rows = file.execute(query, (self._last_row,)).fetchall()
        if rows:
            self._last_row = rows[-1][0]
        return {name.decode() for _, value in rows for name in _NAME.findall(value)}
