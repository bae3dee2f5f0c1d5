"""Read a model response: text or label probabilities, usage, and the system that answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ragassay.errors import RefusedError, UnparsableReplyError
from ragassay.records import Usage
from ragassay.safe_text import hide_known_secrets
from ragassay.text.faults import find_reasoning, replace_surrogates

if TYPE_CHECKING:
    from litellm.types.utils import ModelResponse


SEPARATOR = ": "
MOST_CHARS = 120
"""Maximum length of a stored model name or fingerprint, because servers can send any text."""


def identify_system(asked: str, response: Any) -> str:
    """Return the system that answered, in the format of `Usage.answered_by`.

    Args:
        asked: LiteLLM name of the requested model.
        response: LiteLLM's response, of which only `model` and `system_fingerprint` are read.

    Example:
        >>> from types import SimpleNamespace
        >>> reply = SimpleNamespace(model="gpt-4.1-mini-2025-04-14", system_fingerprint="fp_4470")
        >>> identify_system("openai/gpt-4.1-mini", reply)
        'openai/gpt-4.1-mini: gpt-4.1-mini-2025-04-14 fp_4470'
    """
    names = (getattr(response, name, None) for name in ("model", "system_fingerprint"))
    parts = [
        " ".join(name.split())[:MOST_CHARS] for name in names if isinstance(name, str) and name
    ]
    return SEPARATOR.join([asked, " ".join(parts)]) if parts else asked


def describe_mixtures(answered: Iterable[str]) -> tuple[str, ...]:
    """Return a note for each model that answered under several names or fingerprints.

    Example:
        >>> answered = ["openai/a: a-2025 fp_1", "openai/a: a-2025 fp_2", "openai/b: b"]
        >>> notes = describe_mixtures(answered)
        >>> [note.partition(".")[0] for note in notes]
        ['openai/a answered as 2 systems: a-2025 fp_1; a-2025 fp_2']
    """
    names: dict[str, list[str]] = defaultdict(list)
    for entry in answered:
        asked, _, system = entry.partition(SEPARATOR)
        names[asked].append(system or "without a name")
    return tuple(
        f"{asked} answered as {len(systems)} systems: {'; '.join(sorted(systems))}. "
        "Verdicts may differ between them."
        for asked, systems in sorted(names.items())
        if len(systems) > 1
    )


def read_usage(response: ModelResponse, is_local: bool) -> Usage:
    """Return the usage of one call. LiteLLM's cost includes cache reads and writes."""
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


def compute_unbooked_usage(paid: Usage, booked: Usage) -> Usage:
    """Return the usage of failed calls that were paid for but not yet recorded."""
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
    """Return the first positive integer among the named fields of an object, or 0."""
    values = (getattr(record, name, None) for name in names)
    return next((value for value in values if isinstance(value, int) and value > 0), 0)


CUT = ("length", "max_tokens", "MAX_TOKENS", "model_length")
"""Finish reasons of replies cut off at the token limit.

LiteLLM passes on reasons that it does not know.
"""


def convert_reply(response: ModelResponse, model: str) -> dict[str, Any]:
    """Return a reply in the format that DSPy adapters expect.

    Returns:
        A dict with `text`, `logprobs`, `tool_calls`, `is_cut` (whether the reply was cut off at
        the token limit) and `reasons` (whether the model wrote its reasoning first).

    Raises:
        UnparsableReplyError: The response has no choices.
        RefusedError: The model or the provider's content filter refused to answer.
    """
    if not response.choices:
        raise UnparsableReplyError("the reply has no choices")
    choice: Any = response.choices[0]
    message = choice.message
    refusal = replace_surrogates(find_refusal(message))
    if refusal or choice.finish_reason == "content_filter":
        raise RefusedError(f"{model} refused: {refusal or 'content filter'}")
    text = hide_known_secrets(replace_surrogates(_join_text(message.content)))
    is_cut = choice.finish_reason in CUT
    return {
        "text": text,
        "logprobs": getattr(choice, "logprobs", None),
        "tool_calls": message.tool_calls or (),
        "is_cut": is_cut,
        # A reply that is empty at the token limit comes from a server that hides the reasoning.
        "reasons": _shows_reasoning(response, message, text) or (is_cut and not text.strip()),
    }


def find_refusal(message: Any) -> str | None:
    """Return the refusal text of a message, or None."""
    fields = getattr(message, "provider_specific_fields", None) or {}
    return getattr(message, "refusal", None) or fields.get("refusal")


def _join_text(content: Any) -> str:
    """Return the text of a message, which some servers send as a list of parts."""
    if not isinstance(content, list):
        return content or ""
    parts = (part for part in content if isinstance(part, dict))
    return "".join(str(part.get("text") or "") for part in parts if part.get("type") != "thinking")


def _shows_reasoning(response: ModelResponse, message: Any, text: str) -> bool:
    details = getattr(getattr(response, "usage", None), "completion_tokens_details", None)
    return bool(
        getattr(message, "reasoning_content", None)
        or getattr(details, "reasoning_tokens", None)
        or find_reasoning(text)
    )
