"""Prices of requests that a provider answers in a batch, by LiteLLM's price list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ragassay.model_names import BATCH_PROVIDERS, provider_of
from ragassay.models.litellm_library import import_litellm
from ragassay.models.prompt_caching import CHARS_A_TOKEN

UNBOUNDED_REPLY_TOKENS = 2_000
"""Tokens assumed of a reply whose length the request does not bound."""

_BOUNDS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")


def batch_price_usd(model: str, usage: Any) -> float | None:
    """Return the price of a usage (LiteLLM's `Usage`) in a batch.

    Returns:
        In USD, by the model's batch prices, else half of its other prices; None for a model that is
        not in the list.
    """
    from litellm.cost_calculator import batch_cost_calculator

    if usage is None:
        return None
    litellm = import_litellm()
    unlisted = litellm.exceptions.ModelNotMappedError, litellm.exceptions.BadRequestError
    try:
        litellm.get_model_info(model=model)  # An unlisted model would cost nothing below.
        sent, received = batch_cost_calculator(usage, model)
    except unlisted:
        return None
    return float(sent) + float(received)


def estimate_usd(model: str, bodies: Iterable[tuple[int, Mapping[str, Any]]]) -> float | None:
    """Return the highest cost of requests: every reply at full length, nothing cached.

    Args:
        model: LiteLLM name of the model.
        bodies: Each request's length in characters and its body.
    """
    n_sent = n_received = 0
    for n_chars, body in bodies:
        n_sent += n_chars // CHARS_A_TOKEN
        n_received += _most_reply_tokens(body)
    return batch_tokens_usd(model, n_sent, n_received)


def batch_tokens_usd(model: str, n_prompt_tokens: int, n_completion_tokens: int) -> float | None:
    """Return the price of a number of tokens in a batch, none of them cached.

    Returns:
        In USD; None for a provider without batches, or a model that is not in the list.
    """
    from litellm.types.utils import Usage

    if provider_of(model) not in BATCH_PROVIDERS:
        return None
    return batch_price_usd(
        model,
        Usage(
            prompt_tokens=n_prompt_tokens,
            completion_tokens=n_completion_tokens,
            total_tokens=n_prompt_tokens + n_completion_tokens,
        ),
    )


def _most_reply_tokens(body: Mapping[str, Any]) -> int:
    nested = body.get("generationConfig")  # where Gemini has it
    known = {**(nested if isinstance(nested, Mapping) else {}), **body}
    bounds = (known.get(name) for name in _BOUNDS)
    return next((one for one in bounds if isinstance(one, int)), UNBOUNDED_REPLY_TOKENS)
