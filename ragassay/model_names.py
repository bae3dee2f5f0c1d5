"""Model names, model options and the prompt formats of published judges."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ragassay.safe_text import keep_secret

PROVIDER = "ragassay"
"""LiteLLM provider of the models that run in this process."""

VLLM = "hosted_vllm"
"""LiteLLM provider of vLLM servers."""

SMOLLM2 = "smollm2-135m"
"""SmolLM2-135M-Instruct, installed as a Python package."""

MINILM = "all-MiniLM-L6-v2"
"""Embedding model, installed as a Python package."""

EMBEDDED_BASE = f"{PROVIDER}/{SMOLLM2}"

TUNED_JUDGE = f"{PROVIDER}/judge"

INSTRUMENTS = f"{PROVIDER}/instruments"
"""Model name for judging with instruments only, without a language model."""

BATCH_PROVIDERS = ("openai", "azure", "anthropic", "vertex_ai")
"""LiteLLM providers whose batch APIs ragassay can use."""

DEFAULT_MODEL = INSTRUMENTS

MINILM_VERIFIER = f"{PROVIDER}/minilm-verifier"
"""Default verifier if no hosted judge is configured.

The verifier averages the results of two adapters.
"""

SIGNALS = f"{PROVIDER}/signals"
"""Rubric rater that works without a language model."""

SIGNALS_VERIFIER = f"{PROVIDER}/signals-verifier"
"""Older verifier that was used to fit the rubric rater `SIGNALS`."""

SMOLLM2_VERIFIER = f"{PROVIDER}/smollm2-verifier"
"""Slower verifier, trained on the same pairs as `MINILM_VERIFIER`."""

MEAN_VERIFIER = f"{PROVIDER}/mean-verifier"
"""Average of `MINILM_VERIFIER` and `SMOLLM2_VERIFIER`."""

SHIPPED_VERIFIERS = (MINILM_VERIFIER, SMOLLM2_VERIFIER, MEAN_VERIFIER)
"""Verifiers that score a claim against a passage and cannot be used as chat models."""

EMBEDDED = "embedded"
"""Alias of `MINILM_VERIFIER` in settings."""

JUDGE = "judge"
"""Value of a setting that selects the judge instead of a separate model."""

COSINE = "cosine"
"""Value of a setting that selects cosine similarity.

For example, `cosine:0.6` sets a threshold of 0.6.
"""


def is_local(model: str) -> bool:
    """Return whether the model with this LiteLLM name runs in this process."""
    return model.startswith(f"{PROVIDER}/")


def is_ragassay_model(model: str) -> bool:
    """Return whether a name belongs to a ragassay model, in this process or on a server.

    The server may be behind a proxy. A model's prompt and reply limits are the same wherever it
    runs.

    Example:
        >>> is_ragassay_model("litellm_proxy/hosted_vllm/ragassay/judge")
        True
        >>> is_ragassay_model("hosted_vllm//models/ragassay/other")
        False
    """
    served = model.partition("/")[2]
    return any(map(is_local, (model, served, served.partition("/")[2])))


def is_on_vllm(model: str) -> bool:
    """Return whether a vLLM server runs the model, directly or behind a proxy.

    Example:
        >>> is_on_vllm("litellm_proxy/hosted_vllm/qwen"), is_on_vllm("ragassay/judge")
        (True, False)
    """
    return VLLM in model.split("/")


def is_embedded_base(model: str) -> bool:
    """Return whether a model is `EMBEDDED_BASE`, in this process or served by `ragassay serve`."""
    return is_ragassay_model(model) and model.endswith(EMBEDDED_BASE)


def find_provider(model: str) -> str:
    """Return the provider in a LiteLLM name, or an empty string."""
    return model.partition("/")[0] if "/" in model else ""


def split_endpoint(model: str) -> tuple[str, str | None]:
    """Split a model name into the LiteLLM name and an optional endpoint.

    An `@` that is not followed by an address is part of the name, because some providers write
    versions that way.

    Example:
        >>> split_endpoint("openai/qwen@http://localhost:8000/v1")
        ('openai/qwen', 'http://localhost:8000/v1')
        >>> split_endpoint("vertex_ai/some-model@20250101")
        ('vertex_ai/some-model@20250101', None)
    """
    name, sign, rest = model.partition("@http")
    return (name, f"http{rest}") if sign else (model, None)


FormName = Literal["yescieval", "prometheus"]
FormChoice = Literal["auto", "plain", "yescieval", "prometheus"]
"""`auto` derives the format from the judge's name. `plain` selects ragassay's own prompts."""

SCALE = (1, 5)
"""Lowest and highest rating in all prompt formats."""


@dataclass(frozen=True)
class JudgeForm:
    """Prompt format of a published judge.

    Attributes:
        title: Name of the judge in messages.
        pattern: Pattern that matches models trained on this format, including names shortened by
            servers.
        rubric_set: Rubric set that the judge supports, or "" if it supports any rubric with ratings
            from 1 to 5.
        package: Distribution that contains the prompt texts.
        is_needed: Whether rendering a prompt in this format requires `package`.
        max_reply_tokens: Maximum number of reply tokens, unless the settings allow more.
    """

    name: FormName
    title: str
    pattern: re.Pattern[str]
    examples: tuple[str, ...]
    rubric_set: str
    package: str
    is_needed: bool
    max_reply_tokens: int


FORMS: Mapping[str, JudgeForm] = {
    form.name: form
    for form in (
        JudgeForm(
            name="yescieval",
            title="YESciEval's judge",
            pattern=re.compile(r"yes-?s?ci-?eval", re.IGNORECASE),
            examples=(
                "hosted_vllm/SciKnowOrg/YESciEval-ASK-Llama-3.1-8B",
                "hosted_vllm/yescieval-bioasq",
                "openai/yescieval:8b-q4_K_M",
                "llamafile//models/YESciEval-BioASQ-Llama-3.1-8B.Q4_K_M.gguf",
                "ragassay/SciKnowOrg/YESciEval-BioASQ-Llama-3.1-8B",
            ),
            rubric_set="yescieval",
            package="yescieval",
            is_needed=True,
            # The yescieval package generates 150 tokens, but a reply cut there cannot be parsed.
            max_reply_tokens=256,
        ),
        # Kim et al. 2024, arXiv 2405.01535: direct assessment.
        JudgeForm(
            name="prometheus",
            title="Prometheus 2",
            pattern=re.compile(
                r"prometheus-eval/|prometheus-?2|prometheus[\w.-]{0,20}v2|prometheus-bgb"
                r"|m-prometheus",
                re.IGNORECASE,
            ),
            examples=(
                "hosted_vllm/prometheus-eval/prometheus-7b-v2.0",
                "openai/tensortemplar/prometheus2:7b-fp16",
                "lm_studio/prometheus-8x7b-v2.0",
                "llamafile//models/prometheus-7b-v2.0.Q5_K_M.gguf",
                "hosted_vllm/Unbabel/M-Prometheus-7B",
                "openai/prometheus-bgb-8x7b-v2.0",
            ),
            rubric_set="",
            package="prometheus-eval",
            is_needed=False,
            max_reply_tokens=1024,
        ),
    )
}

HUB = re.compile(r"(?:^|/)(?:sciknoworg/yescieval|prometheus-eval/prometheus)", re.IGNORECASE)
"""Pattern that matches the start of a published judge's Hugging Face id."""


def detect_judge_form(model: str, choice: FormChoice = "auto") -> JudgeForm | None:
    """Return the prompt format of a judge, or None for ragassay's own prompts.

    A `ragassay/` model may be a judge that was fine-tuned with ragassay's own prompts, whatever its
    folder is called. The name of such a model selects a format only if it contains a published
    model id.

    Args:
        model: LiteLLM name of the judge.

    Example:
        >>> detect_judge_form("hosted_vllm/yescieval-ask").name
        'yescieval'
        >>> names = "ragassay/adapters/yescieval", "openai/gpt-4.1-mini"
        >>> [detect_judge_form(name) for name in names]
        [None, None]
    """
    if choice != "auto":
        return FORMS.get(choice)
    if is_ragassay_model(model) and not HUB.search(model):
        return None
    return next((form for form in FORMS.values() if form.pattern.search(model)), None)


SECRET_OPTIONS = ("headers", "extra_headers", "api_key")
"""Model options that are never written to run files."""


def format_model_options(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return options as NAME=VALUE strings. A value of None becomes NAME=, which removes an option.

    Example:
        >>> format_model_options({"temperature": 1, "logprobs": None, "reasoning_effort": "low"})
        ('temperature=1', 'logprobs=', 'reasoning_effort=low')
    """
    return tuple(
        f"{name}={value if isinstance(value, str) else '' if value is None else json.dumps(value)}"
        for name, value in options.items()
    )


def parse_options(texts: Iterable[str]) -> dict[str, Any]:
    """Parse NAME=VALUE options, or raise `ValueError`.

    Values are parsed as JSON if possible, and empty values become None.

    Example:
        >>> parse_options(["reasoning_effort=low", "temperature=", 'extra_body={"k": 1}'])
        {'reasoning_effort': 'low', 'temperature': None, 'extra_body': {'k': 1}}
    """
    options: dict[str, Any] = {}
    for option in texts:
        name, sign, value = option.partition("=")
        if not sign or not name.strip():
            raise ValueError(f"{option!r} must be NAME=VALUE, or NAME= to remove the option")
        try:
            options[name.strip()] = json.loads(value) if value.strip() else None
        except ValueError:
            options[name.strip()] = value
    if "headers" in options:  # an alias in LiteLLM
        options["extra_headers"] = options.pop("headers")
    for secret in (options.get("extra_headers") or {}).values():
        for part in str(secret).split():  # also hides the key in "Bearer KEY"
            keep_secret(part)
    keep_secret(options.get("api_key"))
    return options


def remove_secret_options(options: Iterable[str]) -> tuple[str, ...]:
    """Return the options to write to run files, without options that may contain a key."""
    return tuple(opt for opt in options if opt.partition("=")[0].strip() not in SECRET_OPTIONS)
