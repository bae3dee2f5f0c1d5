"""Ask hosted judges in batches, at half the price: calls wait together for one submitted batch.

A call is made as ever. Only its HTTP request goes no further than this process: it waits in a
`BatchQueue` until every call of the run waits, is submitted with the others, and its reply in the
batch is the HTTP response. So what LiteLLM does to requests, replies and errors stays the same.

Batches are kept in a run's folder, so that a run that was stopped can collect them:

batches/NAME.json            a batch: its id at the provider, the keys of its requests
batches/NAME.replies.jsonl   its replies, once they are collected
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragassay.errors import StorageError
from ragassay.store import storing

if TYPE_CHECKING:
    from ragassay.models.limiter import RunLimiter

BATCHES = "batches"
"""Folder of the batches in that of a run."""

JsonBody = dict[str, object]


@dataclass(frozen=True)
class ItemReply:
    """A provider's reply to one request of a batch.

    Attributes:
        status: The HTTP status that the request would have had by itself.
        body: The JSON body that it would have had.
    """

    key: str
    status: int
    body: JsonBody


class SubmittedBatch(BaseModel):
    """A batch that was handed to a provider.

    Attributes:
        name: Our name for it, sent along with it.
        id: The provider's name for it; empty until the provider has confirmed it.
        estimate_usd: The most that it costs; None where the price is unknown.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(default_factory=lambda: f"ragassay-{uuid.uuid4().hex[:16]}")
    id: str = ""
    model: str
    endpoint: str
    keys: tuple[str, ...]
    estimate_usd: float | None = None
    state: Literal["submitted", "collected"] = "submitted"


class BatchStore:
    """The batches of a run.

    Args:
        run: The run's folder; None keeps batches in memory only.
    """

    def __init__(self, run: Path | None) -> None:
        self._folder = run / BATCHES if run else None

    def batches(self) -> list[SubmittedBatch]:
        """Return all batches of the run.

        Raises:
            StorageError: A file is damaged.
        """
        if self._folder is None or not self._folder.is_dir():
            return []
        return [_read_batch(file) for file in sorted(self._folder.glob("*.json"))]

    def save(self, batch: SubmittedBatch) -> None:
        """Write a batch so that it survives the death of the process."""
        if self._folder is not None:
            _write(self._folder / f"{batch.name}.json", batch.model_dump_json())

    def save_replies(self, batch: SubmittedBatch, replies: Mapping[str, ItemReply]) -> None:
        """Write a batch's replies, and then that they are collected."""
        if self._folder is not None:
            # ASCII: half a character in a reply could not be encoded.
            lines = (f"{json.dumps(asdict(reply))}\n" for reply in replies.values())
            _write(self._replies_file(batch.name), "".join(lines))
        self.save(batch.model_copy(update={"state": "collected"}))

    def replies(self, batch: SubmittedBatch) -> dict[str, ItemReply]:
        """Return the collected replies of a batch, by key; empty where their file is gone."""
        if self._folder is None or not self._replies_file(batch.name).is_file():
            return {}
        lines = self._replies_file(batch.name).read_bytes().splitlines()
        replies = (ItemReply(**json.loads(line)) for line in lines)
        return {reply.key: reply for reply in replies}

    def forget(self, batch: SubmittedBatch) -> None:
        """Delete a batch: the provider does not know it, or it ended without a reply."""
        if self._folder is not None:
            self._replies_file(batch.name).unlink(missing_ok=True)
            (self._folder / f"{batch.name}.json").unlink(missing_ok=True)

    def forget_collected(self) -> None:
        """Delete the batches whose replies were read, so that their questions are asked anew."""
        for batch in self.batches():
            if batch.state == "collected":
                self.forget(batch)

    def _replies_file(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{name}.replies.jsonl"


def _read_batch(file: Path) -> SubmittedBatch:
    try:
        return SubmittedBatch.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise StorageError(
            f"{file} is damaged: move it away; the questions of its batch are then asked again"
        ) from error


def _write(file: Path, text: str) -> None:
    """Write a file completely or not at all."""
    partial = file.with_name(f".{file.name}.partial")
    with storing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, file)


class Batches:
    """The batches of a run, by model."""

    def __init__(self, store: BatchStore, limiter: RunLimiter, tell: Callable[[str], None]) -> None:
        self.store, self.tell = store, tell
        self._limiter = limiter
        self.queues: dict[tuple[str, str | None], Any] = {}
        self._context = contextvars.copy_context()
        self._tasks: set[asyncio.Task[None]] = set()
        self._estimates: dict[str, float | None] = {}

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do work that belongs to no call in particular."""
        task = asyncio.get_running_loop().create_task(work, context=self._context.copy())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def reserve(self, batch: SubmittedBatch) -> None:
        """Count the estimated cost of a batch until it is collected.

        Raises:
            BudgetError: It and the others that are under way may cost more than what is left.
        """
        estimates = [*self._estimates.values(), batch.estimate_usd]
        known = [one for one in estimates if one is not None]
        self._limiter.check_estimate(sum(known) if len(known) == len(estimates) else None)
        self._estimates[batch.name] = batch.estimate_usd

    def release(self, batch: SubmittedBatch) -> None:
        """Count the estimated cost of a batch no longer."""
        self._estimates.pop(batch.name, None)

    async def close(self) -> None:
        """Stop looking after batches; what is submitted goes on at the providers."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


_BATCHES: contextvars.ContextVar[Batches | None] = contextvars.ContextVar(
    "ragassay_batches", default=None
)


@asynccontextmanager
async def batching(
    run: Path | None, limiter: RunLimiter, tell: Callable[[str], None]
) -> AsyncIterator[None]:
    """Answer the calls of judges with `batch=True` in batches, in the enclosed code.

    Args:
        run: The run's folder, where submitted batches of an earlier start are found; None keeps
            nothing.
        tell: Receives what is going on, in words.
    """
    batches = Batches(BatchStore(run), limiter, tell)
    token = _BATCHES.set(batches)
    try:
        yield
    finally:
        _BATCHES.reset(token)
        await batches.close()


def current_batches() -> Batches | None:
    """Return the batches of the run that calls; None outside of `batching`."""
    return _BATCHES.get()
