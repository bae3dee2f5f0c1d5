"""What models replied, on disk by the content of what was asked: nothing is asked twice.

A job that was killed is given again: it runs from its start, and what it asked before is answered
from here, so that it comes by the same way to where it was.

DSPy's own cache belongs to the process, not to the job; a hit tells no usage, so that a resumed job
could not say what it took; and a reply that it cannot write it drops without a word.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import FileLock, Timeout
from pydantic import ValidationError

from ragassay.errors import InputError
from ragassay.records import FailureReason, Usage
from ragassay.records.base import Frozen


class Remembered(Frozen):
    """A reply, or why there is none.

    Attributes:
        key: Hash of what was asked.
        text: The reply.
        logprobs: As LiteLLM gives them, dumped; None where there are none.
        failure: Why the same request will fail again; None for a reply.
        detail: The failure in words.
        usage: What it cost.
    """

    key: str
    text: str = ""
    logprobs: dict[str, Any] | None = None
    failure: FailureReason | None = None
    detail: str = ""
    usage: Usage = Usage()


class Memory:
    """The replies of a job, in a file that only grows. Not safe across threads.

    Args:
        folder: Where the file is; made if it is not there, and held for this process.
        listen: Told what the job has cost so far, after each reply that it uses for the first time.
    """

    def __init__(self, folder: Path, listen: Callable[[Usage], None] = lambda usage: None) -> None:
        self._file = folder / "replies.jsonl"
        self._listen = listen
        self._known: dict[str, Remembered] = {}
        self._used: set[str] = set()
        self.usage = Usage(cost_usd=0.0)
        """What the job's replies cost, those of earlier starts that it used again included."""
        self.n_asked = 0
        """Requests that this process sent."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise InputError(f"{folder} is a file, a folder is needed") from error
        self._lock = FileLock(folder / ".lock")

    def __enter__(self) -> Self:
        """Hold the folder and read what is there.

        Raises:
            InputError: Another process holds it.
        """
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise InputError(f"another job is running in {self._file.parent}") from error
        self._read()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let the folder go."""
        self._lock.release()

    def _read(self) -> None:
        """Take over what an earlier start left; a line that a kill cut off is cut away."""
        if not self._file.exists():
            return
        whole = 0
        with self._file.open("rb") as lines:
            for line in lines:
                try:
                    found = Remembered.model_validate_json(line)
                except ValidationError:
                    break
                if not line.endswith(b"\n"):
                    break
                self._known[found.key] = found
                whole += len(line)
        if whole < self._file.stat().st_size:
            os.truncate(self._file, whole)

    def recall(self, key: str) -> Remembered | None:
        """What was replied to a request, if it was asked before."""
        found = self._known.get(key)
        if found is not None:
            self._count(found)
        return found

    def keep(self, reply: Remembered) -> None:
        """Put a reply on disk before anything is made of it."""
        with self._file.open("ab") as file:
            file.write(reply.model_dump_json(exclude_defaults=True).encode() + b"\n")
        self._known[reply.key] = reply
        self.n_asked += 1
        self._count(reply)

    def _count(self, reply: Remembered) -> None:
        if reply.key not in self._used:
            self._used.add(reply.key)
            self.usage = self.usage + reply.usage
            self._listen(self.usage)


def request_key(
    model: str, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> str:
    """Hash of what a reply depends on."""
    asked = json.dumps([model, list(messages), dict(options)], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()
