"""Build the bodies of the chat-completions protocol: completions, errors, the list of models."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ragassay.testing.logprobs import build_logprobs
from ragassay.testing.requests import JsonObject, messages_text

FinishReason: TypeAlias = Literal["stop", "length", "content_filter", "tool_calls"]

_CREATED = 1_700_000_000
_CHARS_PER_TOKEN = 4
_N_TOP_LIMIT = 20


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of one of the request's tools, used as a reply.

    Attributes:
        name: The tool's name.
        arguments: Its arguments; text is sent as it is, valid JSON or not.
    """

    name: str
    arguments: Mapping[str, object] | str = field(default_factory=dict)


def completion_body(
    request: JsonObject,
    key: str,
    content: str | None,
    *,
    refusal: str | None = None,
    tool_calls: Sequence[ToolCall] = (),
    finish_reason: FinishReason = "stop",
) -> JsonObject:
    """Build a `chat.completion` with one choice, with log-probabilities where requested.

    Args:
        request: The request's parsed body.
        key: The request's key; it seeds the identifier and the log-probabilities.
        content: The reply; None for a refusal, and where tools are called.
        refusal: The model's refusal instead of a reply.
        tool_calls: The tools that it calls instead of replying.
        finish_reason: Why the model stopped.
    """
    logprobs = None
    if request.get("logprobs") and content is not None:
        n_top = request.get("top_logprobs")
        n_top = min(n_top, _N_TOP_LIMIT) if isinstance(n_top, int) else 0
        logprobs = {**build_logprobs(content, n_top, key), "refusal": None}
    message: dict[str, object] = {"role": "assistant", "content": content, "refusal": refusal}
    if tool_calls:
        message["tool_calls"] = [
            {
                "id": f"call_{key[:16]}_{n}",
                "type": "function",
                "function": {"name": call.name, "arguments": reply_text(call.arguments)},
            }
            for n, call in enumerate(tool_calls)
        ]
    n_prompt = _n_tokens(messages_text(request))
    n_completion = _n_tokens(content or refusal or "")
    return {
        "id": f"chatcmpl-{key[:24]}",
        "object": "chat.completion",
        "created": _CREATED,
        "model": str(request.get("model", "scripted")),
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": logprobs,
                "finish_reason": "tool_calls" if tool_calls else finish_reason,
            }
        ],
        "usage": {
            "prompt_tokens": n_prompt,
            "completion_tokens": n_completion,
            "total_tokens": n_prompt + n_completion,
        },
        "system_fingerprint": "scripted",
    }


def error_body(message: str, kind: str, code: str | None) -> JsonObject:
    """Build an error as the OpenAI API words it."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def models_body(names: Sequence[str]) -> JsonObject:
    """Build the response of `GET /v1/models`."""
    models = [
        {"id": name, "object": "model", "created": _CREATED, "owned_by": "ragassay"}
        for name in names
    ]
    return {"object": "list", "data": models}


def compact_json(value: object) -> str:
    """Return JSON without white space, as models write it under a schema."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def reply_text(reply: str | Mapping[str, object]) -> str:
    """Return a scripted reply as the text of a message; an object becomes compact JSON."""
    return reply if isinstance(reply, str) else compact_json(reply)


def _n_tokens(text: str) -> int:
    return math.ceil(len(text) / _CHARS_PER_TOKEN)
