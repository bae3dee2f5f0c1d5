"""The gate before the proxy: who may come in, with what, and how many at a time.

LiteLLM's proxy has some hundreds of routes (users, budgets, pass-through to providers). A judge
needs five. Everything else ends here, as does what has no key, is too large, names no known model
or comes while too much is under way.
"""

from __future__ import annotations

import hmac
import json
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragassay.model_names import provider_of
from ragassay.models.serving.metrics import ServerMetrics

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

N_BYTES_MOST = 4 * 2**20
"""A larger request is refused: a million tokens fit."""

N_UNDER_WAY_MOST = 256
"""Further completions are sent away with 429; with `N_BYTES_MOST` this bounds the memory."""

RETRY_AFTER_S = 5

CHAT = frozenset({"/v1/chat/completions", "/chat/completions"})
OPEN = frozenset({"/health/liveliness", "/health/liveness", "/health/readiness"})
MODELS = ("/v1/models", "/models")

CLIENT_LEFT = 499

_LOG = logging.getLogger(__name__)


@dataclass(eq=False)
class Refusal(Exception):
    """A request that ends at the gate.

    Attributes:
        status: HTTP status.
        message: For a person.
        code: OpenAI's word for it.
        param: The offending parameter.
    """

    status: int
    message: str
    code: str
    param: str | None = None

    @property
    def body(self) -> bytes:
        """As OpenAI's clients expect it."""
        kind = "rate_limit_error" if self.status == 429 else "invalid_request_error"
        error = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return json.dumps({"error": error}).encode()


class Gate:
    """ASGI application around the proxy's.

    Args:
        app: The proxy.
        key: What a client must show as bearer token.
        models: Names that can be asked.
        metrics: Counts what passes.
        n_most: Completions under way at a time.
    """

    def __init__(
        self,
        app: App,
        key: str,
        models: Sequence[str],
        metrics: ServerMetrics,
        n_most: int = N_UNDER_WAY_MOST,
    ) -> None:
        self._app, self._key = app, key.encode()
        self._models, self._metrics, self._n_most = tuple(models), metrics, n_most
        self._n_under_way = 0

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            try:
                await self._route(scope, receive, send)
            except Refusal as refusal:
                self._metrics.count("", refusal.status)
                await _answer(send, refusal.status, refusal.body)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _route(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        method, path = scope["method"], scope["path"]
        if method == "GET" and path in OPEN:
            await self._app(scope, receive, send)
        elif method == "GET" and path == "/metrics":
            await _answer(send, 200, self._metrics.page(), b"text/plain; version=0.0.4")
        elif method == "POST" and path in CHAT:
            self._check_key(scope)
            await self._chat(scope, receive, send)
        elif method == "GET" and path.startswith(MODELS):
            self._check_key(scope)
            await _answer(send, 200, self._listed(path.partition("/models")[2].strip("/")))
        else:
            known = "/v1/chat/completions, /v1/models, /health/liveliness, /health/readiness"
            raise Refusal(
                404, f"{method} {path}: not served; {known} and /metrics are", "not_found"
            )

    def _listed(self, name: str) -> bytes:
        """One model, or all of them for an empty name."""
        cards = [
            {"id": model, "object": "model", "created": 0, "owned_by": provider_of(model)}
            for model in self._models
        ]
        if not name:
            return json.dumps({"object": "list", "data": cards}).encode()
        self._check_known(name)
        return json.dumps(cards[self._models.index(name)]).encode()

    def _check_known(self, model: object) -> None:
        if model not in self._models:
            message = (
                f"model {str(model)[:200]!r} is not served; there is {', '.join(self._models)}"
            )
            raise Refusal(404, message, "model_not_found", "model")

    def _check_key(self, scope: MutableMapping[str, Any]) -> None:
        shown = dict(scope["headers"]).get(b"authorization", b"")
        kind, _, token = shown.partition(b" ")
        if kind.lower() != b"bearer" or not hmac.compare_digest(token.strip(), self._key):
            message = "wrong or missing key: send `Authorization: Bearer KEY`"
            raise Refusal(401, message, "invalid_api_key")

    async def _chat(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if self._n_under_way >= self._n_most:
            raise Refusal(429, f"{self._n_most} requests are under way: try again", "overloaded")
        self._n_under_way += 1
        self._metrics.begin()
        try:
            body = await _whole_body(receive)
            model = self._model(body)
            await self._ask(model, scope, _Replay(body, receive), send)
        finally:
            self._n_under_way -= 1
            self._metrics.end()

    def _model(self, body: bytes) -> str:
        try:
            asked = json.loads(body)
            model = asked["model"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            message = "the body is no JSON object with a `model`"
            raise Refusal(400, message, "invalid_request") from error
        self._check_known(model)
        return model

    async def _ask(
        self, model: str, scope: MutableMapping[str, Any], receive: Receive, send: Send
    ) -> None:
        start, status = time.monotonic(), CLIENT_LEFT

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            self._metrics.count(model, status, time.monotonic() - start)
            if status >= 500:
                _LOG.error("%s: a request ended with status %s", model, status)


class _Replay:
    """Gives the body that was read already, then what the connection says further."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._first: Message | None = {"type": "http.request", "body": body, "more_body": False}
        self._receive = receive

    async def __call__(self) -> Message:
        first, self._first = self._first, None
        return first if first is not None else await self._receive()


async def _whole_body(receive: Receive) -> bytes:
    """The request's body.

    Raises:
        Refusal: It is too large, or the client went away.
    """
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(CLIENT_LEFT, "the client went away", "client_left")
        body += message.get("body", b"")
        if len(body) > N_BYTES_MOST:
            problem = f"the request is larger than {N_BYTES_MOST:,} bytes"
            raise Refusal(413, problem, "request_too_large")
        if not message.get("more_body"):
            return bytes(body)


async def _answer(send: Send, status: int, body: bytes, kind: bytes = b"application/json") -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    if status == 429:
        headers.append((b"retry-after", str(RETRY_AFTER_S).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
