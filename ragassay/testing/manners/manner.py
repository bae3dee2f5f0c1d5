"""Descriptions of providers' APIs, called manners: requests, replies and errors of each API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias, cast

import yaml
from pydantic import BaseModel, ConfigDict

from ragassay.errors import InputError
from ragassay.testing.chat_completions import (
    JsonObject,
    ToolCall,
    build_logprobs,
    count_tokens,
    join_messages,
)
from ragassay.testing.manners.protocols import PROTOCOLS, ProtocolName, build_gemini_logprobs

_PLACEHOLDER = re.compile(r"\$(?:\$|\{([a-z_]+)\}|\*?([a-z_]+))")


_MISSING = object()
"""Placeholder for values that are omitted from a JSON object."""


def fill(template: object, values: Mapping[str, object]) -> Any:
    """Return a template with its placeholders filled.

    Raises `KeyError` if a placeholder has no value.
    """
    filled = _fill(template, values)
    return None if filled is _MISSING else filled


def contains_placeholder(template: object, name: str) -> bool:
    """Return whether a template contains a placeholder."""
    if isinstance(template, str):
        return any(name in m.groups() for m in _PLACEHOLDER.finditer(template))
    if isinstance(template, Mapping):
        return any(
            contains_placeholder(value, name)
            for value in cast(Mapping[str, object], template).values()
        )
    return isinstance(template, Sequence) and any(
        contains_placeholder(item, name) for item in cast(Sequence[object], template)
    )


def _fill(template: object, values: Mapping[str, object]) -> Any:
    if isinstance(template, str):
        return _fill_text(template, values)
    if isinstance(template, Mapping):
        return _fill_object(cast(Mapping[str, object], template), values)
    if isinstance(template, Sequence):
        return _fill_list(cast(Sequence[object], template), values)
    return template


def _fill_text(text: str, values: Mapping[str, object]) -> object:
    match = _PLACEHOLDER.fullmatch(text)
    if name := match and (match[1] or match[2]):
        return values[name]
    return _PLACEHOLDER.sub(
        lambda part: str(values[part[1] or part[2]]) if part[1] or part[2] else "$", text
    )


def _fill_object(template: Mapping[str, object], values: Mapping[str, object]) -> object:
    filled: dict[str, object] = {}
    for key, inner in template.items():
        value = fill(inner, values)
        if key[-1] in "~!" and value in (None, "", 0, [], {}):
            if key.endswith("!"):
                return _MISSING
            continue
        filled[key.rstrip("~!")] = value
    return filled


def _fill_list(template: Sequence[object], values: Mapping[str, object]) -> list[object]:
    filled: list[object] = []
    for item in template:
        if isinstance(item, str) and item.startswith("$*"):
            filled.extend(cast(Sequence[object], values[item[2:]]))
        elif (value := _fill(item, values)) is not _MISSING:
            filled.append(value)
    return filled


Stop: TypeAlias = Literal["stop", "length", "content_filter", "refusal", "tool_calls"]

MANNER_NAMES = (
    "anthropic",
    "azure",
    "bedrock",
    "deepseek",
    "gemini",
    "groq",
    "llama_cpp",
    "lm_studio",
    "mistral",
    "ollama",
    "openai",
    "openai_responses",
    "openrouter",
    "scripted",
    "together",
    "vllm",
)
"""Names of the manners, one per provider. `scripted` is a server that only has OpenAI's API."""

_N_TOP_LIMIT = 20


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ErrorAnswer(_Data):
    """Error response from a provider, with templates for body and headers."""

    status: int
    body: Any
    headers: Mapping[str, str] = {}
    source: str = ""


class Manner(_Data):
    """Behaviour of a provider's API.

    Attributes:
        title: Name of the provider and API.
        sources: Pages, issues and files that document the formats and messages.
        protocol: Request format. See `protocols.PROTOCOLS`.
        prefix: LiteLLM's prefix for model names.
        model: Default name of the model in requests.
        answers_as: Model name in replies, often with a date. If the name is empty, replies repeat
            the requested name.
        base: Path to append to the server's address for LiteLLM's `api_base`.
        path: Path of the API, which may contain `{model}`.
        environment: Environment variables for LiteLLM, with invented API keys.
        stops: Finish reasons.
        empty: Value of the text field if there is no text: null or an empty string.
        reply: Template for the body of a reply. See `fill` and `Manner.build_reply_body`.
        errors: Error responses, keyed by kind of fault.
        refuses: Error responses to refused parameters, keyed by the parameter's name in OpenAI's
            API. `*` is the default. The name `response_format` stands for the format type
            json_schema, and `json_object` for json_object.
        lacks: Parameters that the provider always refuses.
        lists: Responses to GET requests, keyed by path, such as the list of models or the version.
    """

    title: str
    sources: Sequence[str]
    protocol: ProtocolName
    prefix: str
    model: str
    answers_as: str = ""
    base: str
    path: str
    environment: Mapping[str, str] = {}
    stops: Mapping[Stop, str | None]
    empty: str | None = None
    reply: Mapping[str, Any]
    errors: Mapping[str, ErrorAnswer]
    refuses: Mapping[str, ErrorAnswer] = {}
    lacks: Sequence[str] = ()
    lists: Mapping[str, Any] = {}

    @property
    def has_refusal_field(self) -> bool:
        """Return whether the provider's replies have a field for refusals by the model."""
        return contains_placeholder(self.reply, "refusal")

    def read_request(self, body: JsonObject, model: str | None = None) -> JsonObject:
        """Convert a request to OpenAI's format. `model` is the model name in the path, if any."""
        request = dict(PROTOCOLS[self.protocol].read(body))
        if model is not None:
            request.setdefault("model", model)
        return request

    def find_refused_parameter(self, asked: JsonObject, refused: Sequence[str]) -> str | None:
        """Return the first refused parameter that a request contains, or None."""
        return next((name for name in refused if self._has(asked, name)), None)

    def build_refusal(self, parameter: str, asked: JsonObject) -> ErrorAnswer:
        """Return the error for a refused parameter.

        May raise `InputError`.
        """
        answer = self.refuses.get(parameter) or self.refuses.get("*")
        if answer is None:
            raise InputError(
                f"{self.title} does not refuse {parameter!r}; "
                f"choose from {', '.join(self.refuses) or 'none'}"
            )
        values = {
            "parameter": parameter,
            "value": asked.get(parameter),
            "asked": asked.get("model", self.model),
        }
        return _fill_answer(answer, values)

    def build_error(self, kind: str, asked: JsonObject, retry_after_s: float) -> ErrorAnswer:
        """Return the error for a kind of fault.

        Raises `KeyError` if the provider has no such error.
        """
        values = {
            "asked": asked.get("model", self.model),
            "retry_after_s": f"{retry_after_s:g}",
            "retry_after_ms": f"{retry_after_s * 1000:g}",
        }
        return _fill_answer(self.errors[kind], values)

    def build_reply_body(self, turn: ModelTurn) -> JsonObject:
        """Return the body of a reply in the provider's format."""
        return fill(self.reply, self._collect_values(turn))

    def _collect_values(self, turn: ModelTurn) -> dict[str, object]:
        asked, tools = turn.asked, PROTOCOLS[self.protocol].write_tool
        n_prompt = count_tokens(join_messages(asked))
        n_cached = min(turn.n_cached, n_prompt)
        n_thinking = count_tokens(turn.thinking or "")
        n_answer = count_tokens(turn.text or turn.refusal or "")
        logprobs = _build_logprobs(turn)
        schema_tool = asked.get("schema_tool")
        calls = list(turn.tool_calls)
        text = turn.text
        if isinstance(schema_tool, str) and text:
            # LiteLLM requests JSON from some providers with a required tool.
            calls, text = [ToolCall(schema_tool, text)], None
        stop: Stop = "tool_calls" if calls and turn.stop == "stop" else turn.stop
        return {
            "key": turn.key[:24],
            "model": self.answers_as or str(asked.get("model", self.model)),
            "asked": str(asked.get("model", self.model)),
            "text": text or (None if calls or turn.refusal else self.empty),
            "text_or_empty": text or "",
            "text_or_parts": _build_content(text or self.empty, turn.thinking),
            "thinking": turn.thinking,
            "refusal": turn.refusal,
            "tools": [tools(call, f"call_{turn.key[:16]}_{n}") for n, call in enumerate(calls)],
            "stop": self.stops[stop],
            "status": "completed" if stop in ("stop", "tool_calls", "refusal") else "incomplete",
            "logprobs": {**logprobs, "refusal": None} if logprobs else None,
            "token_logprobs": (logprobs or {}).get("content", []),
            "gemini_logprobs": build_gemini_logprobs(logprobs) if logprobs else None,
            "n_prompt": n_prompt,
            "n_cached": n_cached,
            "n_fresh": n_prompt - n_cached,
            "n_thinking": n_thinking,
            "n_answer": n_answer,
            "n_completion": n_answer + n_thinking,
            "n_total": n_prompt + n_answer + n_thinking,
        }

    @staticmethod
    def _has(asked: JsonObject, name: str) -> bool:
        form = asked.get("response_format")
        kind = form.get("type") if isinstance(form, Mapping) else None
        if name in ("response_format", "json_object"):
            return kind == ("json_schema" if name == "response_format" else "json_object")
        value = asked.get(name)
        return value is not None and value is not False


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """Answer of a model, independent of the provider's format.

    Attributes:
        asked: Request in OpenAI's chat completions format.
        key: Key of the request, which seeds the id and the log-probabilities.
        text: Reply text, or None if there is no reply.
        thinking: Reasoning before the reply.
        refusal: Refusal by the model instead of a reply.
        tool_calls: Tool calls instead of a reply.
        stop: Finish reason.
        n_cached: Number of prompt tokens to report as cached, at most the length of the prompt.
    """

    asked: JsonObject
    key: str
    text: str | None
    thinking: str | None = None
    refusal: str | None = None
    tool_calls: Sequence[ToolCall] = ()
    stop: Stop = "stop"
    n_cached: int = 0


@lru_cache
def load_manner(name: str) -> Manner:
    """Load a manner by name. Raises `InputError` if the name is unknown."""
    if name not in MANNER_NAMES:
        raise InputError(f"unknown manner {name!r}; choose from {', '.join(MANNER_NAMES)}")
    text = files("ragassay.testing.manners").joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    data = yaml.safe_load(text)
    parent = data.pop("like", None)
    if parent is not None:
        data = {**load_manner(parent).model_dump(), **data}
    return Manner.model_validate(data)


def _build_logprobs(turn: ModelTurn) -> Mapping[str, Any] | None:
    if not turn.asked.get("logprobs") or turn.text is None:
        return None
    n_top = turn.asked.get("top_logprobs")
    n_top = min(n_top, _N_TOP_LIMIT) if isinstance(n_top, int) else 0
    return build_logprobs(turn.text, n_top, turn.key)


def _build_content(text: str | None, thinking: str | None) -> object:
    """Return a text, or a list of parts as in replies from Mistral's reasoning models."""
    if thinking is None:
        return text
    parts: list[object] = [{"type": "thinking", "thinking": [{"type": "text", "text": thinking}]}]
    return [*parts, {"type": "text", "text": text}] if text else parts


def _fill_answer(answer: ErrorAnswer, values: Mapping[str, object]) -> ErrorAnswer:
    return answer.model_copy(
        update={"body": fill(answer.body, values), "headers": fill(answer.headers, values)}
    )
