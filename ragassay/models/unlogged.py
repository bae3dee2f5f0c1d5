"""Calls of LiteLLM that it logs to nobody.

After each call LiteLLM builds a record for its callbacks, whether there are callbacks or not; that
takes as much processor time as all of ours. A call that counts as part of another one is not
recorded, and its cost is still worked out.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

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


def unlogged() -> AbstractContextManager[None]:
    """Return a context in which LiteLLM records no call; an empty one where callbacks want them."""
    import litellm

    if any(getattr(litellm, name, None) for name in CALLBACKS):
        return nullcontext()
    try:
        from litellm._internal_context import internal_sub_call
    except ImportError:  # LiteLLM may move it: the calls then only take longer
        return nullcontext()
    return internal_sub_call()
