"""LiteLLM, imported without telemetry and called without log, and its list of prices."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ragassay.model_names import BATCH_PROVIDERS, is_local, provider_of
from ragassay.models.prompt_caching import CHARS_A_TOKEN
from ragassay.process import importing

CALLBACKS = (
    "callbacks",
    "success_callback",
    "failure_callback",
    "input_callback",
    "_async_success_callback",
    "_async_failure_callback",
    "_async_input_callback",
)
"""Lists of LiteLLM; a user's own tools may be registered in any of them."""


def import_litellm() -> Any:
    """Import LiteLLM with its telemetry off, its price list of the package, its own client."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    # OpenAI's client takes as much processor time as all the rest of a call.
    os.environ.setdefault("EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER", "True")
    with importing("litellm"):
        litellm: Any = importlib.import_module("litellm")
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    return litellm


def disable_logging() -> AbstractContextManager[None]:
    """Return a context in which LiteLLM records no call; an empty one where callbacks want them.

    After each call LiteLLM builds a record for its callbacks, whether there are callbacks or not;
    that takes as much processor time as all of ours. A call that counts as part of another one is
    not recorded, and its cost is still worked out.
    """
    import litellm

    if any(getattr(litellm, name, None) for name in CALLBACKS):
        return nullcontext()
    try:
        from litellm._internal_context import internal_sub_call
    except ImportError:  # LiteLLM may move it: the calls then only take longer
        return nullcontext()
    return internal_sub_call()


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
    """Return the highest cost of requests: every reply at full length, nothing cached."""
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
