"""Replies of models on disk, by the content of the request: nothing is asked twice.

A killed job that is started again runs from its beginning, and its earlier requests are answered
from here, so it takes the same path to where it was.

DSPy's own cache does not serve this: it belongs to the process, not to the job; its hits have no
usage, so that a resumed job could not report its cost; and it silently drops replies that it cannot
write.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout
from pydantic import ValidationError

from ragassay.errors import InputError
from ragassay.records import FailureReason, Usage
from ragassay.records.base import Frozen
from ragassay.store import storing


class StoredReply(Frozen):
    """A reply by the hash of its request, or the reason why the same request will fail again.

    `logprobs` are LiteLLM's, dumped; None without any.
    """

    key: str
    text: str = ""
    logprobs: dict[str, Any] | None = None
    failure: FailureReason | None = None
    detail: str = ""
    usage: Usage = Usage()


class Memory:
    """The replies of a job, in an append-only file. Not thread-safe.

    The folder is created if missing, and locked for this process. `listen` receives the job's cost
    so far, after each first use of a reply.
    """

    def __init__(self, folder: Path, listen: Callable[[Usage], None] = lambda usage: None) -> None:
        self._file = folder / "replies.jsonl"
        self._listen = listen
        self._known: dict[str, StoredReply] = {}
        self._used: set[str] = set()
        self.usage = Usage(cost_usd=0.0)
        """The cost of the job's replies, including reused ones of earlier starts."""
        self.n_asked = 0
        """Requests that this process sent."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise InputError(f"{folder} is a file, a folder is needed") from error
        self._lock = FileLock(folder / ".lock")

    def __enter__(self) -> Self:
        """Lock the folder and read the replies.

        Raises:
            InputError: Another process has locked it.
        """
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise InputError(f"another job is running in {self._file.parent}") from error
        self._read()
        return self

    def __exit__(self, *error: object) -> None:
        """Unlock the folder."""
        self._lock.release()

    def _read(self) -> None:
        """Read the replies of an earlier start; remove a line that a kill cut off."""
        if not self._file.exists():
            return
        whole = 0
        with self._file.open("rb") as lines:
            for line in lines:
                try:
                    found = StoredReply.model_validate_json(line)
                except ValidationError:
                    break
                if not line.endswith(b"\n"):
                    break
                self._known[found.key] = found
                whole += len(line)
        if whole < self._file.stat().st_size:
            os.truncate(self._file, whole)

    def recall(self, key: str) -> StoredReply | None:
        """Return the reply to a request, if it was asked before."""
        found = self._known.get(key)
        if found is not None:
            self._count(found)
        return found

    def keep(self, reply: StoredReply) -> None:
        """Write a reply to disk before it is used.

        Raises:
            StorageError: It cannot be written.
        """
        with storing(self._file), self._file.open("ab") as file:
            file.write(reply.model_dump_json(exclude_defaults=True).encode() + b"\n")
        self._known[reply.key] = reply
        self.n_asked += 1
        self._count(reply)

    def _count(self, reply: StoredReply) -> None:
        if reply.key not in self._used:
            self._used.add(reply.key)
            self.usage = self.usage + reply.usage
            self._listen(self.usage)


def request_key(
    model: str, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> str:
    """Return the hash of everything that a reply depends on."""
    asked = json.dumps([model, list(messages), dict(options)], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()
