"""ASGI application of the model server: OpenAI's chat routes over LiteLLM, with an API key."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ragassay.model_names import find_provider, is_local
from ragassay.models.local.batcher import list_batcher_loads
from ragassay.models.serving.requests import (
    CLIENT_LEFT,
    Refusal,
    find_local_problem,
    read_request,
    refuse_on_error,
)

N_IN_FLIGHT_MOST = 256
"""Maximum number of concurrent completions. Additional requests get status 429."""

SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0)
"""Upper bounds of the latency histogram's buckets in seconds."""

HEALTH = ("liveliness", "liveness", "readiness")

_SERVED = "/v1/chat/completions, /v1/models, /health/liveliness, /health/readiness and /metrics are"

_LOG = logging.getLogger(__name__)


class ServerMetrics:
    """Metrics of one server, available at `/metrics` in Prometheus' text format.

    The number of label values is bounded, because only served model names are used.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        register: Any = {"registry": self._registry}
        self._requests = Counter(
            "ragassay_requests",
            "Finished requests, by model and status.",
            ["model", "status"],
            **register,
        )
        self._seconds = Histogram(
            "ragassay_request_seconds",
            "Seconds from receiving a chat request to the end of the reply.",
            ["model"],
            buckets=SECONDS,
            **register,
        )
        self._tokens = Counter(
            "ragassay_tokens",
            "Tokens, by model and kind: prompt, cached part of the prompt, or completion.",
            ["model", "kind"],
            **register,
        )
        self.in_flight = Gauge("ragassay_requests_in_flight", "Running requests.", **register)
        self._registry.register(_LocalLoad())
        ProcessCollector(**register)

    def count(self, model: str, status: int, seconds: float | None = None) -> None:
        """Count a request, and record the duration of a completion."""
        self._requests.labels(model, str(status)).inc()
        if seconds is not None:
            self._seconds.labels(model).observe(seconds)

    def count_tokens(self, model: str, usage: Mapping[str, Any]) -> None:
        """Count the tokens of a completion."""
        n_cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        self._tokens.labels(model, "prompt").inc(usage["prompt_tokens"])
        self._tokens.labels(model, "cached").inc(n_cached)
        self._tokens.labels(model, "completion").inc(usage["completion_tokens"])

    def render_metrics(self) -> bytes:
        """Return all metrics in Prometheus' format."""
        return generate_latest(self._registry)


class _LocalLoad:
    def collect(self) -> Iterator[Metric]:
        known = list_batcher_loads()
        n_waiting = sum(load.n_waiting for load in known)
        text = "Calls to local models that are waiting or running."
        yield GaugeMetricFamily("ragassay_local_calls_waiting", text, n_waiting)
        n_batches = sum(load.n_batches for load in known)
        text = "Batches started by local models."
        yield CounterMetricFamily("ragassay_local_batches", text, n_batches)
        n_batched = sum(load.n_batched for load in known)
        text = "Calls in all batches. Divide by ragassay_local_batches for the mean batch size."
        yield CounterMetricFamily("ragassay_local_batched_calls", text, n_batched)
        n_largest = max((load.n_largest for load in known), default=0)
        text = "Size of the largest batch so far."
        yield GaugeMetricFamily("ragassay_local_largest_batch", text, n_largest)


class ChatServer:
    """Server that offers models through OpenAI's API, with a limit on concurrent chats.

    The object itself is the ASGI application of the chat route.

    Args:
        key: Bearer token required from clients.
        timeout_s: Timeout in seconds for calls to hosted models.
    """

    def __init__(
        self,
        key: str,
        models: Mapping[str, str | None],
        complete: Callable[..., Awaitable[Any]],
        timeout_s: float,
        n_most: int = N_IN_FLIGHT_MOST,
    ) -> None:
        self.metrics = ServerMetrics()
        self._key, self._models, self._complete = key.encode(), models, complete
        self._timeout_s, self._n_most = timeout_s, n_most
        self._places = asyncio.Semaphore(n_most)

    def create_app(self) -> Starlette:
        """Build the application with all routes."""
        routes = [Route(f"/health/{word}", self._report_health) for word in HEALTH]
        routes.append(Route("/metrics", self._report_metrics))
        for root in ("/v1", ""):
            routes.append(Route(f"{root}/chat/completions", self, methods=["POST"]))
            routes.append(Route(f"{root}/models", self._list_models))
            routes.append(Route(f"{root}/models/{{name:path}}", self._list_models))
        handlers: Any = {Refusal: self._refuse, HTTPException: self._refuse}
        return Starlette(routes=routes, exception_handlers=handlers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a chat request, or raise `Refusal`."""
        request = Request(scope, receive)
        self._check_key(request)
        if self._places.locked():
            message = f"{self._n_most} requests are running; try again later"
            raise Refusal(429, message, "overloaded")
        async with self._places:
            with self.metrics.in_flight.track_inprogress():
                parameters = await read_request(request)
                model = self._require_served(parameters.pop("model"))
                await self._answer(model, parameters, request, send)

    async def _list_models(self, request: Request) -> Response:
        self._check_key(request)
        cards = {
            name: {"id": name, "object": "model", "created": 0, "owned_by": find_provider(name)}
            for name in self._models
        }
        if name := request.path_params.get("name"):
            return JSONResponse(cards[self._require_served(name)])
        return JSONResponse({"object": "list", "data": list(cards.values())})

    async def _report_health(self, request: Request) -> Response:
        return JSONResponse({"status": "healthy"})

    async def _report_metrics(self, request: Request) -> Response:
        return Response(self.metrics.render_metrics(), media_type="text/plain; version=0.0.4")

    async def _refuse(self, request: Request, error: Exception) -> Response:
        if not isinstance(error, Refusal):
            route = f"{request.method} {request.url.path}"
            error = Refusal(404, f"{route} is not served; {_SERVED}", "not_found")
        self.metrics.count("", error.status)
        return error.build_response()

    def _check_key(self, request: Request) -> None:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        is_right = hmac.compare_digest(token.strip().encode(), self._key)
        if kind.lower() != "bearer" or not is_right:
            message = "wrong or missing key; send `Authorization: Bearer KEY`"
            raise Refusal(401, message, "invalid_api_key")

    def _require_served(self, name: object) -> str:
        if not isinstance(name, str) or name not in self._models:
            known = ", ".join(self._models)
            message = f"model {str(name)[:200]!r} is not served; choose one of {known}"
            raise Refusal(404, message, "model_not_found", "model")
        return name

    async def _answer(
        self, model: str, parameters: dict[str, Any], request: Request, send: Send
    ) -> None:
        start, status = time.monotonic(), CLIENT_LEFT
        try:
            response = await _await_answer(request, self._build_response(model, parameters))
            if response is not None:
                status = response.status_code
                await response(request.scope, request.receive, send)
        finally:
            self.metrics.count(model, status, time.monotonic() - start)
            if status >= 500:
                _LOG.error("%s: a request failed with status %s", model, status)

    async def _build_response(self, model: str, parameters: dict[str, Any]) -> Response:
        streams = bool(parameters.pop("stream", False))
        stream_options = parameters.pop("stream_options", None) or {}
        has_usage = bool(stream_options.get("include_usage"))
        if is_local(model):
            if problem := find_local_problem(parameters):
                return Refusal(400, problem, "invalid_request").build_response()
        elif streams:
            parameters |= {"stream": True, "stream_options": {"include_usage": True}}
        try:
            with refuse_on_error():
                reply = await self._complete(
                    model=model,
                    api_base=self._models[model],
                    timeout=self._timeout_s,
                    num_retries=0,
                    max_retries=0,
                    drop_params=True,
                    **parameters,
                )
        except Refusal as refusal:
            return refusal.build_response()
        if "stream" in parameters:
            events = self._stream_events(model, reply, has_usage)
        elif streams:
            events = _stream_single_chunk(self._count_tokens(model, reply), has_usage)
        else:
            return Response(
                json.dumps(self._count_tokens(model, reply)), media_type="application/json"
            )
        return StreamingResponse(events, media_type="text/event-stream")

    def _count_tokens(self, model: str, reply: Any) -> dict[str, Any]:
        content = reply.model_dump(mode="json", exclude_none=True) | {"model": model}
        if usage := content.get("usage"):
            self.metrics.count_tokens(model, usage)
        return content

    async def _stream_events(
        self, model: str, chunks: AsyncIterator[Any], has_usage: bool
    ) -> AsyncIterator[str]:
        try:
            with refuse_on_error():
                async for chunk in chunks:
                    content = self._count_tokens(model, chunk)
                    if has_usage or "usage" not in content:
                        yield _format_event(content)
        except Refusal as refusal:  # The status has already been sent.
            _LOG.error("%s: a stream was interrupted", model)
            yield _format_event(refusal.error)
        else:
            yield "data: [DONE]\n\n"


async def _stream_single_chunk(reply: dict[str, Any], has_usage: bool) -> AsyncIterator[str]:
    """Yield a local model's reply as a single chunk, because batches are decoded together."""
    usage, (choice,) = reply.pop("usage"), reply.pop("choices")
    reply["object"] = "chat.completion.chunk"
    choice["delta"] = choice.pop("message")
    yield _format_event(reply | {"choices": [choice]})
    if has_usage:
        yield _format_event(reply | {"choices": [], "usage": usage})
    yield "data: [DONE]\n\n"


def _format_event(content: dict[str, Any]) -> str:
    return f"data: {json.dumps(content)}\n\n"


async def _await_answer(request: Request, answer: Any) -> Response | None:
    """Return the answer, or cancel the request and return None if the client disconnects first."""
    answering = asyncio.ensure_future(answer)
    leaving = asyncio.ensure_future(request.receive())  # The next message is the disconnect.
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return answering.result() if answering.done() else None
    finally:
        leaving.cancel()
        answering.cancel()
