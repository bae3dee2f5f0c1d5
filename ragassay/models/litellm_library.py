"""LiteLLM, imported without its telemetry and called without its log."""

from __future__ import annotations

import importlib
import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ragassay.garbage import patient_collector

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
    with patient_collector():
        litellm: Any = importlib.import_module("litellm")
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    return litellm


def unlogged() -> AbstractContextManager[None]:
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
