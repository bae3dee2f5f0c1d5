"""Queue that collects, submits and answers the batch requests to one model."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragassay.errors import BatchError, FatalModelError, ModelError
from ragassay.model_names import find_provider
from ragassay.models.batch_services import (
    CANCELLED,
    EXPIRED,
    TOO_LATE,
    BatchCalls,
    BatchRequest,
    UnknownBatchError,
)
from ragassay.models.batches import (
    Batches,
    ItemReply,
    JsonBody,
    SubmittedBatch,
    get_current_batches,
)
from ragassay.models.litellm_library import estimate_usd
from ragassay.models.received import note_error, receive
from ragassay.records import FailureReason

if TYPE_CHECKING:
    import httpx

QUIET_S = 2.0
"""Time in seconds without new calls after which an idle process submits a batch."""

BUSY_SHARE = 0.25
"""CPU share above which the process counts as busy and is expected to make more calls."""

FIRST_CHECK_S, LONGEST_CHECK_S, CHECK_GROWTH = 5.0, 300.0, 1.5
"""Intervals between status checks in seconds. Most batches take minutes, but some take a day."""

REASONS: Mapping[int, FailureReason] = {
    408: "timeout",
    409: "error",
    425: "error",
    429: "rate_limit",
    CANCELLED: "error",
    TOO_LATE: "timeout",
}
"""Failure reasons of requests that can be repeated, by HTTP status.

All other statuses from 500 upwards count as server errors.
"""


@dataclass
class _QueuedRequest:
    request: BatchRequest
    n_bytes: int
    reply: asyncio.Future[ItemReply]


class BatchQueue:
    """Queue of batch requests to one model. `client` is an HTTP client for LiteLLM."""

    def __init__(self, model: str, api_base: str | None, batches: Batches) -> None:
        self._model, self._base, self._batches = model, api_base, batches
        self._endpoint = hashlib.sha256((api_base or "").encode()).hexdigest()[:16]
        self._calls = BatchCalls(model, api_base)
        self._waiting: dict[str, _QueuedRequest] = {}
        self._submitted: dict[str, _QueuedRequest | None] = {}
        self._ready: dict[str, ItemReply] = {}
        self._n_asked: Counter[str] = Counter()
        self._gathering: asyncio.Task[None] | None = None
        self.client = _build_waiting_client(find_provider(model), self._respond)
        self._resume()

    async def ask(self, body: JsonBody) -> ItemReply:
        """Queue a request and wait for its reply.

        Raises `FatalModelError` if the batch is refused.
        """
        text = json.dumps([self._model, body], sort_keys=True)
        content = hashlib.sha256(text.encode()).hexdigest()[:40]
        # The same request may occur several times, for samples or after unparsable replies.
        self._n_asked[content] += 1
        key = f"{content}-{self._n_asked[content]}"
        if key in self._ready:
            return self._ready.pop(key)
        future = asyncio.get_running_loop().create_future()
        queued = _QueuedRequest(BatchRequest(key, body), len(text), future)
        if key in self._submitted:
            self._submitted[key] = queued
        else:
            self._enqueue(queued)
        return await future

    async def _respond(self, request: httpx.Request) -> httpx.Response:
        from httpx import Response

        try:
            reply = await self.ask(json.loads(request.content))
            if reply.status >= 500 or reply.status in REASONS:
                raise _build_missing_reply_error(reply)
        except ModelError as error:
            note_error(error)  # LiteLLM replaces it with its own error.
            raise
        return Response(reply.status, json=reply.body)

    def _resume(self) -> None:
        for batch in self._batches.store.read_batches():
            if (batch.model, batch.endpoint) != (self._model, self._endpoint):
                continue
            if batch.state == "collected":
                replies = self._batches.store.read_replies(batch)
                self._ready |= {key: r for key, r in replies.items() if r.status == 200}
            else:
                self._submitted |= dict.fromkeys(batch.keys)
                self._batches.start(self._follow(batch, 0.0))

    def _enqueue(self, queued: _QueuedRequest) -> None:
        self._waiting[queued.request.key] = queued
        if self._gathering is None or self._gathering.done():
            self._gathering = self._batches.start(self._gather())

    async def _gather(self) -> None:
        while self._waiting:
            await self._wait_until_quiet()
            queued = self._take()
            try:
                if queued:
                    await self._submit(queued)
            except Exception as error:  # Any error must reach the waiting calls.
                _fail([*queued, *self._waiting.values()], error)
                self._waiting.clear()

    async def _wait_until_quiet(self) -> None:
        while not self._is_full:
            n_waiting, busy_s = len(self._waiting), time.process_time()
            await asyncio.sleep(QUIET_S)
            is_idle = time.process_time() - busy_s < BUSY_SHARE * QUIET_S
            if is_idle and len(self._waiting) == n_waiting:
                return

    @property
    def _is_full(self) -> bool:
        n_bytes = sum(queued.n_bytes for queued in self._waiting.values())
        is_long = len(self._waiting) >= self._calls.most_requests
        return is_long or n_bytes >= self._calls.most_bytes

    def _take(self) -> list[_QueuedRequest]:
        taken: list[_QueuedRequest] = []
        n_bytes = 0
        for queued in self._waiting.values():
            n_bytes += queued.n_bytes
            is_over = len(taken) == self._calls.most_requests or n_bytes > self._calls.most_bytes
            if taken and is_over:
                break
            taken.append(queued)
        for queued in taken:
            del self._waiting[queued.request.key]
        return [queued for queued in taken if not queued.reply.done()]  # without cancelled calls

    async def _submit(self, taken: Sequence[_QueuedRequest]) -> None:
        store, requests = self._batches.store, [queued.request for queued in taken]
        batch = SubmittedBatch(
            model=self._model,
            endpoint=self._endpoint,
            keys=tuple(request.key for request in requests),
            estimate_usd=estimate_usd(self._model, ((q.n_bytes, q.request.body) for q in taken)),
        )
        self._batches.reserve(batch)
        # Saved before submission, so that a killed run can find the batch by its name.
        store.save(batch)
        try:
            batch_id = await self._calls.create(batch.name, requests)
        except Exception:
            self._batches.release(batch)
            store.forget(batch)
            raise
        batch = batch.model_copy(update={"id": batch_id})
        store.save(batch)
        self._submitted |= {queued.request.key: queued for queued in taken}
        self._batches.start(self._follow(batch, FIRST_CHECK_S))

    async def _follow(self, batch: SubmittedBatch, first_check_s: float) -> None:
        try:
            batch = await self._find(batch)
            await self._wait_for(batch, first_check_s)
        except UnknownBatchError:
            self._batches.store.forget(batch)
            self._ask_again(batch)
        except Exception as error:  # Any error must reach the waiting calls.
            _fail([self._submitted.pop(key, None) for key in batch.keys], error)
        finally:
            self._batches.release(batch)

    async def _find(self, batch: SubmittedBatch) -> SubmittedBatch:
        """Return a batch with its provider id.

        Raises `UnknownBatchError` if the provider does not know the batch.
        """
        if batch.id:
            return batch
        found = batch.model_copy(update={"id": await self._calls.find(batch.name)})
        self._batches.store.save(found)
        return found

    async def _wait_for(self, batch: SubmittedBatch, wait_s: float) -> None:
        while True:
            self._batches.tell(_describe_progress(batch, wait_s))
            await asyncio.sleep(wait_s)
            status = await self._calls.check(batch.id)
            if status.is_over:
                break
            wait_s = min(max(wait_s * CHECK_GROWTH, FIRST_CHECK_S), LONGEST_CHECK_S)
        if status.refusal:
            self._batches.store.forget(batch)
            raise FatalModelError(f"batch {batch.id} was refused: {status.refusal}")
        replies = await self._calls.collect(status)
        self._batches.store.save_replies(batch, replies)
        status_code, message = CANCELLED, f"the batch is {status.ending}"
        if status.ending == "expired":
            status_code, message = TOO_LATE, EXPIRED
        for key in batch.keys:
            missing = ItemReply(key, status_code, {"error": {"message": message}})
            self._deliver(replies.get(key, missing))

    def _deliver(self, reply: ItemReply) -> None:
        queued = self._submitted.pop(reply.key, None)
        if queued is not None and not queued.reply.done():
            queued.reply.set_result(reply)
        elif reply.status == 200:  # The restarted run has not yet made the call for this reply.
            self._ready[reply.key] = reply

    def _ask_again(self, batch: SubmittedBatch) -> None:
        for key in batch.keys:
            queued = self._submitted.pop(key, None)
            if queued is not None:
                self._enqueue(queued)


def _fail(calls: Sequence[_QueuedRequest | None], error: Exception) -> None:
    for queued in calls:
        if queued is not None and not queued.reply.done():
            queued.reply.set_exception(error)


def _build_missing_reply_error(reply: ItemReply) -> BatchError:
    error = reply.body.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    return BatchError(
        f"the batch contains no reply: {message or reply.status}; pass --retry-failed to repeat "
        "the request",
        REASONS.get(reply.status, "server_error"),
    )


def _describe_progress(batch: SubmittedBatch, wait_s: float) -> str:
    n = len(batch.keys)
    cost = "" if batch.estimate_usd is None else f", at most ${batch.estimate_usd:.4f}"
    questions = f"{n} question{'' if n == 1 else 's'}{cost}"
    return f"submitted batch {batch.id} with {questions}; next check in {wait_s:.0f} s"


def _build_waiting_client(provider: str, respond: Any) -> Any:
    """Return an HTTP client for LiteLLM that gets its responses from the queue."""
    import httpx

    transport = httpx.MockTransport(respond)
    hooks: Any = {"response": [receive]}
    if provider == "azure":
        from openai import AsyncAzureOpenAI

        client: Any = httpx.AsyncClient(transport=transport, event_hooks=hooks)
        # The address and key are placeholders. Nothing is sent there.
        return AsyncAzureOpenAI(
            api_key="none",
            azure_endpoint="https://batch.invalid",
            api_version="2024-10-21",
            max_retries=0,
            http_client=client,
        )
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    return AsyncHTTPHandler(transport=transport, event_hooks=hooks)


def open_batch_queue(model: str, api_base: str | None) -> BatchQueue | None:
    """Return the queue for a model in the current run, or None outside of `batching`."""
    batches, key = get_current_batches(), (model, api_base)
    if batches is None:
        return None
    if key not in batches.queues:
        batches.queues[key] = BatchQueue(model, api_base, batches)
    return batches.queues[key]
