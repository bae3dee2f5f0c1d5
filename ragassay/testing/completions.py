"""Parts of the chat-completions protocol: tool calls, an error, the list of models."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragassay.testing.requests import JsonObject

_CREATED = 1_700_000_000
_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of one of the request's tools, used as a reply.

    Attributes:
        name: The tool's name.
        arguments: Its arguments; text is sent as it is, valid JSON or not.
    """

    name: str
    arguments: Mapping[str, object] | str = field(default_factory=dict)


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


def count_tokens(text: str) -> int:
    """Return the tokens that a text is counted as: one for every four characters."""
    return math.ceil(len(text) / _CHARS_PER_TOKEN)
