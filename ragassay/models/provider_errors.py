"""Providers of hosted models, and conversion of their errors to ragassay's error types."""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from ragassay.errors import (
    FatalModelError,
    ModelError,
    PromptTooLongError,
    RefusedError,
    TransientModelError,
    UnparsableReplyError,
)
from ragassay.model_names import VLLM, find_provider
from ragassay.models.received import describe_invalid_reply
from ragassay.safe_text import hide_secrets
from ragassay.text.faults import replace_surrogates

Meaning = Literal["quota", "too_long", "no_model", "busy"]

MEANINGS: tuple[tuple[Meaning, str, str], ...] = (
    # (meaning, pattern, example). The first match counts.
    ("quota", r"insufficient[_ ](?:quota|balance|credits?|funds)", "Insufficient Balance"),
    ("quota", r"credit balance is too low", "Your credit balance is too low"),
    ("quota", r"(?:balance|credits?) (?:is|are) (?:insufficient|exhausted|depleted)",
     "Your prepayment credits are depleted."),
    ("quota", r"out of credits|credit limit (?:reached|exceeded)", "You are out of credits."),
    ("quota", r"payment required|spend(?:ing)? limit", "Payment required"),
    ("quota", r"billing[_ ](?:hard[_ ]limit|not[_ ]active)", "billing_hard_limit_reached"),
    ("quota", r"budget has been exceeded", "Budget has been exceeded! Max budget: 10"),
    ("quota", r"usage limit, upgrade|organization has been restricted",
     "You have reached your session usage limit, upgrade"),
    ("quota", r"(?:tokens|requests) per day, please wait", "Too many tokens per day, please wait"),
    ("too_long", r"maximum context length|context[_ ](?:length|size|window)",
     "This model's maximum context length is 8192 tokens"),
    ("too_long", r"(?:prompt|input|request) is too long", "prompt is too long: 210000 tokens"),
    ("too_long", r"reduce the length of the (?:messages|prompt|input)",
     "Please reduce the length of the messages or completion."),
    ("too_long", r"input token count[^.]{0,40}exceeds", "The input token count (9) exceeds 8"),
    ("no_model", r"model identifier is invalid|not a valid model|invalid model\b|model not exist",
     "The provided model identifier is invalid."),
    ("no_model", r"no models loaded", "No models loaded. Please load a model"),
    ("busy", r"model is unloaded|loading model", "Model is unloaded."),
)  # fmt: skip

_MEANINGS: tuple[tuple[Meaning, re.Pattern[str]], ...] = tuple(
    (meaning, re.compile(words, re.IGNORECASE)) for meaning, words, _ in MEANINGS
)
_EXCEEDED = re.compile(r"exceeded (?:your|its) current quota", re.IGNORECASE)
_RATE = re.compile(r"per[_ ]?(?:minute|second)|retry[_ ]?(?:in|delay|after)", re.IGNORECASE)
"""Gemini also reports rate limits as an exceeded quota."""
_WAIT = re.compile(r"(?:retry|try again)\s(?:after|in)\s(\d{1,9})(?:\.\d{1,9})?\s?s", re.IGNORECASE)
LONGEST_WAIT_S = 3600
"""Longest wait, in seconds, for a rate limit. A longer wait means that the quota is used up."""


def detect_meaning(status: int, message: str) -> Meaning | None:
    """Return what an error message means, or None if only the status code matters.

    Example:
        >>> detect_meaning(400, "Your credit balance is too low")
        'quota'
    """
    wait = _WAIT.search(message)
    is_spent = _EXCEEDED.search(message) and not _RATE.search(message)
    if status == 402 or is_spent or (wait and int(wait[1]) > LONGEST_WAIT_S):
        return "quota"
    if status in (401, 403) or status >= 500:
        return None
    return next((meaning for meaning, pattern in _MEANINGS if pattern.search(message)), None)


def format_quota_message(model: str, message: str) -> str:
    """Return the error message for a quota that is used up."""
    return f"the quota of {model} is used up; pay its provider or choose another model ({message})"


def explain_unreachable(error: BaseException, base: str = "") -> str:
    """Return the error message for an unreachable endpoint, or "" for other errors."""
    at = f" at {base}" if base else ""
    for cause in iter_causes(error):
        if isinstance(cause, ConnectionRefusedError):
            return f"connection refused{at}; start the server or check --api-base"
        if isinstance(cause, socket.gaierror):
            return f"unknown host{at}; check --api-base and the network connection"
        if isinstance(cause, ssl.SSLCertVerificationError) and hasattr(cause, "verify_message"):
            return (
                f"the certificate of {base or 'its endpoint'} is not valid "
                f"({cause.verify_message}); set SSL_CERT_FILE to the certificates of its "
                "authority, or check --api-base"
            )
        if isinstance(cause, _list_address_errors()):
            return f"{base or 'its endpoint'} is not an address; use http://HOST:PORT/v1"
    return ""


def explain_lost_connection(error: BaseException) -> str:
    """Return the error message for an interrupted connection, or "" for other errors."""
    import httpx

    for cause in iter_causes(error):
        if isinstance(cause, httpx.NetworkError | httpx.RemoteProtocolError | ConnectionError):
            detail = " ".join(str(cause).split())[:100]
            return f"the connection was interrupted: {detail or type(cause).__name__}"
    return ""


def iter_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all errors that caused it."""
    seen: set[int] = set()
    waiting: list[Any] = [error]
    while waiting:
        cause = waiting.pop()
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        inner = (getattr(cause, name, None) for name in ("os_error", "certificate_error"))
        waiting += [cause.__cause__, cause.__context__, *inner]


def _list_address_errors() -> tuple[type[Exception], ...]:
    import httpx

    return httpx.UnsupportedProtocol, httpx.InvalidURL


def trim_error(reply_text: BaseException | str) -> str:
    """Return an error message as one line of at most 300 characters, without secrets."""
    # Secrets are removed first, because truncation could leave half a key.
    text = hide_secrets(replace_surrogates(" ".join(str(reply_text).split())))
    return text if len(text) <= 300 else text[:297] + "..."


ANY_KEY = "to any text if the server at your endpoint needs no key"


@dataclass(frozen=True)
class Provider:
    """Facts about a provider that are known without importing LiteLLM.

    Attributes:
        keys: Environment variables that may contain the API key.
        base: Address of the OpenAI-compatible API, or "" if there is none or it is self-hosted.
        bases: Environment variables that may contain another address.
        needs_key: Whether a key is always required.
        speaks_openai: Whether the API is OpenAI-compatible.
    """

    keys: tuple[str, ...]
    base: str = ""
    bases: tuple[str, ...] = ()
    needs_key: bool = True
    speaks_openai: bool = True


PROVIDERS = {
    "openai": Provider(
        ("OPENAI_API_KEY",), "https://api.openai.com/v1", ("OPENAI_BASE_URL", "OPENAI_API_BASE")
    ),
    VLLM: Provider(("HOSTED_VLLM_API_KEY",), "", ("HOSTED_VLLM_API_BASE",), False),
    "litellm_proxy": Provider(("LITELLM_PROXY_API_KEY",), "", ("LITELLM_PROXY_API_BASE",), False),
    "mistral": Provider(("MISTRAL_API_KEY",), "https://api.mistral.ai/v1", ("MISTRAL_API_BASE",)),
    "groq": Provider(("GROQ_API_KEY",), "https://api.groq.com/openai/v1", ("GROQ_API_BASE",)),
    "openrouter": Provider(
        ("OPENROUTER_API_KEY",), "https://openrouter.ai/api/v1", ("OPENROUTER_API_BASE",)
    ),
    "xai": Provider(("XAI_API_KEY",), "https://api.x.ai/v1", ("XAI_API_BASE",)),
    "anthropic": Provider(("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), speaks_openai=False),
    "gemini": Provider(("GEMINI_API_KEY", "GOOGLE_API_KEY"), speaks_openai=False),
    "cohere": Provider(("COHERE_API_KEY",), speaks_openai=False),
    "lm_studio": Provider(("LM_STUDIO_API_KEY",), "", ("LM_STUDIO_API_BASE",), False),
    "llamafile": Provider(
        ("LLAMAFILE_API_KEY",), "http://127.0.0.1:8080/v1", ("LLAMAFILE_API_BASE",), False
    ),
    "ollama": Provider(("OLLAMA_API_KEY",), "", ("OLLAMA_API_BASE",), False, False),
    "ollama_chat": Provider(("OLLAMA_API_KEY",), "", ("OLLAMA_API_BASE",), False, False),
}
"""Providers whose API key variables are known without importing LiteLLM."""


def find_address(known: Provider, api_base: str | None) -> str:
    """Return the address of a provider, or an empty string if none is configured."""
    elsewhere = (os.environ.get(name) for name in known.bases)
    return next(filter(None, (api_base, *elsewhere, known.base)), "").rstrip("/")


def needs_key(model: str, api_base: str | None) -> bool:
    """Return whether a model always requires a key.

    `openai/NAME` may also be a model on a user's own server, such as Ollama, without a key.
    """
    known = PROVIDERS.get(find_provider(model))
    if known is None or not known.needs_key:
        return False
    is_elsewhere = find_address(known, api_base) != known.base
    return not (find_provider(model) == "openai" and is_elsewhere)


def format_missing_key(names: Sequence[str]) -> str:
    """Return the error message for a missing key, with the environment variables to set."""
    variables = " or ".join(names) or "the API key of the provider"
    return f"no key for this model; set {variables} in the environment ({ANY_KEY})"


def explain_client_error(status: int, reply_text: str, model: str, base: str) -> str:
    """Return the error message for status code 401, 403 or 404."""
    known = PROVIDERS.get(find_provider(model))
    at = base or "its provider"
    if status != 404:
        names = " or ".join(known.keys) if known else "the provider's key"
        return f"{at} rejected the key ({status}); set {names} to a valid key with access"
    name = model.partition("/")[2] or model
    if name in reply_text or "model" in reply_text.lower():
        return f"{at} has no model {name!r} (404); check the name in --model"
    url = f"{at}/chat/completions" if base else at
    return f"nothing found at {url} (404); check --api-base, which often ends in /v1"


_NO_KEY = re.compile(
    r"missing credentials|missing [\w ]{0,60}api key|api_key client option must be set",
    re.IGNORECASE,
)
"""Error messages of providers about a missing key.

LiteLLM reports missing keys as server errors.
"""


def is_about_the_question(error: Exception) -> bool:
    """Return whether an error is about the prompt or the account, not about a parameter."""
    from litellm import exceptions as kinds

    prompt_errors = kinds.ContextWindowExceededError | kinds.ContentPolicyViolationError
    return (
        isinstance(error, prompt_errors)
        or detect_meaning(_read_status(error), str(error)) is not None
    )


def _read_status(error: Exception) -> int:
    return int(getattr(error, "status_code", 0) or 0)


def lacks_key(error: Exception) -> bool:
    """Return whether a provider reports a missing key."""
    return _NO_KEY.search(str(error)) is not None


def convert_error(error: Exception, model: str, base: str, arrived: bytes | None) -> ModelError:
    """Convert an error from LiteLLM to one of ragassay's types.

    Args:
        model: LiteLLM name of the model.
        base: Address of the API, or "" for the provider's default.
        arrived: Start of a successful response, or None if there was none.
    """
    from litellm import exceptions as kinds

    message = trim_error(error)
    status = _read_status(error)
    if arrived is not None and isinstance(error, kinds.APIError | kinds.APIConnectionError):
        # LiteLLM reports unreadable responses as server or connection errors.
        return UnparsableReplyError(describe_invalid_reply(arrived))
    known = _convert_by_meaning(detect_meaning(status, str(error)), message, model, base)
    if known is not None:
        return known
    if isinstance(error, kinds.ContextWindowExceededError):
        return PromptTooLongError(message)
    if isinstance(error, kinds.ContentPolicyViolationError):
        return RefusedError(f"blocked by the provider's content filter: {message}")
    if isinstance(error, kinds.RateLimitError):
        return TransientModelError(message, "rate_limit")
    if isinstance(error, kinds.Timeout | TimeoutError):
        return TransientModelError(message or "no complete reply within timeout_s", "timeout")
    if isinstance(
        error, kinds.AuthenticationError | kinds.PermissionDeniedError | kinds.NotFoundError
    ) or status in (401, 403, 404):
        return FatalModelError(explain_client_error(status or 401, message, model, base))
    lost = explain_unreachable(error, base) or explain_lost_connection(error)
    if lost or isinstance(error, kinds.APIConnectionError | ConnectionError):
        return TransientModelError(lost or message, "connection")
    if isinstance(error, kinds.JSONSchemaValidationError | kinds.APIResponseValidationError):
        return UnparsableReplyError(message)
    return _convert_by_status(status, message)


def _convert_by_meaning(
    meaning: Meaning | None, message: str, model: str, base: str
) -> ModelError | None:
    if meaning == "quota":
        return FatalModelError(format_quota_message(model, message))
    if meaning == "too_long":
        return PromptTooLongError(message)
    if meaning == "no_model":
        return FatalModelError(explain_client_error(404, message, model, base))
    return TransientModelError(message, "server_error") if meaning == "busy" else None


def _convert_by_status(status: int, message: str) -> ModelError:
    if status >= 500:
        return TransientModelError(message, "server_error")
    return RefusedError(message) if status >= 400 else ModelError(message)


def read_retry_after(error: Exception) -> float | None:
    """Return the seconds to wait according to the `Retry-After` header, or None without one."""
    response = getattr(error, "response", None)
    headers = getattr(response, "headers", None) or getattr(error, "litellm_response_headers", {})
    return parse_retry_after(str((headers or {}).get("retry-after", "")))


def parse_retry_after(header: str) -> float | None:
    """Return the seconds to wait according to a `Retry-After` header, or None if it is invalid."""
    with suppress(ValueError):
        return max(0.0, float(header))
    with suppress(ValueError):
        until = parsedate_to_datetime(header)
        until = until.replace(tzinfo=until.tzinfo or UTC)
        return max(0.0, (until - datetime.now(UTC)).total_seconds())
    return None
