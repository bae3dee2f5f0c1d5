"""Faults of model calls, the calls that they affect, and the fate of batches."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from ragassay.errors import InputError
from ragassay.testing.chat_completions import JsonObject, messages_text

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
"""Faults of a reply, which every provider has; the others are errors in its own words."""

_HASH_RANGE = 2**64


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault and the requests that it affects.

    All given conditions must be met; a fault without conditions affects every request. `contains`
    and `when` select requests; `first` and `every` count only the selected ones.

    ========================  ==================================================================
    kind                      what the client sees
    ========================  ==================================================================
    `rate_limit`              429; `retry_after_s` where the provider names it
    `server_error`            500
    `unavailable`             503; Anthropic: 529
    `unauthorized`            401; Gemini: 400, Bedrock: 403
    `unknown_model`           404; Gemini, Mistral, OpenRouter, DeepSeek: 400
    `bad_request_too_long`    400; Together: 422
    `quota`                   the credit or quota is gone: 429, 402, 400, in each one's own words
    `prompt_blocked`          the provider's filter refuses the prompt: 400; Gemini: 200
    `daily_quota`             Gemini's quota of a day
    `spend_limit`             the limit that an Anthropic account has set itself
    `few_credits`             OpenRouter: too little credit for so many tokens
    `no_payment`              Bedrock: no valid way of paying
    `no_access`               Bedrock: no access to the model
    `capacity`                Mistral: no capacity in this tier
    `request_too_large`       Groq: more tokens than a minute allows
    `cut_off`                 200, the full `Content-Length`, half of the body, a closed connection
    `junk`                    200, and `content` in place of the reply
    `truncated`               200, the first half of the reply, stopped for its length
    `cut`                     200, thinking that used up the tokens, and no reply
    `refusal`                 200, and the model's refusal, in the place that it has there
    `content_filter`          200, no content, stopped by a filter
    `slow`                    the proper reply, `delay_s` later
    `hang`                    nothing until the server closes
    ========================  ==================================================================

    Which of them a provider has stands in its manner: `load_manner(name).errors`.

    Args:
        kind: See above.
        contains: Only requests with this text in their messages.
        when: Only requests whose parsed body satisfies this.
        first: Only the first n selected requests, over the server's whole life.
        every: Only every nth selected request: 3 means the 3rd, the 6th, ...
        attempts: Only the first n attempts at each distinct request; 1 means that a retry succeeds.
            Requests are the same if their `request_key` is.
        probability: In [0, 1]. Decided by a hash of seed, kind, request key and attempt, so the
            order in which requests arrive does not matter.
        seed: For `probability`.
        retry_after_s: For `rate_limit`.
        delay_s: For `slow`.
        content: For `junk`; by default not JSON.

    Raises:
        InputError: the kind is unknown or a number is out of its range.

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
        """Check the kind and the ranges."""
        if self.kind not in get_args(FaultKind):
            raise InputError(
                f"unknown fault {self.kind!r}; choose from {', '.join(get_args(FaultKind))}"
            )
        for name in ("first", "every", "attempts"):
            count: int | None = getattr(self, name)
            if count is not None and count < 1:
                raise InputError(f"{name}={count} must be at least 1")
        if self.probability is not None and not 0.0 <= self.probability <= 1.0:
            raise InputError(f"probability={self.probability} must lie in [0, 1]")
        for name in ("retry_after_s", "delay_s"):
            if getattr(self, name) < 0:
                raise InputError(f"{name}={getattr(self, name)} must not be negative")

    def concerns(self, body: JsonObject) -> bool:
        """Return whether `contains` and `when` select this request's body."""
        if self.contains is not None and self.contains not in messages_text(body):
            return False
        return self.when is None or self.when(body)

    def strikes(self, key: str, n_concerned: int, attempt: int) -> bool:
        """Return whether a selected request meets the fault.

        Args:
            key: The request's key.
            n_concerned: The number of selected requests so far, this one included; from 1.
            attempt: The number of requests with this key so far, this one included; from 1.
        """
        return (
            (self.first is None or n_concerned <= self.first)
            and (self.every is None or n_concerned % self.every == 0)
            and (self.attempts is None or attempt <= self.attempts)
            and (self.probability is None or self._draw(key, attempt) < self.probability)
        )

    @property
    def is_lasting(self) -> bool:
        """Return whether it strikes every request that it concerns."""
        return (self.first, self.every, self.attempts, self.probability) == (None,) * 4

    def _draw(self, key: str, attempt: int) -> float:
        digest = hashlib.sha256(f"{self.seed}|{self.kind}|{key}|{attempt}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / _HASH_RANGE


class FaultPlan:
    """Counts requests and selects the fault, if any, of each.

    Args:
        faults: Where several affect the same request, the first in the sequence wins; the others
            still count the request.
    """

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._faults = tuple(faults)
        self._n_concerned = [0] * len(self._faults)

    def next_fault(self, key: str, attempt: int, body: JsonObject) -> Fault | None:
        """Return the fault of this request; None for a proper reply."""
        struck: Fault | None = None
        for index, fault in enumerate(self._faults):
            if not fault.concerns(body):
                continue
            self._n_concerned[index] += 1
            if struck is None and fault.strikes(key, self._n_concerned[index], attempt):
                struck = fault
        return struck

    def lasting_fault(self, body: JsonObject) -> Fault | None:
        """Return the fault of a request that is not counted: the first that always strikes."""
        return next((f for f in self._faults if f.is_lasting and f.concerns(body)), None)


Ending = Literal["completed", "expired", "failed", "cancelled"]


@dataclass
class BatchPlan:
    """The fate of a scripted model's batches; it may change while they are under way.

    Attributes:
        takes_s: How long a batch takes.
        ending: How each ends. Of one that expires or is cancelled, the first half is answered;
            Anthropic's then end with requests that expired or were canceled.
        n_expired: The last N requests of each batch that completes are not answered in time.
        refusal: Why a batch with the ending "failed" was refused.
        n_unavailable: The first N calls of the interface meet a server's error (503).
    """

    takes_s: float = 0.0
    ending: Ending = "completed"
    n_expired: int = 0
    refusal: str = "Enqueued token limit reached for scripted. Limit: 90,000 enqueued tokens."
    n_unavailable: int = 0


@dataclass
class ScriptedBatch:
    """A batch that was created.

    Attributes:
        id: Its name here.
        protocol: Whose interface created it.
        requests: The bodies of its requests, by custom id.
        metadata: What was said of it.
        created_s: When, on the monotonic clock.
        lines: Its replies and its errors, in lines; None before it is over.
    """

    id: str
    protocol: Literal["openai", "anthropic"]
    requests: Mapping[str, JsonObject]
    metadata: JsonObject
    created_s: float = field(default_factory=time.monotonic)
    lines: tuple[list[JsonObject], list[JsonObject]] | None = None
