"""Names and options of models: where each runs, and the forms of published judges."""

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
"""LiteLLM provider of servers of vLLM."""

SMOLLM2 = "smollm2-135m"
"""SmolLM2-135M-Instruct, installed as a package."""

MINILM = "all-MiniLM-L6-v2"
"""The packaged embedding model."""

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

JUDGE = "judge"
"""In settings in place of a model: the judge decides itself."""

COSINE = "cosine"
"""In settings in place of a model: the embedder's cosine; cosine:0.6 sets its threshold."""


def is_local(model: str) -> bool:
    """Return whether a LiteLLM model name runs in this process."""
    return model.startswith(f"{PROVIDER}/")


def is_ours(model: str) -> bool:
    """Return whether this is a ragassay model, in this process or on a server under its name.

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


FormName = Literal["yescieval", "prometheus"]
FormChoice = Literal["auto", "plain", "yescieval", "prometheus"]
"""A form, "auto" for the form of the judge's name, or "plain" for ragassay's own prompts."""

SCALE = (1, 5)
"""The lowest and the highest rating of all forms here."""


@dataclass(frozen=True)
class JudgeForm:
    """The form in which a published judge is asked.

    Attributes:
        title: The judge's name, for messages.
        pattern: Matches names of models that were trained on it, also as servers shorten them.
        rubric_set: The set whose shipped rubrics it rates; empty for any rubric from 1 to 5.
        package: The distribution that has its words.
        is_needed: Whether it cannot be rendered without that distribution.
        max_reply_tokens: Longest reply; the settings may allow more.
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
            # Its package reads 150 tokens; a reply that is cut there cannot be read.
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
"""The forms, by name."""

HUB = re.compile(r"(?:^|/)(?:sciknoworg/yescieval|prometheus-eval/prometheus)", re.IGNORECASE)
"""Start of the published judges' ids on Hugging Face's hub."""


def form_of(model: str, choice: FormChoice = "auto") -> JudgeForm | None:
    """Return the form in which a judge is asked; None for ragassay's own prompts.

    A folder under `ragassay/` may hold a judge that ragassay itself fine-tuned, whatever its name:
    there only a published id counts.

    Args:
        model: The judge's LiteLLM name.

    Example:
        >>> form_of("hosted_vllm/yescieval-ask").name
        'yescieval'
        >>> form_of("ragassay/adapters/yescieval"), form_of("openai/gpt-4.1-mini")
        (None, None)
    """
    if choice != "auto":
        return FORMS.get(choice)
    if is_ours(model) and not HUB.search(model):
        return None
    return next((form for form in FORMS.values() if form.pattern.search(model)), None)


SECRET_OPTIONS = ("headers", "extra_headers", "api_key")
"""Options that no file of a run stores."""


def written_options(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return options as NAME=VALUE; None leaves one out.

    Example:
        >>> written_options({"temperature": 1, "logprobs": None, "reasoning_effort": "low"})
        ('temperature=1', 'logprobs=', 'reasoning_effort=low')
    """
    return tuple(
        f"{name}={value if isinstance(value, str) else '' if value is None else json.dumps(value)}"
        for name, value in given.items()
    )


def parse_options(given: Iterable[str]) -> dict[str, Any]:
    """Return options from NAME=VALUE, where a value is JSON or else text; NAME= leaves one out.

    Raises:
        ValueError: One has no "=".

    Example:
        >>> parse_options(["reasoning_effort=low", "temperature=", 'extra_body={"k": 1}'])
        {'reasoning_effort': 'low', 'temperature': None, 'extra_body': {'k': 1}}
    """
    options: dict[str, Any] = {}
    for one in given:
        name, sign, value = one.partition("=")
        if not sign or not name.strip():
            raise ValueError(f"{one!r} must be NAME=VALUE, or NAME= to leave out")
        try:
            options[name.strip()] = json.loads(value) if value.strip() else None
        except ValueError:
            options[name.strip()] = value
    if "headers" in options:  # LiteLLM's name for it.
        options["extra_headers"] = options.pop("headers")
    for secret in (options.get("extra_headers") or {}).values():
        for part in str(secret).split():  # "Bearer KEY" hides the key too
            keep_secret(part)
    keep_secret(options.get("api_key"))
    return options


def noted_options(given: Iterable[str]) -> tuple[str, ...]:
    """Return options as a run stores them: without those that may hold a key."""
    return tuple(one for one in given if one.partition("=")[0].strip() not in SECRET_OPTIONS)
