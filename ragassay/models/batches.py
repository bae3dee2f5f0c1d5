"""Batch mode for hosted judges, which costs half the normal price.

Model calls are made as usual, but their HTTP requests wait in a `BatchQueue` until all calls of the
run are waiting. The requests are then submitted as one batch, and each reply in the batch becomes
the HTTP response of its call. LiteLLM processes requests, replies and errors as it does without
batches.

Batches are stored in the run folder, so that a stopped run can collect the replies later:

batches/NAME.json            the batch: its provider id and request keys
batches/NAME.replies.jsonl   the replies, once collected
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
from ragassay.store import convert_storage_errors

if TYPE_CHECKING:
    from ragassay.models.limiter import RunLimiter

BATCHES = "batches"

JsonBody = dict[str, object]


@dataclass(frozen=True)
class ItemReply:
    """Reply to one request of a batch, with its HTTP status and JSON body."""

    key: str
    status: int
    body: JsonBody


class SubmittedBatch(BaseModel):
    """Batch that was submitted to a provider.

    Attributes:
        name: ragassay's name for the batch, sent to the provider.
        id: Provider's id for the batch, or "" until the provider has confirmed it.
        estimate_usd: Maximum cost, or None if the price is unknown.
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
    """Batches of a run, stored in the run folder. If `run` is None, nothing is stored."""

    def __init__(self, run: Path | None) -> None:
        self._folder = run / BATCHES if run else None

    def read_batches(self) -> list[SubmittedBatch]:
        """Return all batches of the run. Raises `StorageError` if a file is damaged."""
        if self._folder is None or not self._folder.is_dir():
            return []
        return [_read_batch(file) for file in sorted(self._folder.glob("*.json"))]

    def save(self, batch: SubmittedBatch) -> None:
        """Write a batch to disk, so that it survives a crash of the process."""
        if self._folder is not None:
            _write(self._folder / f"{batch.name}.json", batch.model_dump_json())

    def save_replies(self, batch: SubmittedBatch, replies: Mapping[str, ItemReply]) -> None:
        """Write the replies of a batch, and then mark the batch as collected."""
        if self._folder is not None:
            # ASCII escapes, because a reply may contain unpaired surrogates.
            lines = (f"{json.dumps(asdict(reply))}\n" for reply in replies.values())
            _write(self._locate_replies(batch.name), "".join(lines))
        self.save(batch.model_copy(update={"state": "collected"}))

    def read_replies(self, batch: SubmittedBatch) -> dict[str, ItemReply]:
        """Return the collected replies by key, or an empty dictionary if their file is missing."""
        if self._folder is None or not self._locate_replies(batch.name).is_file():
            return {}
        lines = self._locate_replies(batch.name).read_bytes().splitlines()
        replies = (ItemReply(**json.loads(line)) for line in lines)
        return {reply.key: reply for reply in replies}

    def forget(self, batch: SubmittedBatch) -> None:
        """Delete a batch that the provider does not know or that ended without replies."""
        if self._folder is not None:
            self._locate_replies(batch.name).unlink(missing_ok=True)
            (self._folder / f"{batch.name}.json").unlink(missing_ok=True)

    def forget_collected(self) -> None:
        """Delete collected batches, so that their requests are sent again."""
        for batch in self.read_batches():
            if batch.state == "collected":
                self.forget(batch)

    def _locate_replies(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{name}.replies.jsonl"


def _read_batch(file: Path) -> SubmittedBatch:
    try:
        return SubmittedBatch.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise StorageError(
            f"{file} is damaged; move it away to submit the questions of this batch again"
        ) from error


def _write(file: Path, text: str) -> None:
    partial = file.with_name(f".{file.name}.partial")
    with convert_storage_errors(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, file)


class Batches:
    """Batches of a run, in one queue per model."""

    def __init__(self, store: BatchStore, limiter: RunLimiter, tell: Callable[[str], None]) -> None:
        self.store, self.tell = store, tell
        self._limiter = limiter
        self.queues: dict[tuple[str, str | None], Any] = {}
        self._context = contextvars.copy_context()
        self._tasks: set[asyncio.Task[None]] = set()
        self._estimates: dict[str, float | None] = {}

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a background task that is independent of the current call."""
        task = asyncio.get_running_loop().create_task(work, context=self._context.copy())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def reserve(self, batch: SubmittedBatch) -> None:
        """Reserve the maximum cost of a batch. Raises `BudgetError` if the budget is too small."""
        estimates = [*self._estimates.values(), batch.estimate_usd]
        known = [estimate for estimate in estimates if estimate is not None]
        self._limiter.check_estimate(sum(known) if len(known) == len(estimates) else None)
        self._estimates[batch.name] = batch.estimate_usd

    def release(self, batch: SubmittedBatch) -> None:
        """Release the reserved cost of a batch."""
        self._estimates.pop(batch.name, None)

    async def close(self) -> None:
        """Stop polling. Providers continue to process the batches that were submitted."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


_BATCHES: contextvars.ContextVar[Batches | None] = contextvars.ContextVar(
    "ragassay_batches", default=None
)


@asynccontextmanager
async def batch_calls(
    run: Path | None, limiter: RunLimiter, tell: Callable[[str], None]
) -> AsyncIterator[None]:
    """Send the calls of judges with `batch=True` in batches while the context is active.

    Args:
        run: Run folder, which may contain batches from before an interruption, or None to store
            nothing.
        tell: Function that displays progress messages.
    """
    batches = Batches(BatchStore(run), limiter, tell)
    token = _BATCHES.set(batches)
    try:
        yield
    finally:
        _BATCHES.reset(token)
        await batches.close()


def get_current_batches() -> Batches | None:
    """Return the batches of the current run, or None outside of `batching`."""
    return _BATCHES.get()
