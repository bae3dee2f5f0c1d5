"""Convert requests from each API protocol to OpenAI's format, and write tool calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ragassay.testing.chat_completions import JsonObject, ToolCall, render_reply

ProtocolName: TypeAlias = Literal["chat", "responses", "messages", "gemini", "converse", "ollama"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """API protocol.

    Attributes:
        read: Function that returns a request in OpenAI's chat completions format, with the
            parameters `temperature`, `max_tokens`, `response_format`, `logprobs`, `top_logprobs`,
            `seed`, `reasoning_effort`, and `schema_tool`: the name of a required tool with the
            reply schema as its parameters.
        write_tool: Function that converts a `ToolCall` and an id to a tool call of the protocol.
    """

    read: Callable[[JsonObject], JsonObject]
    write_tool: Callable[[ToolCall, str], JsonObject]


def build_gemini_logprobs(logprobs: Mapping[str, Any]) -> JsonObject:
    """Return log-probabilities in Gemini's format."""

    def build_candidate(token: Mapping[str, Any]) -> JsonObject:
        return {"token": token["token"], "tokenId": 0, "logProbability": token["logprob"]}

    tokens = logprobs["content"]
    return {
        "topCandidates": [
            {"candidates": [build_candidate(top) for top in token["top_logprobs"]]}
            for token in tokens
        ],
        "chosenCandidates": [build_candidate(token) for token in tokens],
    }


def _read_chat(body: JsonObject) -> JsonObject:
    return body


def _write_chat_tool(call: ToolCall, identifier: str) -> JsonObject:
    function = {"name": call.name, "arguments": render_reply(call.arguments)}
    return {"id": identifier, "type": "function", "function": function}


def _read_responses(body: JsonObject) -> JsonObject:
    input = body.get("input")
    message_list = [{"role": "user", "content": input}] if isinstance(input, str) else input
    form = _get_nested(body, "text", "format")
    is_schema = form and form.get("type") == "json_schema"
    return _remove_none(
        model=body.get("model"),
        messages=[*_list_system(body.get("instructions")), *_iter_objects(message_list)],
        stream=body.get("stream"),
        temperature=body.get("temperature"),
        max_tokens=body.get("max_output_tokens"),
        logprobs="message.output_text.logprobs" in str(body.get("include")) or None,
        top_logprobs=body.get("top_logprobs"),
        reasoning_effort=_get_nested(body, "reasoning", "effort"),
        response_format=_wrap_json_schema(form.get("schema")) if is_schema else form,
    )


def _write_responses_tool(call: ToolCall, identifier: str) -> JsonObject:
    return {
        "id": f"fc_{identifier}",
        "type": "function_call",
        "status": "completed",
        "call_id": identifier,
        "name": call.name,
        "arguments": render_reply(call.arguments),
    }


def _read_messages(body: JsonObject) -> JsonObject:
    form = body.get("output_format") or _get_nested(body, "output_config", "format")
    schema = form.get("schema") if isinstance(form, Mapping) else None
    forced = _get_nested(body, "tool_choice", "name")
    for tool in _iter_objects(body.get("tools")):
        if tool.get("name") == forced:
            schema = tool.get("input_schema")
    thinks = _get_nested(body, "thinking", "type") in ("enabled", "adaptive")
    return _remove_none(
        model=body.get("model"),
        messages=[*_list_system(body.get("system")), *_iter_objects(body.get("messages"))],
        stream=body.get("stream"),
        temperature=body.get("temperature"),
        max_tokens=body.get("max_tokens"),
        logprobs=body.get("logprobs"),
        reasoning_effort=_get_nested(body, "output_config", "effort")
        or ("high" if thinks else None),
        response_format=_wrap_json_schema(schema),
        schema_tool=forced if schema else None,
    )


def _write_messages_tool(call: ToolCall, identifier: str) -> JsonObject:
    return {
        "type": "tool_use",
        "id": identifier,
        "name": call.name,
        "input": _parse_arguments(call),
    }


def _read_gemini(body: JsonObject) -> JsonObject:
    # Gemini accepts both spellings, and LiteLLM uses both.
    config = _to_snake_case(body.get("generationConfig") or body.get("generation_config"))
    system = body.get("systemInstruction") or body.get("system_instruction")
    message_list = [
        {"role": "user" if m.get("role") == "user" else "assistant", "content": m.get("parts")}
        for m in _iter_objects(body.get("contents"))
    ]
    schema = config.get("response_schema") or config.get("response_json_schema")
    is_json = config.get("response_mime_type") == "application/json"
    return _remove_none(
        messages=[*_list_system(_get_nested({"at": system}, "at", "parts")), *message_list],
        temperature=config.get("temperature"),
        max_tokens=config.get("max_output_tokens"),
        logprobs=config.get("response_logprobs"),
        top_logprobs=config.get("logprobs"),
        seed=config.get("seed"),
        reasoning_effort=_find_thinking_level(config.get("thinking_config")),
        response_format=_wrap_json_schema(_lower_type_names(schema))
        or ({"type": "json_object"} if is_json else None),
    )


def _write_gemini_tool(call: ToolCall, identifier: str) -> JsonObject:
    return {"functionCall": {"name": call.name, "args": _parse_arguments(call)}}


def _read_converse(body: JsonObject) -> JsonObject:
    schema: Any = _get_nested(
        body, "outputConfig", "textFormat", "structure", "jsonSchema", "schema"
    )
    schema = json.loads(schema) if isinstance(schema, str) else schema
    forced = _get_nested(body, "toolConfig", "toolChoice", "tool", "name")
    for tool in _iter_objects(_get_nested(body, "toolConfig", "tools")):
        if forced and _get_nested(tool, "toolSpec", "name") == forced:
            schema = _get_nested(tool, "toolSpec", "inputSchema", "json")
    return _remove_none(
        messages=[*_list_system(body.get("system")), *_iter_objects(body.get("messages"))],
        temperature=_get_nested(body, "inferenceConfig", "temperature"),
        max_tokens=_get_nested(body, "inferenceConfig", "maxTokens"),
        reasoning_effort=_get_nested(body, "additionalModelRequestFields", "thinking", "type"),
        response_format=_wrap_json_schema(schema),
        schema_tool=forced if schema else None,
    )


def _write_converse_tool(call: ToolCall, identifier: str) -> JsonObject:
    return {
        "toolUse": {"toolUseId": identifier, "name": call.name, "input": _parse_arguments(call)}
    }


def _read_ollama(body: JsonObject) -> JsonObject:
    form = body.get("format")
    think = body.get("think")
    return _remove_none(
        model=body.get("model"),
        messages=body.get("messages"),
        stream=body.get("stream"),
        temperature=_get_nested(body, "options", "temperature"),
        max_tokens=_get_nested(body, "options", "num_predict"),
        seed=_get_nested(body, "options", "seed"),
        logprobs=body.get("logprobs"),
        top_logprobs=body.get("top_logprobs"),
        reasoning_effort="on" if think is True else think,
        response_format={"type": "json_object"} if form == "json" else _wrap_json_schema(form),
    )


def _write_ollama_tool(call: ToolCall, identifier: str) -> JsonObject:
    return {"id": identifier, "function": {"name": call.name, "arguments": _parse_arguments(call)}}


PROTOCOLS: Mapping[ProtocolName, Protocol] = {
    "chat": Protocol(_read_chat, _write_chat_tool),
    "responses": Protocol(_read_responses, _write_responses_tool),
    "messages": Protocol(_read_messages, _write_messages_tool),
    "gemini": Protocol(_read_gemini, _write_gemini_tool),
    "converse": Protocol(_read_converse, _write_converse_tool),
    "ollama": Protocol(_read_ollama, _write_ollama_tool),
}


def _remove_none(**fields: object) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}


def _get_nested(value: object, *path: str) -> Any:
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _iter_objects(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        yield from (item for item in value if isinstance(item, Mapping))


def _list_system(content: object) -> list[JsonObject]:
    return [{"role": "system", "content": content}] if content else []


def _wrap_json_schema(schema: object) -> JsonObject | None:
    if not isinstance(schema, Mapping):
        return None
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}


def _parse_arguments(call: ToolCall) -> object:
    if not isinstance(call.arguments, str):
        return dict(call.arguments)
    try:
        return json.loads(call.arguments)
    except ValueError:
        return {"arguments": call.arguments}


def _find_thinking_level(config: object) -> object:
    budget = _get_nested(config, "thinkingBudget")
    return _get_nested(config, "thinkingLevel") or (str(budget) if budget else None)


def _to_snake_case(config: object) -> Mapping[str, Any]:
    """Return an object with its keys in snake case. Gemini accepts two spellings."""
    if not isinstance(config, Mapping):
        return {}
    return {"".join(f"_{c.lower()}" if c.isupper() else c for c in k): v for k, v in config.items()}


def _lower_type_names(schema: object) -> object:
    if isinstance(schema, list):
        return [_lower_type_names(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    lowered: dict[str, object] = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str):
            lowered[key] = value.lower()
        elif key == "properties" and isinstance(value, Mapping):
            lowered[key] = {name: _lower_type_names(inner) for name, inner in value.items()}
        elif key != "propertyOrdering":
            lowered[key] = _lower_type_names(value)
    return lowered
