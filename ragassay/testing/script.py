"""Decide the scripted model's answers, without sockets."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from ragassay.errors import InputError
from ragassay.testing.completions import (
    ToolCall,
    compact_json,
    completion_body,
    error_body,
    reply_text,
)
from ragassay.testing.faults import Fault, FaultKind, FaultPlan
from ragassay.testing.replies import build_instance, build_sentence
from ragassay.testing.requests import (
    JsonObject,
    JsonSchema,
    Message,
    last_user_text,
    messages_of,
    request_key,
    schema_of,
)

Said: TypeAlias = str | Mapping[str, object] | Sequence[ToolCall]
Reply: TypeAlias = Callable[[Sequence[Message], JsonSchema | None], Said]

_REFUSAL = "I'm sorry, but I can't assist with that."
_ERRORS: Mapping[FaultKind, tuple[int, str, str, str | None]] = {
    "rate_limit": (429, "Rate limit reached.", "requests", "rate_limit_exceeded"),
    "server_error": (500, "The server had an error.", "server_error", None),
    "unavailable": (503, "The server is overloaded.", "server_error", None),
    # LiteLLM treats a 401 as a bad request unless the message has exactly these words.
    "unauthorized": (
        401,
        "Incorrect API key provided: sk-test.",
        "invalid_request_error",
        "invalid_api_key",
    ),
    "unknown_model": (
        404,
        "The model `scripted` does not exist or you do not have access to it.",
        "invalid_request_error",
        "model_not_found",
    ),
    "bad_request_too_long": (
        400,
        "This model's maximum context length is 8192 tokens. However, your messages are longer. "
        "Please reduce the length of the messages.",
        "invalid_request_error",
        "context_length_exceeded",
    ),
}


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A requested chat completion, recorded on arrival.

    Attributes:
        n: Its place in the order of arrival, from 1.
        body: The parsed body.
        key: See `request_key`.
        attempt: The number of requests with this key by then, this one included.
        fault: The fault that it met; None for a proper reply.
        received_s: Time of arrival on the monotonic clock.
    """

    n: int
    body: JsonObject
    key: str
    attempt: int
    fault: FaultKind | None
    received_s: float

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that were sent."""
        return messages_of(self.body)

    @property
    def schema(self) -> JsonSchema | None:
        """The requested JSON schema, if any."""
        return schema_of(self.body)

    @property
    def status(self) -> int | None:
        """The HTTP status of its fault, 200 without one; None where none is ever sent.

        If the reply function fails, the client gets a 400, which is not recorded here.
        """
        if self.fault == "hang":
            return None
        return 200 if self.fault is None or self.fault not in _ERRORS else _ERRORS[self.fault][0]


@dataclass(frozen=True, slots=True)
class Answer:
    """The response that is sent.

    Attributes:
        status: HTTP status.
        body: JSON, encoded.
        headers: Headers besides the usual ones.
        cut_off: Send only half of the body, then close the connection.
    """

    status: int
    body: bytes
    headers: Mapping[str, str]
    cut_off: bool = False


class Script:
    """Records requests, decides their faults and composes their answers. Single-threaded.

    Args:
        reply: See `ScriptedModel`.
        faults: See `ScriptedModel`.
        keep_requests: Whether `requests` grows; the counts go on without it.
    """

    def __init__(
        self, reply: Reply | None, faults: Sequence[Fault], *, keep_requests: bool
    ) -> None:
        self._reply = reply or default_reply
        self._plan = FaultPlan(faults)
        self._keep_requests = keep_requests
        self._n_attempts: Counter[str] = Counter()
        self.n_requests = 0
        self.requests: list[RecordedRequest] = []
        self.probes: list[RecordedRequest] = []

    def take(self, body: JsonObject) -> tuple[RecordedRequest, Fault | None]:
        """Record a request and return its fault."""
        key = request_key(body)
        if is_probe(body):
            return self._take_probe(key, body)
        self._n_attempts[key] += 1
        self.n_requests += 1
        fault = self._plan.next_fault(key, self._n_attempts[key], body)
        recorded = RecordedRequest(
            n=self.n_requests,
            body=body,
            key=key,
            attempt=self._n_attempts[key],
            fault=fault.kind if fault else None,
            received_s=time.monotonic(),
        )
        if self._keep_requests:
            self.requests.append(recorded)
        return recorded, fault

    def _take_probe(self, key: str, body: JsonObject) -> tuple[RecordedRequest, Fault | None]:
        """Record a probe beside the requests: it counts for no fault, and meets those of all."""
        fault = self._plan.lasting_fault(body)
        kind = fault.kind if fault else None
        recorded = RecordedRequest(0, body, key, 0, kind, time.monotonic())
        if self._keep_requests:
            self.probes.append(recorded)
        return recorded, fault

    def answer(self, recorded: RecordedRequest, fault: Fault | None) -> Answer:
        """Compose the answer; for a fault that never answers, the answer it would have been."""
        if fault is not None and fault.kind in _ERRORS:
            return _error_answer(fault)
        if fault is not None and fault.kind in ("refusal", "content_filter"):
            return _refusal_answer(recorded)
        if fault is not None and fault.kind == "junk":
            return _json_answer(completion_body(recorded.body, recorded.key, fault.content))
        if is_probe(recorded.body):
            return _json_answer(completion_body(recorded.body, recorded.key, "OK"))
        return self._reply_answer(recorded)

    def _reply_answer(self, recorded: RecordedRequest) -> Answer:
        # The boundary of a unit of work: an error of a test's own function becomes an answer that
        # no client retries and whose words reach the test.
        try:
            said = self._reply(recorded.messages, recorded.schema)
            content = reply_text(said) if isinstance(said, str | Mapping) else None
        except Exception as error:
            return bad_request(f"the scripted reply failed: {type(error).__name__}: {error}")
        if content is None:
            calls = cast("Sequence[ToolCall]", said)
            return _json_answer(
                completion_body(recorded.body, recorded.key, None, tool_calls=calls)
            )
        if recorded.fault == "truncated":
            half = content[: len(content) // 2]
            return _json_answer(
                completion_body(recorded.body, recorded.key, half, finish_reason="length")
            )
        return _json_answer(
            completion_body(recorded.body, recorded.key, content),
            cut_off=recorded.fault == "cut_off",
        )


def default_reply(messages: Sequence[Message], schema: JsonSchema | None) -> str:
    """Return the default reply of a scripted model.

    Args:
        messages: A hash of them and of the schema decides everything undetermined.
        schema: The schema that the reply must fit.

    Returns:
        Without a schema a sentence that quotes the last user message, otherwise compact JSON that
        is valid under the schema.

    Raises:
        InputError: there is no instance, or the schema uses a keyword that is not supported.
    """
    text = last_user_text(messages)
    seed = request_key({"messages": messages, "response_format": schema})
    if schema is None:
        return build_sentence(text, seed)
    if dict(schema) == {"type": "object"}:
        return compact_json({"reply": build_sentence(text, seed)})
    return compact_json(build_instance(schema, text, seed))


def refuse_unusable(body: object) -> JsonObject:
    """Return the body, validated as far as the scripted model needs.

    Raises:
        InputError: it is not an object, has no messages, or asks for a stream.
    """
    if not isinstance(body, Mapping):
        raise InputError("the body must be a JSON object")
    usable = cast(JsonObject, body)
    if not messages_of(usable):
        raise InputError("'messages' must be a list of at least one message")
    if usable.get("stream"):
        raise InputError("the scripted model does not stream; leave 'stream' out")
    return usable


def is_probe(body: JsonObject) -> bool:
    """Return whether a request only finds out if the model is there: it wants one token."""
    return 1 in (body.get("max_tokens"), body.get("max_completion_tokens"))


def bad_request(message: str) -> Answer:
    """Return an answer that says what is wrong with a request."""
    return _json_answer(error_body(message, "invalid_request_error", None), status=400)


def _error_answer(fault: Fault) -> Answer:
    status, message, kind, code = _ERRORS[fault.kind]
    headers = {"Retry-After": f"{fault.retry_after_s:g}"} if fault.kind == "rate_limit" else {}
    return _json_answer(error_body(message, kind, code), status=status, headers=headers)


def _refusal_answer(recorded: RecordedRequest) -> Answer:
    if recorded.fault == "refusal":
        body = completion_body(recorded.body, recorded.key, None, refusal=_REFUSAL)
    else:
        body = completion_body(recorded.body, recorded.key, None, finish_reason="content_filter")
    return _json_answer(body)


def _json_answer(
    body: JsonObject,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    cut_off: bool = False,
) -> Answer:
    return Answer(status, compact_json(body).encode(), headers or {}, cut_off)
