"""The requests to one model: gathered, submitted together, answered when their batch ends."""

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
from ragassay.model_names import provider_of
from ragassay.models.batch_services import (
    CANCELLED,
    EXPIRED,
    TOO_LATE,
    BatchCalls,
    BatchRequest,
    UnknownBatchError,
)
from ragassay.models.batches import Batches, ItemReply, JsonBody, SubmittedBatch, current_batches
from ragassay.models.litellm_library import estimate_usd
from ragassay.models.received import note_error, receive
from ragassay.records import FailureReason

if TYPE_CHECKING:
    import httpx

QUIET_S = 2.0
"""A batch is submitted when no further call has come for so long, and the process is idle."""

BUSY_SHARE = 0.25
"""Share of a processor that a process uses which is not idle: more calls may come."""

FIRST_CHECK_S, LONGEST_CHECK_S, CHECK_GROWTH = 5.0, 300.0, 1.5
"""Pauses between two looks at a batch: most take minutes, some a day."""

REASONS: Mapping[int, FailureReason] = {
    408: "timeout",
    409: "error",
    425: "error",
    429: "rate_limit",
    CANCELLED: "error",
    TOO_LATE: "timeout",
}
"""Reasons of requests that may succeed when they are asked again, by status; above 500 all may."""


@dataclass
class _QueuedRequest:
    request: BatchRequest
    n_bytes: int
    reply: asyncio.Future[ItemReply]


class BatchQueue:
    """The requests to one model.

    Attributes:
        client: What LiteLLM takes as its HTTP client: it waits for the batch.
    """

    def __init__(self, model: str, api_base: str | None, batches: Batches) -> None:
        self._model, self._base, self._batches = model, api_base, batches
        self._endpoint = hashlib.sha256((api_base or "").encode()).hexdigest()[:16]
        self._calls = BatchCalls(model, api_base)
        self._waiting: dict[str, _QueuedRequest] = {}
        self._submitted: dict[str, _QueuedRequest | None] = {}
        self._ready: dict[str, ItemReply] = {}
        self._n_asked: Counter[str] = Counter()
        self._gathering: asyncio.Task[None] | None = None
        self.client = _waiting_client(provider_of(model), self._respond)
        self._resume()

    async def ask(self, body: JsonBody) -> ItemReply:
        """Wait until a batch brings the reply to a request.

        Raises:
            FatalModelError: The provider refuses batches, or the money is spent.
        """
        text = json.dumps([self._model, body], sort_keys=True)
        content = hashlib.sha256(text.encode()).hexdigest()[:40]
        # The same question may be asked several times, for several samples or after a junk reply.
        self._n_asked[content] += 1
        key = f"{content}-{self._n_asked[content]}"
        if key in self._ready:
            return self._ready.pop(key)
        future = asyncio.get_running_loop().create_future()
        asked = _QueuedRequest(BatchRequest(key, body), len(text), future)
        if key in self._submitted:
            self._submitted[key] = asked
        else:
            self._wait(asked)
        return await future

    async def _respond(self, request: httpx.Request) -> httpx.Response:
        """Return the HTTP response to a request, from a batch."""
        from httpx import Response

        try:
            reply = await self.ask(json.loads(request.content))
            if reply.status >= 500 or reply.status in REASONS:
                raise _build_missing_reply_error(reply)
        except ModelError as error:
            note_error(error)  # LiteLLM wraps it in one of its own.
            raise
        return Response(reply.status, json=reply.body)

    def _resume(self) -> None:
        """Take up the batches of an earlier start."""
        for batch in self._batches.store.batches():
            if (batch.model, batch.endpoint) != (self._model, self._endpoint):
                continue
            if batch.state == "collected":
                replies = self._batches.store.replies(batch)
                self._ready |= {key: one for key, one in replies.items() if one.status == 200}
            else:
                self._submitted |= dict.fromkeys(batch.keys)
                self._batches.start(self._look_after(batch, 0.0))

    def _wait(self, asked: _QueuedRequest) -> None:
        self._waiting[asked.request.key] = asked
        if self._gathering is None or self._gathering.done():
            self._gathering = self._batches.start(self._gather())

    async def _gather(self) -> None:
        """Submit what waits, as long as anything does."""
        while self._waiting:
            await self._wait_until_quiet()
            taken = self._take()
            try:
                if taken:
                    await self._submit(taken)
            except Exception as error:  # whatever it is, the calls that wait must learn of it
                _fail([*taken, *self._waiting.values()], error)
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
        n_bytes = sum(one.n_bytes for one in self._waiting.values())
        n_most = self._calls.most_requests
        return len(self._waiting) >= n_most or n_bytes >= self._calls.most_bytes

    def _take(self) -> list[_QueuedRequest]:
        """Return as many of those that wait as one batch may hold."""
        taken: list[_QueuedRequest] = []
        n_bytes = 0
        for asked in self._waiting.values():
            n_bytes += asked.n_bytes
            is_over = len(taken) == self._calls.most_requests or n_bytes > self._calls.most_bytes
            if taken and is_over:
                break
            taken.append(asked)
        for asked in taken:
            del self._waiting[asked.request.key]
        return [one for one in taken if not one.reply.done()]  # a cancelled call wants no reply

    async def _submit(self, taken: Sequence[_QueuedRequest]) -> None:
        store, requests = self._batches.store, [one.request for one in taken]
        batch = SubmittedBatch(
            model=self._model,
            endpoint=self._endpoint,
            keys=tuple(one.key for one in requests),
            estimate_usd=estimate_usd(self._model, ((a.n_bytes, a.request.body) for a in taken)),
        )
        self._batches.reserve(batch)
        # Kept before it is submitted: a run that is killed meanwhile looks for it by its name.
        store.save(batch)
        try:
            batch_id = await self._calls.create(batch.name, requests)
        except Exception:
            self._batches.release(batch)
            store.forget(batch)
            raise
        batch = batch.model_copy(update={"id": batch_id})
        store.save(batch)
        self._submitted |= {one.request.key: one for one in taken}
        self._batches.start(self._look_after(batch, FIRST_CHECK_S))

    async def _look_after(self, batch: SubmittedBatch, first_check_s: float) -> None:
        """Wait for the end of a batch and hand out its replies."""
        try:
            batch = await self._find(batch)
            await self._wait_for(batch, first_check_s)
        except UnknownBatchError:
            self._batches.store.forget(batch)
            self._ask_again(batch)
        except Exception as error:  # whatever it is, the calls that wait must learn of it
            _fail([self._submitted.pop(key, None) for key in batch.keys], error)
        finally:
            self._batches.release(batch)

    async def _find(self, batch: SubmittedBatch) -> SubmittedBatch:
        """Return a batch with the provider's name for it.

        Raises:
            UnknownBatchError: The run was killed before the provider had it.
        """
        if batch.id:
            return batch
        found = batch.model_copy(update={"id": await self._calls.find(batch.name)})
        self._batches.store.save(found)
        return found

    async def _wait_for(self, batch: SubmittedBatch, wait_s: float) -> None:
        while True:
            self._batches.tell(_progress(batch, wait_s))
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
        unanswered, why = CANCELLED, f"the batch is {status.ending}"
        if status.ending == "expired":
            unanswered, why = TOO_LATE, EXPIRED
        for key in batch.keys:
            missing = ItemReply(key, unanswered, {"error": {"message": why}})
            self._hand_out(replies.get(key, missing))

    def _hand_out(self, reply: ItemReply) -> None:
        asked = self._submitted.pop(reply.key, None)
        if asked is not None and not asked.reply.done():
            asked.reply.set_result(reply)
        elif reply.status == 200:  # its question of an earlier start is still to come
            self._ready[reply.key] = reply

    def _ask_again(self, batch: SubmittedBatch) -> None:
        """Put the requests of a batch that the provider does not know into the next one."""
        for key in batch.keys:
            asked = self._submitted.pop(key, None)
            if asked is not None:
                self._wait(asked)


def _fail(calls: Sequence[_QueuedRequest | None], error: Exception) -> None:
    for asked in calls:
        if asked is not None and not asked.reply.done():
            asked.reply.set_exception(error)


def _build_missing_reply_error(reply: ItemReply) -> BatchError:
    """Return the error of a request that its batch did not answer."""
    error = reply.body.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    return BatchError(
        f"a request of a batch has no reply: {message or reply.status}; --retry-failed asks again",
        REASONS.get(reply.status, "server_error"),
    )


def _progress(batch: SubmittedBatch, wait_s: float) -> str:
    n = len(batch.keys)
    cost = "" if batch.estimate_usd is None else f", at most ${batch.estimate_usd:.4f}"
    asked = f"{n} question{'' if n == 1 else 's'}{cost}"
    return f"submitted batch {batch.id} with {asked}; checked again in {wait_s:.0f} s"


def _waiting_client(provider: str, respond: Any) -> Any:
    """Return the HTTP client that LiteLLM takes for a provider, with our own answers."""
    import httpx

    transport = httpx.MockTransport(respond)
    hooks: Any = {"response": [receive]}
    if provider == "azure":
        from openai import AsyncAzureOpenAI

        client: Any = httpx.AsyncClient(transport=transport, event_hooks=hooks)
        # Nothing is sent to this address, and no key is needed.
        return AsyncAzureOpenAI(
            api_key="none",
            azure_endpoint="https://batch.invalid",
            api_version="2024-10-21",
            max_retries=0,
            http_client=client,
        )
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    return AsyncHTTPHandler(transport=transport, event_hooks=hooks)


def batch_queue(model: str, api_base: str | None) -> BatchQueue | None:
    """Return the queue of a model in the run that calls; None outside of `batching`."""
    batches, place = current_batches(), (model, api_base)
    if batches is None:
        return None
    if place not in batches.queues:
        batches.queues[place] = BatchQueue(model, api_base, batches)
    return batches.queues[place]
