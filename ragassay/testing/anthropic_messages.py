"""Anthropic's messages, to and from chat completions, as far as the scripted model needs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ragassay.testing.requests import JsonObject

_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


def chat_request(body: JsonObject) -> JsonObject:
    """Return the chat completion that asks for the same as a request for a message."""
    found: dict[str, Any] = {"model": body.get("model"), "max_tokens": body.get("max_tokens")}
    system = _text(body.get("system"))
    messages: Any = body.get("messages") or ()
    found["messages"] = [
        *([{"role": "system", "content": system}] if system else []),
        *({"role": one["role"], "content": _text(one["content"])} for one in messages),
    ]
    schema = _schema(body)
    if schema:
        form = {"name": "reply", "schema": schema}
        found["response_format"] = {"type": "json_schema", "json_schema": form}
    return found


def message_body(request: JsonObject, completion: JsonObject) -> JsonObject:
    """Return a chat completion as the message that Anthropic would send."""
    found: Any = completion
    choice, usage = found["choices"][0], found["usage"]
    text = choice["message"]["content"] or choice["message"].get("refusal") or ""
    tool = _json_tool(request)
    block: dict[str, object] = {"type": "text", "text": text}
    reason = _STOP_REASONS.get(choice["finish_reason"], "end_turn")
    if tool:
        block = {"type": "tool_use", "id": "toolu_1", "name": tool["name"], "input": _input(text)}
        reason = "tool_use"
    return {
        "id": str(found["id"]).replace("chatcmpl-", "msg_"),
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [block],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "output_tokens": usage["completion_tokens"],
        },
    }


def _schema(body: JsonObject) -> Any:
    form: Any = body.get("output_format")
    if isinstance(form, Mapping):
        return form.get("schema")
    tool = _json_tool(body)
    return tool["input_schema"] if tool else None


def _json_tool(body: JsonObject) -> Any:
    """Return the tool by which LiteLLM asks an older Claude for JSON."""
    tools: Any = body.get("tools") or ()
    return next((tool for tool in tools if tool.get("name") == "json_tool_call"), None)


def _input(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return {"text": text}


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, Sequence) else ()
    return "\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, Mapping))
