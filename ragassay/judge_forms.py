"""Published fine-tuned judges: the form in which each was trained to be asked, by its name.

A form is data. How it is rendered and how its replies are read stands in
`ragassay.agents.published_judge`, under the form's name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ragassay.model_names import is_ours

FormName = Literal["yescieval", "prometheus"]
FormChoice = Literal["auto", "plain", "yescieval", "prometheus"]
"""A form, "auto" for the form of the judge's name, or "plain" for ragassay's own prompts."""

SCALE = (1, 5)
"""The lowest and the highest rating of all forms here."""


@dataclass(frozen=True)
class JudgeForm:
    """The form in which a published judge is asked.

    Attributes:
        name: Its name in the settings.
        title: The judge's name, for messages.
        pattern: Matches names of models that were trained on it, also as servers shorten them.
        examples: Names that it matches.
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
        choice: The user's choice.

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
