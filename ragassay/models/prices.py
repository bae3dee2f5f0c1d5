"""Estimate the cost of calls by LiteLLM's price list."""

from __future__ import annotations

from ragassay.model_names import is_local
from ragassay.models.litellm_library import import_litellm


def listed_price_usd(
    model: str,
    n_prompt_tokens: int,
    n_completion_tokens: int,
    n_read: int = 0,
    n_written: int = 0,
) -> float | None:
    """Return the price of a number of tokens.

    Args:
        model: LiteLLM name.
        n_prompt_tokens: Tokens sent, cached ones included.
        n_completion_tokens: Tokens received.
        n_read: Those of the tokens sent that the provider reads from its cache.
        n_written: Those of them that it writes to its cache.

    Returns:
        In USD; 0 for a model of this process, None for one that is not in the list.
    """
    if is_local(model):
        return 0.0
    litellm = import_litellm()
    unlisted = litellm.exceptions.ModelNotMappedError, litellm.exceptions.BadRequestError
    try:
        sent, received = litellm.cost_per_token(
            model=model,
            prompt_tokens=n_prompt_tokens,
            completion_tokens=n_completion_tokens,
            cache_read_input_tokens=n_read,
            cache_creation_input_tokens=n_written,
        )
    except unlisted:
        return None
    return float(sent) + float(received)
