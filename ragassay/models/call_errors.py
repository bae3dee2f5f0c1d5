"""Turn an error of LiteLLM into ragassay's own, with its cause in words."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ragassay.errors import (
    FatalModelError,
    ModelError,
    PromptTooLongError,
    RefusedError,
    TransientModelError,
    UnparsableReplyError,
)
from ragassay.models.connections import lost, shortened, unreachable
from ragassay.models.error_words import Meaning, meaning_of, quota_words
from ragassay.models.providers import refusal
from ragassay.models.received import no_completion

_NO_KEY = re.compile(
    r"missing credentials|missing [\w ]{0,60}api key|api_key client option must be set",
    re.IGNORECASE,
)
"""Providers' messages for a missing key; LiteLLM passes them on as server errors."""


def is_about_the_question(error: Exception) -> bool:
    """Return whether an error concerns what was asked, or the account: no parameter of the call."""
    from litellm import exceptions as kinds

    own = kinds.ContextWindowExceededError | kinds.ContentPolicyViolationError
    return isinstance(error, own) or meaning_of(_status_of(error), str(error)) is not None


def _status_of(error: Exception) -> int:
    return int(getattr(error, "status_code", 0) or 0)


def lacks_key(error: Exception) -> bool:
    """Return whether a provider says that no key was sent."""
    return _NO_KEY.search(str(error)) is not None


def typed_error(error: Exception, model: str, base: str, arrived: bytes | None) -> ModelError:
    """Return ragassay's error for one of LiteLLM's.

    Args:
        error: What LiteLLM raised.
        model: LiteLLM name of the model.
        base: Address of its API; empty where it is the provider's own.
        arrived: The start of a reply that reported success; None where none came.
    """
    from litellm import exceptions as kinds

    message = shortened(error)
    status = _status_of(error)
    if arrived is not None and isinstance(error, kinds.APIError | kinds.APIConnectionError):
        # LiteLLM calls what it cannot read a server's error, or a lost connection.
        return UnparsableReplyError(no_completion(arrived))
    known = _typed_by_words(meaning_of(status, str(error)), message, model, base)
    if known is not None:
        return known
    if isinstance(error, kinds.ContextWindowExceededError):
        return PromptTooLongError(message)
    if isinstance(error, kinds.ContentPolicyViolationError):
        return RefusedError(f"the provider's content filter: {message}")
    if isinstance(error, kinds.RateLimitError):
        return TransientModelError(message, "rate_limit")
    if isinstance(error, kinds.Timeout | TimeoutError):
        return TransientModelError(message or "no whole reply within timeout_s", "timeout")
    if isinstance(
        error, kinds.AuthenticationError | kinds.PermissionDeniedError | kinds.NotFoundError
    ) or status in (401, 403, 404):
        return FatalModelError(refusal(status or 401, message, model, base))
    broken = unreachable(error, base) or lost(error)
    if broken or isinstance(error, kinds.APIConnectionError | ConnectionError):
        return TransientModelError(broken or message, "connection")
    if isinstance(error, kinds.JSONSchemaValidationError | kinds.APIResponseValidationError):
        return UnparsableReplyError(message)
    return _typed_by_status(status, message)


def _typed_by_words(
    meaning: Meaning | None, message: str, model: str, base: str
) -> ModelError | None:
    if meaning == "quota":
        return FatalModelError(quota_words(model, message))
    if meaning == "too_long":
        return PromptTooLongError(message)
    if meaning == "no_model":
        return FatalModelError(refusal(404, message, model, base))
    return TransientModelError(message, "server_error") if meaning == "busy" else None


def _typed_by_status(status: int, message: str) -> ModelError:
    if status >= 500:
        return TransientModelError(message, "server_error")
    return RefusedError(message) if status >= 400 else ModelError(message)


def retry_after_s(error: Exception) -> float | None:
    """Return the seconds that a provider asks to wait: it names them, or a date."""
    response = getattr(error, "response", None)
    headers = getattr(response, "headers", None) or getattr(error, "litellm_response_headers", {})
    asked = str((headers or {}).get("retry-after", ""))
    try:
        return float(asked)
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(asked)
    except ValueError:
        return None
    return (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
