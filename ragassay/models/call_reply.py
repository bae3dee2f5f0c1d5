"""Read a provider's completion: its text, why it ended, whether the model reasoned first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragassay.errors import RefusedError, UnparsableReplyError
from ragassay.redaction import without_known
from ragassay.text.characters import with_whole_characters
from ragassay.text.reasoning import find_reasoning

if TYPE_CHECKING:
    from litellm.types.utils import ModelResponse

CUT = ("length", "max_tokens", "MAX_TOKENS", "model_length")
"""Reasons of an end that a bound on tokens gives; LiteLLM passes on those that it does not know."""


def reply_of(response: ModelResponse, model: str) -> dict[str, Any]:
    """Return a reply as DSPy's adapters expect it.

    Args:
        response: A provider's completion.
        model: The model's name, for errors.

    Returns:
        `text`, `logprobs` and `tool_calls`; `is_cut` if a bound on tokens ended it, `reasons` if
        the model wrote its reasoning first.

    Raises:
        UnparsableReplyError: It has no choices.
        RefusedError: The model refused, or the provider's filter did.
    """
    if not response.choices:
        raise UnparsableReplyError("the reply has no choices")
    choice: Any = response.choices[0]
    message = choice.message
    refusal = with_whole_characters(refusal_in(message))
    if refusal or choice.finish_reason == "content_filter":
        raise RefusedError(f"{model} refused: {refusal or 'content filter'}")
    text = without_known(with_whole_characters(_text_of(message.content)))
    is_cut = choice.finish_reason in CUT
    return {
        "text": text,
        "logprobs": getattr(choice, "logprobs", None),
        "tool_calls": message.tool_calls or (),
        "is_cut": is_cut,
        # A cut reply without a word is one of a server that hides the reasoning.
        "reasons": _shows_reasoning(response, message, text) or (is_cut and not text.strip()),
    }


def refusal_in(message: Any) -> str | None:
    """Return the words in which a model refused: LiteLLM 1.110 moved them to the message itself."""
    fields = getattr(message, "provider_specific_fields", None) or {}
    return getattr(message, "refusal", None) or fields.get("refusal")


def _text_of(content: Any) -> str:
    """Return a message's text; some servers send it as a list of parts, reasoning among them."""
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
