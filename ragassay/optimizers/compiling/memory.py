"""Cache of model replies on disk, keyed by the content of the request.

A restarted job runs from the beginning, but its earlier requests are answered from this cache.

DSPy's cache is not suitable, because all jobs of a process share it, and it silently ignores write
errors. DSPy reports no usage for cached replies, so the cost of a resumed job would be unknown.
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
from ragassay.store import convert_storage_errors


class StoredReply(Frozen):
    """A reply to a request or its permanent failure, and the hash of the request.

    Attributes:
        logprobs: LiteLLM log-probabilities as JSON, if there are any.
    """

    key: str
    text: str = ""
    logprobs: dict[str, Any] | None = None
    failure: FailureReason | None = None
    detail: str = ""
    usage: Usage = Usage()


class Memory:
    """Replies of a job, stored in an append-only file. The class is not thread-safe.

    Args:
        folder: Folder that contains the file, created if necessary. Only one process can use the
            folder at a time.
        listen: Function that is called with the job's usage so far, after the first use of each
            reply.
    """

    def __init__(self, folder: Path, listen: Callable[[Usage], None] = lambda usage: None) -> None:
        self._file = folder / "replies.jsonl"
        self._listen = listen
        self._known: dict[str, StoredReply] = {}
        self._used: set[str] = set()
        self.usage = Usage(cost_usd=0.0)
        """Usage of all replies of the job, including replies from earlier runs."""
        self.n_asked = 0
        """Number of requests that this process sent."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise InputError(f"{folder} is a file; specify a folder") from error
        self._lock = FileLock(folder / ".lock")

    def __enter__(self) -> Self:
        """Lock the folder and read the replies.

        Raises:
            InputError: The folder is locked by another process.
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
        """Read earlier replies, and remove an incomplete last line."""
        if not self._file.exists():
            return
        n_valid = 0
        with self._file.open("rb") as lines:
            for line in lines:
                try:
                    reply = StoredReply.model_validate_json(line)
                except ValidationError:
                    break
                if not line.endswith(b"\n"):
                    break
                self._known[reply.key] = reply
                n_valid += len(line)
        if n_valid < self._file.stat().st_size:
            os.truncate(self._file, n_valid)

    def find_reply(self, key: str) -> StoredReply | None:
        """Return the stored reply to a request, if any."""
        reply = self._known.get(key)
        if reply is not None:
            self._count(reply)
        return reply

    def keep(self, reply: StoredReply) -> None:
        """Write a new reply to disk.

        Raises:
            StorageError: The reply cannot be written.
        """
        with convert_storage_errors(self._file), self._file.open("ab") as file:
            file.write(reply.model_dump_json(exclude_defaults=True).encode() + b"\n")
        self._known[reply.key] = reply
        self.n_asked += 1
        self._count(reply)

    def _count(self, reply: StoredReply) -> None:
        if reply.key not in self._used:
            self._used.add(reply.key)
            self.usage = self.usage + reply.usage
            self._listen(self.usage)


def hash_request(
    model: str, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> str:
    """Return the hash of a request."""
    request = json.dumps([model, list(messages), dict(options)], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(request.encode("utf-8", "replace")).hexdigest()
