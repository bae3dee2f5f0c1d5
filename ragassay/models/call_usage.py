"""Read from a reply of LiteLLM what the call took: tokens, cached tokens, dollars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragassay.records import Usage

if TYPE_CHECKING:
    from litellm.types.utils import ModelResponse


def read_usage(response: ModelResponse, is_local: bool) -> Usage:
    """Return the usage of one call.

    LiteLLM prices tokens that were read from a cache, or written to one, as the provider does.

    Args:
        response: LiteLLM's response.
        is_local: Whether the model runs in this process, which costs nothing.
    """
    usage: Any = getattr(response, "usage", None)
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(
        n_calls=1,
        n_prompt_tokens=_count(usage, "prompt_tokens"),
        n_completion_tokens=_count(usage, "completion_tokens"),
        n_cached_tokens=_count(details, "cached_tokens"),
        n_cache_write_tokens=_count(details, "cache_creation_tokens", "cache_write_tokens")
        or _count(usage, "cache_creation_input_tokens"),
        cost_usd=0.0 if is_local else response._hidden_params.get("response_cost"),
    )


def unbooked_usage(paid: Usage, booked: Usage) -> Usage:
    """Return the usage of calls that were paid for and counted nowhere, because they failed.

    Args:
        paid: The usage of all calls.
        booked: The usage of those whose replies were used.
    """
    n_failed = paid.n_calls - booked.n_calls
    if n_failed <= 0:
        return Usage()
    is_known = paid.cost_usd is not None and booked.cost_usd is not None
    return Usage(
        n_calls=n_failed,
        n_prompt_tokens=max(0, paid.n_prompt_tokens - booked.n_prompt_tokens),
        n_completion_tokens=max(0, paid.n_completion_tokens - booked.n_completion_tokens),
        n_cached_tokens=max(0, paid.n_cached_tokens - booked.n_cached_tokens),
        n_cache_write_tokens=max(0, paid.n_cache_write_tokens - booked.n_cache_write_tokens),
        cost_usd=max(0.0, (paid.cost_usd or 0.0) - (booked.cost_usd or 0.0)) if is_known else None,
    )


def _count(record: Any, *names: str) -> int:
    """Return the first of some fields that is a number above 0; 0 where none is."""
    values = (getattr(record, name, None) for name in names)
    return next((value for value in values if isinstance(value, int) and value > 0), 0)
