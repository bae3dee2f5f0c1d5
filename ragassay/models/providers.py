"""Providers of hosted models, as far as they are known without LiteLLM, and their refusals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from ragassay.model_names import VLLM, provider_of

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
