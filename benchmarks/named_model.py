"""Run a scripted model in its own process, with the request key in each reply.

The key identifies the request behind each verdict on disk, and repeated requests share a key.
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

Request = tuple[str, float]
"""Key of a request and its arrival time on the monotonic clock."""


def key_of(messages: Sequence[Message], schema: JsonSchema | None) -> str:
    return request_key({"messages": list(messages), "response_format": schema})


def named_reply(messages: Sequence[Message], schema: JsonSchema | None) -> Mapping[str, object]:
    """Return the default reply with the request key as its rationale."""
    return json.loads(default_reply(messages, schema)) | {
        "rationale": f"request:{key_of(messages, schema)}"
    }


@contextmanager
def named_model(latency_s: float) -> Iterator[tuple[str, Callable[[], list[Request]]]]:
    """Yield the base URL, and a function that returns the requests so far."""
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_serve, args=(theirs, latency_s), daemon=True)
    process.start()

    def list_requests() -> list[Request]:
        ours.send("requests")
        return ours.recv()

    try:
        yield ours.recv(), list_requests
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
    """Reader of the requests that have a verdict on disk."""

    def __init__(self, path: Path) -> None:
        self._path, self._last_row = path, 0

    def new(self) -> set[str]:
        """Return the requests whose verdict was added since the last call."""
        if not self._path.exists():
            return set()
        with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as file:
            query = "SELECT rowid, value FROM finished WHERE rowid > ? ORDER BY rowid"
            rows = file.execute(query, (self._last_row,)).fetchall()
        if rows:
            self._last_row = rows[-1][0]
        return {name.decode() for _, value in rows for name in _NAME.findall(value)}
