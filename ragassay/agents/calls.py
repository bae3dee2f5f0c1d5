"""Make one call and read its reply; one that was cut is asked for again with more tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ragassay.errors import CutReplyError, UnparsableReplyError

T = TypeVar("T")


async def read_call(
    lm: Any,
    messages: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
    read: Callable[[Mapping[str, Any]], T],
) -> T:
    """Return what is read of a model's reply.

    Args:
        lm: The model.
        messages: The prompt.
        options: The call's options.
        read: Reads a reply; a reply that was cut may still be whole enough.

    Raises:
        CutReplyError: The reply was cut, and again with twice the tokens.
        ModelError: The call failed, or its reply cannot be read.
    """
    reply = (await lm.acall(messages=messages, **options))[0]
    try:
        return read(reply)
    except UnparsableReplyError:
        if not reply.get("is_cut"):
            raise
    bound = options.get("max_tokens") or lm.kwargs.get("max_tokens")
    if bound:
        # Of a model that is now known to reason, the gateway multiplies it further.
        longer = {**options, "max_tokens": bound * 2}
        reply = (await lm.acall(messages=messages, **longer))[0]
        try:
            return read(reply)
        except UnparsableReplyError:
            if not reply.get("is_cut"):
                raise
    raise CutReplyError(_cut_words(lm.model, reply["text"], bound))


def _cut_words(model: str, text: str, bound: int | None) -> str:
    """Return what to do about a reply that was cut."""
    what = "its reasoning took all its tokens" if not text.strip() else f"it ends {text[-60:]!r}"
    told = "raise --max-reply-tokens" if bound else "give --model-option max_tokens=N"
    return f"the reply of {model} was cut: {what}; {told}"
