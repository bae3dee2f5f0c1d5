"""Providers of hosted models, and their errors turned into ragassay's own, in words."""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Iterator, Sequence
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
from ragassay.model_names import VLLM, provider_of
from ragassay.models.received import no_completion
from ragassay.safe_text import without_secrets
from ragassay.text.faults import with_whole_characters

Meaning = Literal["quota", "too_long", "no_model", "busy"]

MEANINGS: tuple[tuple[Meaning, str, str], ...] = (
    # (meaning, words, example); the first that matches counts.
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
_A_WHILE = re.compile(r"per[_ ]?(?:minute|second)|retry[_ ]?(?:in|delay|after)", re.IGNORECASE)
"""Gemini says of a rate, too, that the quota is exceeded."""
_WAIT = re.compile(r"(?:retry|try again)\s(?:after|in)\s(\d{1,9})(?:\.\d{1,9})?\s?s", re.IGNORECASE)
LONGEST_WAIT_S = 3600
"""A provider that asks for more has no more for today."""


def meaning_of(status: int, message: str) -> Meaning | None:
    """Return what an error means, by its words; None where its status says as much.

    Example:
        >>> meaning_of(400, "Your credit balance is too low")
        'quota'
    """
    wait = _WAIT.search(message)
    is_spent = _EXCEEDED.search(message) and not _A_WHILE.search(message)
    if status == 402 or is_spent or (wait and int(wait[1]) > LONGEST_WAIT_S):
        return "quota"
    if status in (401, 403) or status >= 500:
        return None
    return next((meaning for meaning, words in _MEANINGS if words.search(message)), None)


def quota_words(model: str, message: str) -> str:
    """Return what to do about a quota that is gone."""
    return f"the quota of {model} is used up: pay its provider, or name another ({message})"


def unreachable(error: BaseException, base: str = "") -> str:
    """Return what to do about an endpoint that is not there; empty for any other error."""
    at = f" at {base}" if base else ""
    for cause in causes_of(error):
        if isinstance(cause, ConnectionRefusedError):
            return f"connection refused{at}: start the server, or check --api-base"
        if isinstance(cause, socket.gaierror):
            return f"the host is not known{at}: check --api-base and the network"
        if isinstance(cause, ssl.SSLCertVerificationError) and hasattr(cause, "verify_message"):
            return (
                f"the certificate of {base or 'its endpoint'} is not valid "
                f"({cause.verify_message}): name the authority's certificates in SSL_CERT_FILE, or "
                "check --api-base"
            )
        if isinstance(cause, _wrong_addresses()):
            return f"{base or 'its endpoint'} is not an address: --api-base is like http://HOST:PORT/v1"
    return ""


def explain_lost_connection(error: BaseException) -> str:
    """Return how a connection broke off; empty for any other error."""
    import httpx

    for cause in causes_of(error):
        if isinstance(cause, httpx.NetworkError | httpx.RemoteProtocolError | ConnectionError):
            words = " ".join(str(cause).split())[:100]
            return f"the connection broke off: {words or type(cause).__name__}"
    return ""


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """Return an error and all that led to it."""
    seen: set[int] = set()
    waiting: list[Any] = [error]
    while waiting:
        found = waiting.pop()
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        inner = (getattr(found, name, None) for name in ("os_error", "certificate_error"))
        waiting += [found.__cause__, found.__context__, *inner]


def _wrong_addresses() -> tuple[type[Exception], ...]:
    import httpx

    return httpx.UnsupportedProtocol, httpx.InvalidURL


def trim_error(reply_text: BaseException | str) -> str:
    """Return an error's words in one line of at most 300 characters, without secrets."""
    # Before it is cut: half a key is still half a key.
    text = without_secrets(with_whole_characters(" ".join(str(reply_text).split())))
    return text if len(text) <= 300 else text[:297] + "..."


ANY_KEY = "to any word, if the server at your endpoint asks for none"


@dataclass(frozen=True)
class Provider:
    """A provider, as far as it is known without LiteLLM.

    Attributes:
        keys: Environment variables, any of which may hold the key.
        base: Address of its OpenAI-compatible API; empty for another protocol, or none of its own.
        bases: Environment variables that may hold another address.
        needs_key: Whether it answers nobody without a key.
        speaks_openai: Whether its API is OpenAI's.
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
"""Providers that need no LiteLLM to be asked, or to be found without a key."""


def address_of(known: Provider, api_base: str | None) -> str:
    """Return the address at which a provider is asked; empty where nobody names one."""
    elsewhere = (os.environ.get(name) for name in known.bases)
    return next(filter(None, (api_base, *elsewhere, known.base)), "").rstrip("/")


def needs_key(model: str, api_base: str | None) -> bool:
    """Return whether a model is sure to refuse whoever has no key.

    `openai/NAME` is also the name of any model on a server of one's own, such as Ollama's, which
    may ask for none.
    """
    known = PROVIDERS.get(provider_of(model))
    if known is None or not known.needs_key:
        return False
    is_elsewhere = address_of(known, api_base) != known.base
    return not (provider_of(model) == "openai" and is_elsewhere)


def no_key(names: Sequence[str]) -> str:
    """Return what to do about a missing key, by the environment variables that may hold it."""
    wanted = " or ".join(names) or "the key of its provider"
    return f"no key for this model: set {wanted} in the environment ({ANY_KEY})"


def refusal(status: int, reply_text: str, model: str, base: str) -> str:
    """Return what to do about a 401, 403 or 404."""
    known = PROVIDERS.get(provider_of(model))
    at = base or "its provider"
    if status != 404:
        names = " or ".join(known.keys) if known else "the provider's key"
        return f"{at} refuses the key ({status}): set {names} to a valid one that may use it"
    name = model.partition("/")[2] or model
    if name in reply_text or "model" in reply_text.lower():
        return f"{at} has no model {name!r} (404): check the name of --model"
    wanted = f"{at}/chat/completions" if base else at
    return f"nothing is found at {wanted} (404): check --api-base, which often ends in /v1"


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
        model: LiteLLM name of the model.
        base: Address of its API; empty where it is the provider's own.
        arrived: The start of a reply that reported success; None where none came.
    """
    from litellm import exceptions as kinds

    message = trim_error(error)
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
    broken = unreachable(error, base) or explain_lost_connection(error)
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
