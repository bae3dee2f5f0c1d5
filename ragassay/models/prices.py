"""Estimate the cost of calls by LiteLLM's price list."""

from __future__ import annotations

from ragassay.model_names import is_local
from ragassay.models.gateway import import_litellm


def listed_price_usd(model: str, n_prompt_tokens: int, n_completion_tokens: int) -> float | None:
    """Return the price of a number of tokens, none of them cached by the provider.

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
        )
    except unlisted:
        return None
    return float(sent) + float(received)
