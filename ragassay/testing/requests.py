"""Read chat-completion requests: their texts, schema and identity."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

JsonObject: TypeAlias = Mapping[str, object]
Message: TypeAlias = Mapping[str, object]
JsonSchema: TypeAlias = Mapping[str, object]


def messages_of(body: JsonObject) -> tuple[Message, ...]:
    """Return the messages of a request body; empty where `messages` is not a list of objects."""
    return _objects(body.get("messages"))


def schema_of(body: JsonObject) -> JsonSchema | None:
    """Return the JSON schema of `response_format`; None where there is none.

    `{"type": "json_object"}` counts as the schema of any object.
    """
    asked = _object(body.get("response_format"))
    if asked.get("type") == "json_object":
        return {"type": "object"}
    schema = _object(asked.get("json_schema")).get("schema")
    return cast(JsonSchema, schema) if isinstance(schema, Mapping) else None


def messages_text(body: JsonObject) -> str:
    """Return the texts of all messages of a request body, joined by line breaks."""
    return "\n".join(message_text(message) for message in messages_of(body))


def message_text(message: Message) -> str:
    """Return the text parts of a message, joined by line breaks; empty where it has none."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in _objects(content) if "text" in part)


def last_user_text(messages: Sequence[Message]) -> str:
    """Return the text of the last message whose role is `user`; empty where there is none."""
    for message in reversed(messages):
        if message.get("role") == "user":
            return message_text(message)
    return ""


def request_key(body: JsonObject) -> str:
    """Return the SHA-256, in hex, of the canonical JSON of `messages` and `response_format`.

    The model's name, the temperature and other settings are left out, so a retry and a call with
    another setting have the same key.
    """
    asked = {name: body.get(name) for name in ("messages", "response_format")}
    canonical = json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _object(value: object) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, Mapping) else {}


def _objects(value: object) -> tuple[JsonObject, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return ()
    items = cast(Sequence[object], value)
    return tuple(cast(JsonObject, item) for item in items if isinstance(item, Mapping))
