"""Estimate what a run's calls cost at most: plainly, with a provider's cache, as a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ragassay.models.batch_prices import batch_tokens_usd
from ragassay.models.litellm_library import import_litellm
from ragassay.models.prices import listed_price_usd
from ragassay.models.prompt_caching import least_cached_tokens, way_of
from ragassay.settings import Settings


@dataclass(frozen=True)
class SharedCalls:
    """The calls of an evaluator on one answer, which share the answer's context.

    Attributes:
        n_calls: Most calls.
        n_shared_tokens: Approximate length of the context.
        n_own_tokens: Approximate length of the rest of each prompt.
    """

    n_calls: int
    n_shared_tokens: int
    n_own_tokens: int


@dataclass(frozen=True)
class Estimate:
    """The most that a run's calls cost, by LiteLLM's price list, every reply at full length.

    Attributes:
        usd: No token cached; 0 for local models, None where a price is unknown.
        cached_usd: With each provider's cache of prompts, where it has one.
        batch_usd: Through batch interfaces; None where a model's price there is not listed.
    """

    usd: float | None = 0.0
    cached_usd: float | None = 0.0
    batch_usd: float | None = 0.0

    def __add__(self, other: Estimate) -> Estimate:
        """Return the sum of two estimates; what one does not know, the sum does not know."""
        return Estimate(
            _sum((self.usd, other.usd)),
            _sum((self.cached_usd, other.cached_usd)),
            _sum((self.batch_usd, other.batch_usd)),
        )


def estimate_cost(calls: Sequence[SharedCalls], settings: Settings) -> Estimate:
    """Estimate the cost of calls that the judges of a run share equally."""
    import_litellm()
    judges = [settings.of_judge(n) for n in range(len(settings.judge.judges))]
    found = Estimate()
    for one in judges:
        found += _estimate(calls, one, len(judges))
    return found


def _estimate(calls: Sequence[SharedCalls], settings: Settings, n_judges: int) -> Estimate:
    """Estimate one judge's share of the calls."""
    judge = settings.judge
    is_cached = way_of(judge.model, judge.api_base or "") != "none"
    least = least_cached_tokens(judge.model) if is_cached else 0
    n_sent = n_received = n_read = n_written = 0
    for one in calls:
        n_calls = -(-one.n_calls // n_judges)
        n_sent += n_calls * (one.n_shared_tokens + one.n_own_tokens)
        n_received += n_calls * settings.prompting.max_reply_tokens
        if is_cached and n_calls and one.n_shared_tokens >= least:
            n_written += one.n_shared_tokens
            n_read += (n_calls - 1) * one.n_shared_tokens
    price: Callable[..., float | None] = listed_price_usd
    return Estimate(
        price(judge.model, n_sent, n_received),
        price(judge.model, n_sent, n_received, n_read, n_written),
        batch_tokens_usd(judge.model, n_sent, n_received),
    )


def _sum(costs: Iterable[float | None]) -> float | None:
    known = list(costs)
    return None if None in known else sum(cost or 0.0 for cost in known)
