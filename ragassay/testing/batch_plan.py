"""Plan the fate of the scripted model's batches, and hold those that were created."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ragassay.testing.requests import JsonObject

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
