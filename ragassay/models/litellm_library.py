"""Import LiteLLM without telemetry, disable its logging, and look up prices."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ragassay.model_names import BATCH_PROVIDERS, find_provider, is_local
from ragassay.models.prompt_caching import CHARS_PER_TOKEN
from ragassay.process import speed_up_import

CALLBACKS = (
    "callbacks",
    "success_callback",
    "failure_callback",
    "input_callback",
    "_async_success_callback",
    "_async_failure_callback",
    "_async_input_callback",
)
"""LiteLLM's lists of callbacks, to which applications can add their own."""


def import_litellm() -> Any:
    """Import LiteLLM with telemetry off, the bundled price list and its own HTTP client."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    # The OpenAI client takes as much CPU time as the rest of a call.
    os.environ.setdefault("EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER", "True")
    with speed_up_import("litellm"):
        litellm: Any = importlib.import_module("litellm")
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    return litellm


def disable_logging() -> AbstractContextManager[None]:
    """Return a context manager that disables LiteLLM's logging, unless callbacks are registered.

    LiteLLM builds a log record after each call, even without callbacks. Building the record takes
    as much CPU time as the rest of a call. If calls are marked as internal, LiteLLM builds no
    record but still computes costs.
    """
    import litellm

    if any(getattr(litellm, name, None) for name in CALLBACKS):
        return nullcontext()
    try:
        from litellm._internal_context import internal_sub_call
    except ImportError:  # Without this private function, calls are only slower.
        return nullcontext()
    return internal_sub_call()


def compute_price_usd(
    model: str,
    n_prompt_tokens: int,
    n_completion_tokens: int,
    n_read: int = 0,
    n_written: int = 0,
) -> float | None:
    """Return the price of tokens in USD.

    Args:
        model: LiteLLM name.
        n_prompt_tokens: Number of prompt tokens, including cached tokens.
        n_completion_tokens: Number of completion tokens.
        n_read: Number of prompt tokens read from the provider's cache.
        n_written: Number of prompt tokens written to the provider's cache.

    Returns:
        Price, or None if the model is not in the price list. A model that runs in this process
        costs 0.
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


UNBOUNDED_REPLY_TOKENS = 2_000
"""Assumed reply length in tokens if the request sets no limit."""

_BOUNDS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")


def compute_batch_price_usd(model: str, usage: Any) -> float | None:
    """Return the batch price of LiteLLM's `Usage` in USD, or None if the model has no listed price.

    If only a regular price is listed, the batch price is half of it.
    """
    from litellm.cost_calculator import batch_cost_calculator

    if usage is None:
        return None
    litellm = import_litellm()
    unlisted = litellm.exceptions.ModelNotMappedError, litellm.exceptions.BadRequestError
    try:
        litellm.get_model_info(model=model)  # Without this check, an unlisted model would be free.
        sent, received = batch_cost_calculator(usage, model)
    except unlisted:
        return None
    return float(sent) + float(received)


def estimate_usd(model: str, bodies: Iterable[tuple[int, Mapping[str, Any]]]) -> float | None:
    """Return the maximum cost of requests, assuming replies of maximum length and no caching."""
    n_sent = n_received = 0
    for n_chars, body in bodies:
        n_sent += n_chars // CHARS_PER_TOKEN
        n_received += _read_reply_limit(body)
    return estimate_batch_price_usd(model, n_sent, n_received)


def estimate_batch_price_usd(
    model: str, n_prompt_tokens: int, n_completion_tokens: int
) -> float | None:
    """Return the batch price of tokens in USD, without caching.

    The price is None if the provider has no batch API, or the model is not in the price list.
    """
    from litellm.types.utils import Usage

    if find_provider(model) not in BATCH_PROVIDERS:
        return None
    return compute_batch_price_usd(
        model,
        Usage(
            prompt_tokens=n_prompt_tokens,
            completion_tokens=n_completion_tokens,
            total_tokens=n_prompt_tokens + n_completion_tokens,
        ),
    )


def _read_reply_limit(body: Mapping[str, Any]) -> int:
    nested = body.get("generationConfig")  # used by Gemini
    parameters = {**(nested if isinstance(nested, Mapping) else {}), **body}
    limits = (parameters.get(name) for name in _BOUNDS)
    return next((limit for limit in limits if isinstance(limit, int)), UNBOUNDED_REPLY_TOKENS)
