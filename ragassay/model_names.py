"""What a model's name says about where it runs."""

from __future__ import annotations

PROVIDER = "ragassay"
"""LiteLLM provider of the models that are answered in this process."""

SMOLLM2 = "smollm2-135m"
"""SmolLM2-135M-Instruct, installed as a package."""

DEFAULT_MODEL = f"{PROVIDER}/{SMOLLM2}"
"""The judge where no other is named."""


def is_local(model: str) -> bool:
    """Whether a LiteLLM model name is answered in this process."""
    return model.startswith(f"{PROVIDER}/")
