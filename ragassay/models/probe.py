"""Ask a hosted model for one token before a run: is it there, and may we ask it?

Where a provider's address is known, these are the only calls that LiteLLM does not make: importing
it takes longer than all the rest of saying that a key is wrong. What may pass by itself (a rate
limit, a time-out, a server's error) stops nothing: the run retries it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragassay.errors import FatalModelError, ModelError
from ragassay.model_names import is_local, provider_of
from ragassay.models.received import refuse_elsewhere

if TYPE_CHECKING:
    from ragassay.settings import Settings

TIMEOUT_S = 5.0
"""Longest wait for a probe: whoever is slower is asked by the run."""

PROBE = [{"role": "user", "content": "Say OK."}]

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
    "hosted_vllm": Provider(("HOSTED_VLLM_API_KEY",), "", ("HOSTED_VLLM_API_BASE",), False),
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
}
"""Providers that need no LiteLLM to be asked, or to be found without a key."""


def check_judges(judges: Sequence[Settings]) -> None:
    """Ask each hosted model for one token, all at the same time.

    Args:
        judges: Settings of one judge each; those in this process are not asked.

    Raises:
        FatalModelError: One cannot be asked: no key or a wrong one, an unknown model, an endpoint
            that is not there.
    """
    hosted = {(one.model, one.api_base): one for one in judges if not is_local(one.model)}
    if not hosted:
        return
    for one in hosted.values():
        _require_key(one.model)
    with ThreadPoolExecutor(len(hosted)) as workers:
        for _ in workers.map(_check, hosted.values()):
            pass


def _check(judge: Settings) -> None:
    known = PROVIDERS.get(provider_of(judge.model))
    if known is None or not known.speaks_openai or _has_key_in_code(judge.model):
        _check_by_litellm(judge)
        return
    elsewhere = [os.environ[name] for name in known.bases if os.environ.get(name)]
    base = next(filter(None, (judge.api_base, *elsewhere, known.base)), "").rstrip("/")
    if not base:
        raise FatalModelError(f"{judge.model}: it has no endpoint: name it with --api-base URL")
    _check_by_http(judge.model, base, known)


def _check_by_http(model: str, base: str, known: Provider) -> None:
    import httpx

    key = next((os.environ[name] for name in known.keys if os.environ.get(name)), "")
    body = {"model": model.partition("/")[2], "messages": PROBE, "max_tokens": 1}
    headers = {"Accept-Encoding": "identity"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        with httpx.stream(
            "POST", f"{base}/chat/completions", json=body, headers=headers, timeout=TIMEOUT_S
        ) as found:
            refuse_elsewhere(found)
            status = found.status_code
            # An error's words stand at its start; of anything else, nothing is read.
            said = next(found.iter_raw(), b"") if status in (401, 403, 404) else b""
    except FatalModelError as error:
        raise FatalModelError(f"{model}: {error}") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        if why := unreachable(error, base):
            raise FatalModelError(f"{model}: {why}") from error
        return
    if status in (401, 403, 404):
        words = said.decode("utf-8", "replace")
        raise FatalModelError(f"{model}: {refusal(status, words, model, base)}")


def _check_by_litellm(judge: Settings) -> None:
    """Ask a provider of another protocol."""
    from ragassay.models.gateway import JudgeLM, import_litellm

    litellm = import_litellm()
    try:
        litellm.get_llm_provider(judge.model, api_base=judge.api_base)
    except litellm.exceptions.BadRequestError as error:
        raise FatalModelError(
            f"{judge.model}: no provider has this name: write PROVIDER/NAME, as in "
            "openai/gpt-4.1-mini or hosted_vllm/NAME"
        ) from error
    lm = JudgeLM(judge)
    try:
        asyncio.run(lm.acall(messages=PROBE, max_tokens=1, timeout=TIMEOUT_S))
    except FatalModelError:
        raise
    except ModelError as error:
        if why := unreachable(error, judge.api_base or ""):
            raise FatalModelError(f"{judge.model}: {why}") from error


def _require_key(model: str) -> None:
    known = PROVIDERS.get(provider_of(model))
    has_key = known is None or any(map(os.environ.get, known.keys)) or _has_key_in_code(model)
    if known and known.needs_key and not has_key:
        raise FatalModelError(f"{model}: {no_key(known.keys)}")


def _has_key_in_code(model: str) -> bool:
    """Return whether the application has given LiteLLM a key itself."""
    litellm = sys.modules.get("litellm")
    names = ("api_key", f"{provider_of(model)}_key")
    return any(getattr(litellm, name, None) for name in names)


def no_key(names: Sequence[str]) -> str:
    """Return what to do about a missing key, by the environment variables that may hold it."""
    wanted = " or ".join(names) or "the key of its provider"
    return f"no key for this model: set {wanted} in the environment ({ANY_KEY})"


def refusal(status: int, said: str, model: str, base: str) -> str:
    """Return what to do about a 401, 403 or 404.

    Args:
        status: The HTTP status.
        said: The reply's text.
        model: LiteLLM name of the model.
        base: Address of its API; empty where it is the provider's own.
    """
    known = PROVIDERS.get(provider_of(model))
    at = base or "its provider"
    if status != 404:
        names = " or ".join(known.keys) if known else "the provider's key"
        return f"{at} refuses the key ({status}): set {names} to a valid one that may use it"
    name = model.partition("/")[2] or model
    if name in said or "model" in said.lower():
        return f"{at} has no model {name!r} (404): check the name of --model"
    wanted = f"{at}/chat/completions" if base else at
    return f"nothing is found at {wanted} (404): check --api-base, which often ends in /v1"


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
            return f"{base or 'its endpoint'} is no address: --api-base is like http://HOST:PORT/v1"
    return ""


def lost(error: BaseException) -> str:
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
