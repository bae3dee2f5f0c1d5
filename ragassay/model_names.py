"""Read from a model's name where it runs."""

from __future__ import annotations

PROVIDER = "ragassay"
"""LiteLLM provider of the models that run in this process."""

VLLM = "hosted_vllm"
"""LiteLLM provider of servers of vLLM."""

SMOLLM2 = "smollm2-135m"
"""SmolLM2-135M-Instruct, installed as a package."""

MINILM = "all-MiniLM-L6-v2"
"""The embedding model, installed as a package."""

EMBEDDED_BASE = f"{PROVIDER}/{SMOLLM2}"
"""The base model of the shipped adapters."""

TUNED_JUDGE = f"{PROVIDER}/judge"
"""The shipped fine-tuned judge."""

INSTRUMENTS = f"{PROVIDER}/instruments"
"""No judge: instruments decide what they can tell, and no language model is asked."""

BATCH_PROVIDERS = ("openai", "azure", "anthropic", "vertex_ai")
"""LiteLLM providers whose batch interfaces are used."""

DEFAULT_MODEL = INSTRUMENTS
"""What judges where no judge is named."""

MINILM_VERIFIER = f"{PROVIDER}/minilm-verifier"
"""The default verifier without a hosted judge: the mean of two adapters."""

SIGNALS = f"{PROVIDER}/signals"
"""Rates the rubrics without a judge."""

SIGNALS_VERIFIER = f"{PROVIDER}/signals-verifier"
"""An earlier verifier, which the signals were fitted with."""

SMOLLM2_VERIFIER = f"{PROVIDER}/smollm2-verifier"
"""A slower verifier, trained on the same pairs."""

MEAN_VERIFIER = f"{PROVIDER}/mean-verifier"
"""The mean of the two."""

SHIPPED_VERIFIERS = (MINILM_VERIFIER, SMOLLM2_VERIFIER, MEAN_VERIFIER)
"""Models that compare a claim with a passage and write nothing: no chat model has these names."""

EMBEDDED = "embedded"
"""Another name of `MINILM_VERIFIER` in settings."""


def is_local(model: str) -> bool:
    """Return whether a LiteLLM model name runs in this process."""
    return model.startswith(f"{PROVIDER}/")


def is_ours(model: str) -> bool:
    """Return whether a model is one of ragassay's, in this process or on a server under its name.

    The server may stand behind a proxy. The limits of its prompts and replies are then the same,
    wherever it runs.

    Example:
        >>> is_ours("hosted_vllm/ragassay/judge"), is_ours("hosted_vllm//models/ragassay/other")
        (True, False)
        >>> is_ours("litellm_proxy/hosted_vllm/ragassay/judge")
        True
    """
    served = model.partition("/")[2]
    return any(map(is_local, (model, served, served.partition("/")[2])))


def is_on_vllm(model: str) -> bool:
    """Return whether a server of vLLM answers, asked directly or through a proxy.

    Example:
        >>> is_on_vllm("litellm_proxy/hosted_vllm/qwen"), is_on_vllm("ragassay/judge")
        (True, False)
    """
    return VLLM in model.split("/")


def is_embedded_base(model: str) -> bool:
    """Return whether a model is `EMBEDDED_BASE`, in this process or served by `ragassay serve`."""
    return is_ours(model) and model.endswith(EMBEDDED_BASE)


def provider_of(model: str) -> str:
    """Return the provider in a LiteLLM name; empty where it has none."""
    return model.partition("/")[0] if "/" in model else ""


def split_endpoint(model: str) -> tuple[str, str | None]:
    """Split a name from the endpoint that may follow it.

    A bare `@` belongs to the name: some providers write versions that way.

    Example:
        >>> split_endpoint("openai/qwen@http://localhost:8000/v1")
        ('openai/qwen', 'http://localhost:8000/v1')
        >>> split_endpoint("vertex_ai/some-model@20250101")
        ('vertex_ai/some-model@20250101', None)
    """
    name, sign, rest = model.partition("@http")
    return (name, f"http{rest}") if sign else (model, None)
