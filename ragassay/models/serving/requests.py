"""Checks of a request before any model sees it: key, size, parameters."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openai.types.chat.completion_create_params import CompletionCreateParamsBase
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse

N_BYTES_MOST = 4 * 2**20
"""Largest request: a million tokens fit."""

READ_S = 60
"""Longest wait for the whole of a request: it holds a place meanwhile."""

MOST = {"n": 128, "top_logprobs": 20}
"""OpenAI's own bounds. A hosted model's replies are paid and held, each of them."""

RETRY_AFTER_S = "5"

CLIENT_LEFT = 499

ROLES = ("system", "developer", "user", "assistant")

OPTIONS = frozenset(CompletionCreateParamsBase.__annotations__) | {"stream"}
"""OpenAI's parameters. LiteLLM's own could send the server's keys elsewhere."""


@dataclass(eq=False)
class Refusal(Exception):
    """An error reply to a request.

    Attributes:
        status: HTTP status.
        message: The message for a person.
        code: OpenAI's error code.
        param: The wrong parameter.
        retry_after_s: Seconds until a rate-limited client may try again.
    """

    status: int
    message: str
    code: str
    param: str | None = None
    retry_after_s: str = RETRY_AFTER_S

    @property
    def error(self) -> dict[str, Any]:
        """The error in the form of OpenAI's clients."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        kind = "rate_limit_error" if self.status == 429 else kind
        said = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return {"error": said}

    def response(self) -> JSONResponse:
        """Return the whole HTTP response."""
        headers = {"retry-after": self.retry_after_s} if self.status == 429 else None
        return JSONResponse(self.error, self.status, headers)


@dataclass(frozen=True)
class Gate:
    """Access control: who may ask, and for which models.

    Attributes:
        key: The bearer token that a client must send.
        models: The models' names, each with its endpoint.
    """

    key: str
    models: Mapping[str, str | None]

    def check_key(self, request: Request) -> None:
        """Refuse a client without the key."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        shown = token.strip().encode()
        if kind.lower() != "bearer" or not hmac.compare_digest(shown, self.key.encode()):
            message = "wrong or missing key: send `Authorization: Bearer KEY`"
            raise Refusal(401, message, "invalid_api_key")

    def served(self, name: object) -> str:
        """Return a model's name; refuse unknown ones."""
        if not isinstance(name, str) or name not in self.models:
            known = ", ".join(self.models)
            message = f"model {str(name)[:200]!r} is not served; there is {known}"
            raise Refusal(404, message, "model_not_found", "model")
        return name


async def read_request(request: Request) -> dict[str, Any]:
    """Read a request's body, a JSON object with OpenAI's parameters.

    Raises:
        Refusal: It is too large, too slow or not such an object, or the client disconnected.
    """
    body = await _body(request)
    try:
        asked = json.loads(body, parse_constant=_refuse_constant)
        # Half of a surrogate pair is no text: no tokenizer takes it.
        json.dumps(asked, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict) or "model" not in asked:
        raise Refusal(400, "the body is no JSON object with a `model`", "invalid_request")
    for name in asked.keys() - OPTIONS:
        name = name[:200]
        raise Refusal(400, f"{name}: OpenAI's protocol has no such parameter", "unknown", name)
    for name, most in MOST.items():
        if asked.get(name) is not None and not _is_count(asked[name], 0, most):
            problem = f"{name}: a whole number of at most {most} is wanted"
            raise Refusal(400, problem, "invalid_request", name)
    if not isinstance(asked.get("stream_options") or {}, dict):
        raise Refusal(400, "stream_options: an object is wanted", "invalid_request")
    return asked


async def _body(request: Request) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(READ_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > N_BYTES_MOST:
                    problem = f"the request is larger than {N_BYTES_MOST:,} bytes"
                    raise Refusal(413, problem, "request_too_large")
    except TimeoutError as error:
        problem = f"the request did not arrive within {READ_S} seconds"
        raise Refusal(408, problem, "timeout") from error
    except ClientDisconnect as error:
        raise Refusal(CLIENT_LEFT, "the client went away", "client_left") from error
    return bytes(body)


def _refuse_constant(name: str) -> None:
    """NaN and infinities are Python's own: JSON has none."""
    raise ValueError(f"{name} is no number of JSON")


def _is_count(value: object, least: int, most: float = float("inf")) -> bool:
    return type(value) is int and least <= value <= most


def local_problem(asked: Mapping[str, Any]) -> str:
    """Return why a local model cannot serve a request; empty if it can."""
    messages = asked.get("messages")
    if not isinstance(messages, list) or not messages:
        return "messages: at least one is wanted"
    for number, message in enumerate(messages):
        problem = _message_problem(message)
        if problem:
            return f"messages[{number}]: {problem}"
    for name in ("max_tokens", "max_completion_tokens"):
        limit = asked.get(name)
        if limit is not None and not _is_count(limit, 1):
            return f"{name}: a whole number of at least 1 is wanted, not {limit!r}"
    if asked.get("tools") or asked.get("functions"):
        return "tools: this model calls none"
    if asked.get("n") not in (None, 1):
        return "n: this model gives one reply, always its likeliest"
    wanted = asked.get("response_format") or {"type": "text"}
    kind = wanted.get("type") if isinstance(wanted, Mapping) else wanted
    if kind not in ("text", "json_schema"):
        return f"response_format: json_schema with a schema is wanted, not {kind!r}"
    return ""


def _message_problem(message: Any) -> str:
    if not isinstance(message, Mapping) or message.get("role") not in ROLES:
        return f"role must be one of {', '.join(ROLES)}"
    content = message.get("content")
    if isinstance(content, list):
        is_text = all(
            isinstance(part, Mapping)
            and part.get("type") == "text"
            and isinstance(part.get("text"), str)
            for part in content
        )
        return "" if is_text else "this model reads text, nothing else"
    return "" if isinstance(content, str) else "content: text is wanted"
