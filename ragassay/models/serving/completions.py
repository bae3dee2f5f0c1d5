"""Chat completions: a limited number at a time, each one call of LiteLLM."""

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
"""Most concurrent completions; further ones get 429. With `N_BYTES_MOST` this limits the memory."""

_LOG = logging.getLogger(__name__)


class Completions:
    """The ASGI application of the chat route.

    Args:
        gate: Checks the key and the models' names.
        complete: `litellm.acompletion`.
        timeout_s: Longest wait for a hosted model.
        n_most: Most concurrent completions.

    Attributes:
        metrics: Counters of the requests.
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
            Refusal: The request is refused before a model is asked.
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
        """Return a model's answer, or an error."""
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
        """Return a reply or a part of one as JSON, and count its tokens."""
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
        """Yield a hosted model's reply as it arrives."""
        try:
            with _errors_as_refusals():
                async for piece in pieces:
                    shown = self._counted(model, piece)
                    if tells_usage or "usage" not in shown:
                        yield _event(shown)
        except Refusal as refusal:  # the status was sent long ago
            _LOG.error("%s: a stream broke off", model)
            yield _event(refusal.error)
        else:
            yield "data: [DONE]\n\n"


async def _in_one_piece(whole: dict[str, Any], tells_usage: bool) -> AsyncIterator[str]:
    """Yield a local model's reply: a batch decodes together, and a schema forces many tokens."""
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
    """Return the answer; None if the client disconnects first, which cancels it."""
    answering = asyncio.ensure_future(answer)
    leaving = asyncio.ensure_future(request.receive())  # nothing else follows the body
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
    """Return the client's error for an error of LiteLLM or of a local model."""
    for known in (error, error.__cause__, error.__context__):
        if isinstance(known, PromptTooLongError):
            # OpenAI's clients recognise this error by these words.
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
