"""Faults in model calls, the requests that they affect, and the behaviour of batches."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from ragassay.errors import InputError
from ragassay.testing.chat_completions import JsonObject, join_messages

FaultKind = Literal[
    "rate_limit",
    "server_error",
    "unavailable",
    "unauthorized",
    "unknown_model",
    "bad_request_too_long",
    "quota",
    "daily_quota",
    "spend_limit",
    "few_credits",
    "no_payment",
    "no_access",
    "capacity",
    "request_too_large",
    "prompt_blocked",
    "cut_off",
    "junk",
    "truncated",
    "cut",
    "refusal",
    "content_filter",
    "slow",
    "hang",
]

IN_REPLIES: frozenset[FaultKind] = frozenset(
    {"cut_off", "junk", "truncated", "cut", "refusal", "slow", "hang"}
)
"""Faults that are available for all providers.

All other faults are errors of specific providers.
"""

_HASH_RANGE = 2**64


@dataclass(frozen=True, slots=True)
class Fault:
    """Fault of a scripted model, and conditions that select the requests that it affects.

    A request must meet all conditions. A fault without conditions affects every request. `contains`
    and `when` select requests, and `first` and `every` count the selected requests.

    ========================  ==================================================================
    kind                      response
    ========================  ==================================================================
    `rate_limit`              429, with `retry_after_s` if the provider sends it
    `server_error`            500
    `unavailable`             503; Anthropic: 529
    `unauthorized`            401; Gemini: 400, Bedrock: 403
    `unknown_model`           404; Gemini, Mistral, OpenRouter, DeepSeek: 400
    `bad_request_too_long`    400; Together: 422
    `quota`                   429, 402 or 400: the credit or quota is used up
    `prompt_blocked`          400: the prompt was blocked by a filter; Gemini: 200
    `daily_quota`             Gemini: daily quota
    `spend_limit`             Anthropic: spending limit set by the account
    `few_credits`             OpenRouter: insufficient credit for the requested tokens
    `no_payment`              Bedrock: no valid payment method
    `no_access`               Bedrock: no access to the model
    `capacity`                Mistral: no capacity in this tier
    `request_too_large`       Groq: more tokens than allowed per minute
    `cut_off`                 200 with the full `Content-Length`, but only half of the body
    `junk`                    200 with `content` instead of the reply
    `truncated`               200 with the first half of the reply, stopped by the length limit
    `cut`                     200 with reasoning up to the length limit, and no reply
    `refusal`                 200 with a refusal by the model, in the provider's format
    `content_filter`          200 without content, stopped by a filter
    `slow`                    the normal reply, after `delay_s`
    `hang`                    no response until the server closes
    ========================  ==================================================================

    The faults that a provider supports are in `load_manner(name).errors`.

    Args:
        kind: Kind of fault, listed in the table.
        contains: Text that the messages must contain.
        when: Condition on the parsed request body.
        first: Affect only the first n selected requests.
        every: Affect only every nth selected request.
        attempts: Affect only the first n requests with equal `request_key`. If 1, a retry succeeds.
        probability: Probability in [0, 1] that a request is affected, decided by a hash of seed,
            kind, request key and attempt, so that the order of requests does not matter.
        seed: Seed of the hash for `probability`.
        retry_after_s: Retry-After value for `rate_limit`, in seconds.
        delay_s: Delay for `slow`, in seconds.
        content: Reply for `junk`, which is not valid JSON by default.

    Raises:
        InputError: The kind is unknown or a number is out of range.

    Example:
        >>> Fault("rate_limit", attempts=1)  # doctest: +ELLIPSIS
        Fault(kind='rate_limit', ...)
    """

    kind: FaultKind
    contains: str | None = None
    when: Callable[[JsonObject], bool] | None = None
    first: int | None = None
    every: int | None = None
    attempts: int | None = None
    probability: float | None = None
    seed: int = 0
    retry_after_s: float = 0.05
    delay_s: float = 1.0
    content: str = 'Hard to say. {"score": '

    def __post_init__(self) -> None:
        if self.kind not in get_args(FaultKind):
            raise InputError(
                f"unknown fault {self.kind!r}; choose from {', '.join(get_args(FaultKind))}"
            )
        for name in ("first", "every", "attempts"):
            count: int | None = getattr(self, name)
            if count is not None and count < 1:
                raise InputError(f"{name}={count} must be at least 1")
        if self.probability is not None and not 0.0 <= self.probability <= 1.0:
            raise InputError(f"probability={self.probability} must be in [0, 1]")
        for name in ("retry_after_s", "delay_s"):
            if getattr(self, name) < 0:
                raise InputError(f"{name}={getattr(self, name)} must not be negative")

    def concerns_request(self, body: JsonObject) -> bool:
        """Return whether `contains` and `when` select a request."""
        if self.contains is not None and self.contains not in join_messages(body):
            return False
        return self.when is None or self.when(body)

    def affects_request(self, key: str, n_concerned: int, attempt: int) -> bool:
        """Return whether the fault affects a request. The counts include the request itself."""
        return (
            (self.first is None or n_concerned <= self.first)
            and (self.every is None or n_concerned % self.every == 0)
            and (self.attempts is None or attempt <= self.attempts)
            and (self.probability is None or self._draw(key, attempt) < self.probability)
        )

    @property
    def is_lasting(self) -> bool:
        """Return whether the fault affects all requests that it selects."""
        return (self.first, self.every, self.attempts, self.probability) == (None,) * 4

    def _draw(self, key: str, attempt: int) -> float:
        digest = hashlib.sha256(f"{self.seed}|{self.kind}|{key}|{attempt}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / _HASH_RANGE


class FaultPlan:
    """Assigns to each request the first fault that affects it.

    Every fault counts the requests that it selects.
    """

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._faults = tuple(faults)
        self._n_concerned = [0] * len(self._faults)

    def find_next_fault(self, key: str, attempt: int, body: JsonObject) -> Fault | None:
        """Return the fault for a request, or None."""
        affecting: Fault | None = None
        for index, fault in enumerate(self._faults):
            if not fault.concerns_request(body):
                continue
            self._n_concerned[index] += 1
            if affecting is None and fault.affects_request(key, self._n_concerned[index], attempt):
                affecting = fault
        return affecting

    def find_lasting_fault(self, body: JsonObject) -> Fault | None:
        """Return the first fault that affects all requests which it selects, including this one."""
        return next((f for f in self._faults if f.is_lasting and f.concerns_request(body)), None)


Ending = Literal["completed", "expired", "failed", "cancelled"]


@dataclass
class BatchPlan:
    """Behaviour of a scripted model's batches.

    The attributes may be changed while batches are running.

    Attributes:
        takes_s: Duration of a batch in seconds.
        ending: Final status. If the status is "expired" or "cancelled", only the first half of the
            requests is answered. Anthropic reports the status of each request instead.
        n_expired: Number of requests at the end of each completed batch that expire.
        refusal: Error message of "failed" batches.
        n_unavailable: Number of initial API calls that return a server error (503).
    """

    takes_s: float = 0.0
    ending: Ending = "completed"
    n_expired: int = 0
    refusal: str = "Enqueued token limit reached for scripted. Limit: 90,000 enqueued tokens."
    n_unavailable: int = 0


@dataclass
class ScriptedBatch:
    """Batch that a client created.

    Attributes:
        protocol: API used to create the batch.
        requests: Request bodies, keyed by custom id.
        created_s: Creation time on the monotonic clock.
        lines: Reply lines and error lines, or None until the batch is finished.
    """

    id: str
    protocol: Literal["openai", "anthropic"]
    requests: Mapping[str, JsonObject]
    metadata: JsonObject
    created_s: float = field(default_factory=time.monotonic)
    lines: tuple[list[JsonObject], list[JsonObject]] | None = None
