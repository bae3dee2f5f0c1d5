"""Request validation and error responses of the model server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from openai.types.chat.completion_create_params import CompletionCreateParamsBase
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse

from ragassay.errors import ModelError, PromptTooLongError, RefusedError, SettingsError

N_BYTES_MOST = 4 * 2**20
"""Maximum request size, enough for a million tokens."""

READ_S = 60
"""Maximum time in seconds for receiving a request.

A request that is still being received counts as running.
"""

MOST = {"n": 128, "top_logprobs": 20}
"""OpenAI's limits. Every reply of a hosted model costs money and memory."""

RETRY_AFTER_S = "5"

CLIENT_LEFT = 499

ROLES = ("system", "developer", "user", "assistant")

OPTIONS = frozenset(CompletionCreateParamsBase.__annotations__) | {"stream"}
"""OpenAI's parameters. LiteLLM's own parameters could send the server's keys to another host."""


@dataclass(eq=False)
class Refusal(Exception):
    """Error response of the server to a request."""

    status: int
    message: str
    code: str
    param: str | None = None
    retry_after_s: str = RETRY_AFTER_S

    @property
    def error(self) -> dict[str, Any]:
        """Error in the format of OpenAI's API."""
        if self.status == 429:
            kind = "rate_limit_error"
        else:
            kind = "server_error" if self.status >= 500 else "invalid_request_error"
        fields = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return {"error": fields}

    def build_response(self) -> JSONResponse:
        """Return the HTTP response for the error."""
        headers = {"retry-after": self.retry_after_s} if self.status == 429 else None
        return JSONResponse(self.error, self.status, headers)


async def read_request(request: Request) -> dict[str, Any]:
    """Read a JSON object with OpenAI's parameters. Raises `Refusal` if the request is invalid."""
    body = await _read_body(request)
    try:
        parameters = json.loads(body, parse_constant=_refuse_constant)
        # Rejects unpaired surrogates, which no tokenizer accepts.
        json.dumps(parameters, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        parameters = None
    if not isinstance(parameters, dict) or "model" not in parameters:
        raise Refusal(400, "the body must be a JSON object with a `model`", "invalid_request")
    for name in parameters.keys() - OPTIONS:
        name = name[:200]
        raise Refusal(400, f"{name}: not a parameter of OpenAI's API", "unknown", name)
    for name, most in MOST.items():
        if parameters.get(name) is not None and not _is_count(parameters[name], 0, most):
            message = f"{name}: must be an integer from 0 to {most}"
            raise Refusal(400, message, "invalid_request", name)
    if not isinstance(parameters.get("stream_options") or {}, dict):
        raise Refusal(400, "stream_options: must be an object", "invalid_request")
    return parameters


async def _read_body(request: Request) -> bytes:
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
        raise Refusal(CLIENT_LEFT, "the client disconnected", "client_left") from error
    return bytes(body)


def _refuse_constant(name: str) -> None:
    """Reject NaN and infinities, which Python accepts but JSON does not allow."""
    raise ValueError(f"{name} is not a JSON number")


def _is_count(value: object, least: int, most: float = float("inf")) -> bool:
    return type(value) is int and least <= value <= most


def find_local_problem(asked: Mapping[str, Any]) -> str:
    """Return the reason why a local model cannot serve a request, or an empty string."""
    messages = asked.get("messages")
    if not isinstance(messages, list) or not messages:
        return "messages: at least one message is required"
    for number, message in enumerate(messages):
        problem = _find_message_problem(message)
        if problem:
            return f"messages[{number}]: {problem}"
    for name in ("max_tokens", "max_completion_tokens"):
        limit = asked.get(name)
        if limit is not None and not _is_count(limit, 1):
            return f"{name}: must be an integer of at least 1, not {limit!r}"
    if asked.get("tools") or asked.get("functions"):
        return "tools: this model does not support tool calls"
    if asked.get("n") not in (None, 1):
        return "n: must be 1, because this model returns only the most likely reply"
    response_format = asked.get("response_format") or {"type": "text"}
    is_object = isinstance(response_format, Mapping)
    kind = response_format.get("type") if is_object else response_format
    if kind not in ("text", "json_schema"):
        return f"response_format: must be json_schema with a schema, not {kind!r}"
    return ""


def _find_message_problem(message: Any) -> str:
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
        return "" if is_text else "this model supports text content only"
    return "" if isinstance(content, str) else "content: text is required"


@contextmanager
def refuse_on_error() -> Iterator[None]:
    """Convert errors of the enclosed code to error responses."""
    try:
        yield
    except Exception as error:  # Providers raise errors of any type.
        raise build_refusal(error) from error


def build_refusal(error: BaseException) -> Refusal:
    """Return the error response for an error from LiteLLM or a local model."""
    for known in (error, error.__cause__, error.__context__):
        if isinstance(known, PromptTooLongError):
            # OpenAI's clients recognize this error by its message.
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
