"""Chat completions: a bounded number at a time, each one call of LiteLLM."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ragassay.errors import ModelError, PromptTooLongError, RefusedError, SettingsError
from ragassay.model_names import is_local
from ragassay.models.serving.metrics import ServerMetrics
from ragassay.models.serving.requests import (
    CLIENT_LEFT,
    RETRY_AFTER_S,
    Gate,
    Refusal,
    local_problem,
    read_request,
)

N_UNDER_WAY_MOST = 256
"""Further completions are sent away with 429; with `N_BYTES_MOST` this bounds the memory."""

_LOG = logging.getLogger(__name__)


class Completions:
    """ASGI application of the route for chats.

    Args:
        gate: Knows the key and the models.
        complete: `litellm.acompletion`.
        timeout_s: Longest wait for a hosted model.
        n_most: Completions under way at a time.

    Attributes:
        metrics: What passed.
    """

    def __init__(
        self,
        gate: Gate,
        complete: Callable[..., Awaitable[Any]],
        timeout_s: float,
        n_most: int = N_UNDER_WAY_MOST,
    ) -> None:
        self.metrics = ServerMetrics()
        self._gate, self._complete = gate, complete
        self._timeout_s, self._n_most = timeout_s, n_most
        self._n_under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a chat.

        Raises:
            Refusal: Before a model was asked.
        """
        request = Request(scope, receive)
        self._gate.check_key(request)
        if self._n_under_way >= self._n_most:
            message = f"{self._n_most} requests are under way: try again"
            raise Refusal(429, message, "overloaded")
        self._n_under_way += 1
        try:
            with self.metrics.in_flight.track_inprogress():
                asked = await read_request(request)
                model = self._gate.served(asked.pop("model"))
                await self._answer(model, asked, request, send)
        finally:
            self._n_under_way -= 1

    async def _answer(
        self, model: str, asked: dict[str, Any], request: Request, send: Send
    ) -> None:
        start, status = time.monotonic(), CLIENT_LEFT
        try:
            response = await _unless_left(request, self._response(model, asked))
            if response is not None:
                status = response.status_code
                await response(request.scope, request.receive, send)
        finally:
            self.metrics.count(model, status, time.monotonic() - start)
            if status >= 500:
                _LOG.error("%s: a request ended with status %s", model, status)

    async def _response(self, model: str, asked: dict[str, Any]) -> Response:
        """The answer of a model, or why there is none."""
        streams = bool(asked.pop("stream", False))
        tells_usage = bool((asked.pop("stream_options", None) or {}).get("include_usage"))
        if is_local(model):
            if problem := local_problem(asked):
                return Refusal(400, problem, "invalid_request").response()
        elif streams:
            asked |= {"stream": True, "stream_options": {"include_usage": True}}
        try:
            with _errors_as_refusals():
                reply = await self._complete(
                    model=model,
                    api_base=self._gate.models[model],
                    timeout=self._timeout_s,
                    num_retries=0,
                    max_retries=0,
                    drop_params=True,
                    **asked,
                )
        except Refusal as refusal:
            return refusal.response()
        if "stream" in asked:
            events = self._events(model, reply, tells_usage)
        elif streams:
            events = _in_one_piece(self._counted(model, reply), tells_usage)
        else:
            return Response(json.dumps(self._counted(model, reply)), media_type="application/json")
        return StreamingResponse(events, media_type="text/event-stream")

    def _counted(self, model: str, reply: Any) -> dict[str, Any]:
        """A reply, or a piece of one, as JSON, its tokens counted."""
        whole = reply.model_dump(mode="json", exclude_none=True) | {"model": model}
        usage = whole.get("usage")
        if usage:
            n_cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
            self.metrics.count_tokens(
                model, usage["prompt_tokens"], n_cached, usage["completion_tokens"]
            )
        return whole

    async def _events(
        self, model: str, pieces: AsyncIterator[Any], tells_usage: bool
    ) -> AsyncIterator[str]:
        """A hosted model's reply as it comes."""
        try:
            with _errors_as_refusals():
                async for piece in pieces:
                    shown = self._counted(model, piece)
                    if tells_usage or "usage" not in shown:
                        yield _event(shown)
        except Refusal as refusal:  # the status went out long ago
            _LOG.error("%s: a stream broke off", model)
            yield _event(refusal.error)
        else:
            yield "data: [DONE]\n\n"


async def _in_one_piece(whole: dict[str, Any], tells_usage: bool) -> AsyncIterator[str]:
    """A local model's reply: a batch decodes together, and a schema forces many tokens at once."""
    usage, (choice,) = whole.pop("usage"), whole.pop("choices")
    whole["object"] = "chat.completion.chunk"
    choice["delta"] = choice.pop("message")
    yield _event(whole | {"choices": [choice]})
    if tells_usage:
        yield _event(whole | {"choices": [], "usage": usage})
    yield "data: [DONE]\n\n"


def _event(shown: dict[str, Any]) -> str:
    return f"data: {json.dumps(shown)}\n\n"


async def _unless_left(request: Request, answer: Any) -> Response | None:
    """The answer; None where the client goes away before, and then nothing computes it further."""
    answering = asyncio.ensure_future(answer)
    leaving = asyncio.ensure_future(request.receive())  # after the body nothing else comes
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return answering.result() if answering.done() else None
    finally:
        leaving.cancel()
        answering.cancel()


@contextmanager
def _errors_as_refusals() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # the boundary of a request; every provider has errors of its own
        raise refusal_for(error) from error


def refusal_for(error: BaseException) -> Refusal:
    """What a client is told about an error of LiteLLM or of a local model."""
    for known in (error, error.__cause__, error.__context__):
        if isinstance(known, PromptTooLongError):
            # In the words by which OpenAI's clients tell this error from other refusals.
            message = f"This model's maximum context length is exceeded: {known}"
            return Refusal(400, message, "context_length_exceeded", "messages")
        if isinstance(known, RefusedError):
            return Refusal(400, str(known), "invalid_request")
        if isinstance(known, ModelError | SettingsError):
            return Refusal(500, str(known), "internal_error")
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    return Refusal(
        status=int(getattr(error, "status_code", None) or 500),
        message=str(error),
        code=str(getattr(error, "code", None) or type(error).__name__),
        retry_after_s=headers.get("retry-after", RETRY_AFTER_S),
    )
