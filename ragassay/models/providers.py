"""Providers of hosted models, as far as they are known without LiteLLM, and their refusals."""

from __future__ import annotations

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
}
"""Providers that need no LiteLLM to be asked, or to be found without a key."""


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
