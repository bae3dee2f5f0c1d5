"""Answers of the scripted model, independent of the HTTP server."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from ragassay.errors import InputError
from ragassay.testing.chat_completions import (
    JsonObject,
    JsonSchema,
    Message,
    ToolCall,
    build_error_body,
    find_reply_schema,
    format_json,
    last_user_text,
    list_messages,
    render_reply,
    request_key,
)
from ragassay.testing.faults import IN_REPLIES, Fault, FaultKind, FaultPlan
from ragassay.testing.manners import ErrorAnswer, Manner, ModelTurn, load_manner
from ragassay.testing.pairs import asks_for_pairs, build_pairs
from ragassay.testing.replies import build_instance, build_sentence

ReplyContent: TypeAlias = str | Mapping[str, object] | Sequence[ToolCall]
Reply: TypeAlias = Callable[[Sequence[Message], JsonSchema | None], ReplyContent]

_REFUSAL = "I'm sorry, but I can't assist with that."
_THOUGHT = "The answer names a trial. Let me weigh whether"


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """Completion request, recorded when it arrives.

    Attributes:
        n: Position in order of arrival, starting at 1, or 0 for a probe.
        body: Parsed request body, as sent by the client.
        key: See `request_key`.
        attempt: Number of accepted requests with this key so far, including the request itself, or
            0 for probes and refused requests.
        fault: Fault that affects the request, or None for a normal reply.
        received_s: Time of arrival on the monotonic clock.
        asked: Request in OpenAI's chat completions format.
        refused: Parameter because of which the request was refused.
        status: Expected HTTP status, or None if no response is sent. If the reply function fails,
            the client gets status 400 instead.
    """

    n: int
    body: JsonObject
    key: str
    attempt: int
    fault: FaultKind | None
    received_s: float
    asked: JsonObject
    refused: str | None
    status: int | None

    @property
    def messages(self) -> tuple[Message, ...]:
        """Messages of the request."""
        return list_messages(self.asked)

    @property
    def schema(self) -> JsonSchema | None:
        """Requested JSON schema, if any."""
        return find_reply_schema(self.asked)


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """HTTP response. If `cut_off` is set, the connection is closed after half of the body."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    cut_off: bool = False


class Script:
    """Records requests, assigns faults and composes answers. Not thread-safe.

    The arguments are described in `ScriptedModel`.

    Raises:
        InputError: The provider does not support a fault, or never refuses one of the parameters.
    """

    def __init__(
        self,
        reply: Reply | None,
        faults: Sequence[Fault],
        *,
        keep_requests: bool,
        manner: Manner | None = None,
        refuses: Sequence[str] = (),
        thinking: str | None = None,
        n_cached: int = 0,
    ) -> None:
        self.manner = manner or load_manner("scripted")
        for fault in faults:
            _refuse_unknown(fault, self.manner)
        for parameter in refuses:
            self.manner.build_refusal(parameter, {})
        self._reply = reply or default_reply
        self._plan = FaultPlan(faults)
        self._keep_requests = keep_requests
        self._refuses = (*refuses, *self.manner.lacks)
        self._thinking = thinking
        self._n_cached = n_cached
        self._n_attempts: Counter[str] = Counter()
        self.n_requests = 0
        self.requests: list[RecordedRequest] = []
        self.probes: list[RecordedRequest] = []

    def take(
        self, body: JsonObject, asked: JsonObject | None = None
    ) -> tuple[RecordedRequest, Fault | None]:
        """Record a request and return it with its fault.

        `asked` is the request in OpenAI's format.
        """
        asked = body if asked is None else asked
        key, refused = request_key(asked), self.manner.find_refused_parameter(asked, self._refuses)
        n, attempt = 0, 0
        if not is_probe(asked):
            self.n_requests += 1
            n = self.n_requests
        if n and refused is None:
            self._n_attempts[key] += 1
            attempt = self._n_attempts[key]
            fault = self._plan.find_next_fault(key, attempt, asked)
        else:  # Probes and refused requests do not count, so only lasting faults affect them.
            fault = self._plan.find_lasting_fault(asked)
        if refused is not None and fault is not None:
            # Providers check the key, the limits and the model before the parameters.
            fault, refused = (fault, None) if fault.kind in self.manner.errors else (None, refused)
        recorded = RecordedRequest(
            n=n,
            body=body,
            key=key,
            attempt=attempt,
            fault=fault.kind if fault else None,
            received_s=time.monotonic(),
            asked=asked,
            refused=refused,
            status=self._find_status(asked, fault, refused),
        )
        if self._keep_requests:
            (self.requests if n else self.probes).append(recorded)
        return recorded, fault

    def _find_status(
        self, asked: JsonObject, fault: Fault | None, refused: str | None
    ) -> int | None:
        if refused is not None:
            return self.manner.build_refusal(refused, asked).status
        if fault is None:
            return 200
        if fault.kind == "hang":
            return None
        return self.manner.errors[fault.kind].status if fault.kind in self.manner.errors else 200

    def answer(self, recorded: RecordedRequest, fault: Fault | None) -> ScriptedAnswer:
        """Compose the HTTP response to a request."""
        asked = recorded.asked
        if recorded.refused is not None:
            return _build_error_answer(self.manner.build_refusal(recorded.refused, asked))
        if fault is not None and fault.kind in self.manner.errors:
            return _build_error_answer(
                self.manner.build_error(fault.kind, asked, fault.retry_after_s)
            )
        turn = ModelTurn(asked, recorded.key, None, self._thinking, n_cached=self._n_cached)
        if fault is not None and fault.kind in ("refusal", "content_filter"):
            return self._send(_build_refused_turn(turn, fault.kind, self.manner))
        if fault is not None and fault.kind == "junk":
            return self._send(replace(turn, text=fault.content))
        if fault is not None and fault.kind == "cut":
            return self._send(replace(turn, thinking=turn.thinking or _THOUGHT, stop="length"))
        if is_probe(asked):
            return self._send(replace(turn, text="OK"))
        return self._answer_by_reply(recorded, turn)

    def _answer_by_reply(self, recorded: RecordedRequest, turn: ModelTurn) -> ScriptedAnswer:
        # An error in the reply function becomes a response that clients do not retry.
        try:
            content = self._reply(recorded.messages, recorded.schema)
            text = render_reply(content) if isinstance(content, str | Mapping) else None
        except Exception as error:
            return build_bad_request(f"the scripted reply failed: {type(error).__name__}: {error}")
        if text is None:
            return self._send(replace(turn, tool_calls=cast("Sequence[ToolCall]", content)))
        if recorded.fault == "truncated":
            return self._send(replace(turn, text=text[: len(text) // 2], stop="length"))
        return self._send(replace(turn, text=text), cut_off=recorded.fault == "cut_off")

    def _send(self, turn: ModelTurn, *, cut_off: bool = False) -> ScriptedAnswer:
        return _build_json_answer(self.manner.build_reply_body(turn), cut_off=cut_off)


def default_reply(messages: Sequence[Message], schema: JsonSchema | None) -> str:
    """Return the default reply of a scripted model, determined by a hash of the arguments.

    Returns:
        A sentence that quotes the last user message or, if there is a schema, a valid instance as
        compact JSON. In question-answer pairs, the answers are sentences from the paper, so that
        the pairs pass the checks of `ragassay qa generate`.

    Raises:
        InputError: The schema cannot be satisfied, or uses an unsupported keyword.
    """
    text = last_user_text(messages)
    seed = request_key({"messages": messages, "response_format": schema})
    if schema is None:
        return build_sentence(text, seed)
    if dict(schema) == {"type": "object"}:
        return format_json({"reply": build_sentence(text, seed)})
    if asks_for_pairs(schema):
        return format_json(build_pairs(schema, text))
    return format_json(build_instance(schema, text, seed))


def require_object(body: object) -> JsonObject:
    """Return a request body, or raise `InputError` if it is not a JSON object."""
    if not isinstance(body, Mapping):
        raise InputError("the body must be a JSON object")
    return cast(JsonObject, body)


def validate_request(request: JsonObject) -> JsonObject:
    """Return a request, or raise `InputError` if it has no messages or needs streaming."""
    if not list_messages(request):
        raise InputError("'messages' must be a list of at least one message")
    if request.get("stream"):
        raise InputError("the scripted model does not support streaming; remove 'stream'")
    return request


def is_probe(body: JsonObject) -> bool:
    """Return whether a request asks for a single token to check that the model is available."""
    return 1 in (body.get("max_tokens"), body.get("max_completion_tokens"))


def build_bad_request(message: str) -> ScriptedAnswer:
    """Return a response with status 400 and an error message."""
    return _build_json_answer(build_error_body(message, "invalid_request_error", None), status=400)


def _build_error_answer(error: ErrorAnswer) -> ScriptedAnswer:
    return _build_json_answer(error.body, status=error.status, headers=error.headers)


def _build_refused_turn(turn: ModelTurn, kind: FaultKind, manner: Manner) -> ModelTurn:
    if kind == "content_filter":
        return replace(turn, stop="content_filter")
    if manner.has_refusal_field:
        return replace(turn, refusal=_REFUSAL)
    if "refusal" in manner.stops:
        return replace(turn, stop="refusal")
    return replace(turn, text=_REFUSAL)


def _refuse_unknown(fault: Fault, manner: Manner) -> None:
    known = {*manner.errors, *IN_REPLIES}
    if "content_filter" in manner.stops:
        known.add("content_filter")
    if fault.kind not in known:
        raise InputError(
            f"{manner.title} has no fault {fault.kind!r}; choose from {', '.join(sorted(known))}"
        )


def _build_json_answer(
    body: JsonObject,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    cut_off: bool = False,
) -> ScriptedAnswer:
    return ScriptedAnswer(status, format_json(body).encode(), headers or {}, cut_off)
