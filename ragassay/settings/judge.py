"""Settings of the judges and their prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from ragassay.metrics.stats.uncertainty import parse_condition
from ragassay.model_names import (
    DEFAULT_MODEL,
    FORMS,
    INSTRUMENTS,
    FormChoice,
    JudgeForm,
    detect_judge_form,
    is_ragassay_model,
    parse_options,
    split_endpoint,
)
from ragassay.prompts import Strategy
from ragassay.settings.group import READ_LIST, RESULT, AffectsResult, Flag, SettingsGroup


class JudgeSettings(SettingsGroup):
    """The judge, the other judges of a panel, and the second judge of a cascade."""

    model: Annotated[str, RESULT, Flag(("--model", "--judge"), metavar="NAME")] = Field(
        default=DEFAULT_MODEL,
        min_length=1,
        description="LiteLLM name of the judge, e.g. openai/gpt-4.1-mini. Use hosted_vllm/NAME for "
        "your own server; ragassay/judge runs in this process. By default, no language model is "
        "called, and instruments (small local models and rules) compute the scores that need no "
        "language model.",
    )
    panel: Annotated[tuple[str, ...], READ_LIST, AffectsResult("panel_names")] = Field(
        default=(),
        description="Additional judges, which form a panel with the first judge. All judges rate "
        "answers on the rubrics; the other parts are evaluated only by the first judge. Use "
        "NAME@URL to set the endpoint of a judge.",
    )
    escalate: Annotated[str, AffectsResult("escalated_to"), Flag(metavar="NAME")] = Field(
        default="",
        description="Second judge as NAME or NAME@URL, called when the first judge is unsure (a "
        "cascade). The report shows how many verdicts the second judge decided, and the cost of "
        "its calls.",
    )
    when: Annotated[str, AffectsResult("escalated_when"), Flag(metavar="CONDITION")] = Field(
        default="auto",
        description="When to call the second judge: entropy>X (in bits, over ratings or labels), "
        "confidence<X or undecided, combined with and/or. Undecided and failed verdicts are always "
        "sent to the second judge. The value auto adds no condition for the embedded judge, and "
        "entropy>1.0 for any other judge.",
    )
    api_base: Annotated[str | None, Flag(metavar="URL")] = Field(
        default=None,
        description="URL of the judge's endpoint, if it differs from the provider's default. Panel "
        "judges with the same provider as the first hosted judge use this URL too.",
    )
    model_options: Annotated[
        tuple[str, ...], READ_LIST, Flag(("--model-option",), metavar="NAME=VALUE")
    ] = Field(
        default=(),
        description="LiteLLM option for calls to hosted judges, e.g. temperature=1, "
        "reasoning_effort=low or extra_body={...}. NAME= removes an option.",
    )
    judge_form: Annotated[FormChoice, AffectsResult("form_names")] = Field(
        default="auto",
        description="Prompt format for ratings: the format of the fine-tuned judges YESciEval or "
        "Prometheus 2, which can only rate answers on rubrics, or ragassay's own format (plain). "
        "auto chooses the format by the name of the model.",
    )
    timeout_s: float = Field(
        default=600.0, gt=0, description="Timeout of a model call, in seconds."
    )
    max_attempts: int = Field(
        default=5,
        ge=1,
        le=20,
        description="Maximum number of attempts for a call that fails with a temporary error.",
    )

    @field_validator("model", "escalate", mode="before")
    @classmethod
    def _strip_name(cls, raw: object) -> object:
        return raw.strip() if isinstance(raw, str) else raw

    @field_validator("panel")
    @classmethod
    def _strip_names(cls, raw: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(str.strip, raw))

    @model_validator(mode="after")
    def _check_panel(self) -> JudgeSettings:
        members = (self.model, *self.panel_names)
        if "" in members or len(set(members)) < len(members):
            raise ValueError(
                f"the judges in a panel must be unique and not empty, got {', '.join(members)}"
            )
        if self.panel and INSTRUMENTS in members:
            raise ValueError(
                f"{INSTRUMENTS} is not a language model and cannot be part of a panel; "
                "specify two or more models"
            )
        return self

    @field_validator("model_options")
    @classmethod
    def _check_options(cls, raw: tuple[str, ...]) -> tuple[str, ...]:
        parse_options(raw)
        return raw

    @model_validator(mode="after")
    def _check_form(self) -> JudgeSettings:
        if self.judge_form in FORMS and not self.names_model:
            raise ValueError(f"judge_form {self.judge_form} requires a judge; set model")
        second = detect_judge_form(self.escalated_to or "")
        if second is not None:
            raise ValueError(
                f"escalate: {self.escalated_to} ({second.title}) can only rate answers on rubrics. "
                "Use this model as the judge or in the panel, and set escalate to a "
                "general-purpose model"
            )
        return self

    @field_validator("when")
    @classmethod
    def _check_condition(cls, text: str) -> str:
        return text if text == "auto" else parse_condition(text).text

    @model_validator(mode="after")
    def _check_second_judge(self) -> JudgeSettings:
        if self.escalate and self.panel:
            raise ValueError(
                f"escalate ({self.escalate}) cannot be combined with a panel "
                f"({', '.join(self.judges)}); use either"
            )
        if self.escalate and self.escalated_to in ("", self.model):
            raise ValueError(
                f"escalate: {self.escalate} must be a different model than {self.model}"
            )
        return self

    @property
    def names_model(self) -> bool:
        """Return whether a model is set as the judge.

        If not, a second judge may still be called.
        """
        return self.model != INSTRUMENTS

    @property
    def has_judge(self) -> bool:
        """Return whether the judge is a general-purpose model, not only a judge of rubrics."""
        return self.names_model and self.form is None

    @property
    def form(self) -> JudgeForm | None:
        """Prompt format of a published judge; None if the judge gets ragassay's own prompts."""
        return detect_judge_form(self.model, self.judge_form) if self.names_model else None

    @property
    def form_names(self) -> tuple[str, ...]:
        """Prompt format of each rubric judge; "plain" for ragassay's own prompts."""
        forms = (self.form, *map(detect_judge_form, self.panel_names))
        return tuple(form.name if form else "plain" for form in forms)

    @property
    def instruments_decide(self) -> bool:
        """Return whether local models and rules compute all scores except rubrics by default."""
        return is_ragassay_model(self.model) or not self.has_judge

    @property
    def escalated_to(self) -> str | None:
        """LiteLLM name of the second judge, if there is one."""
        return split_endpoint(self.escalate)[0] if self.escalate else None

    @property
    def escalated_when(self) -> str | None:
        """Condition for calling the second judge, with "auto" resolved; None if there is none."""
        if self.when != "auto":
            return self.when if self.escalate else None
        chosen = "undecided" if self.instruments_decide else "entropy>1"
        return chosen if self.escalate else None

    @property
    def panel_names(self) -> tuple[str, ...]:
        """LiteLLM names of the additional judges of a panel."""
        return tuple(split_endpoint(member)[0] for member in self.panel)

    @property
    def judges(self) -> tuple[str, ...]:
        """LiteLLM names of all judges that rate rubrics, the main judge first."""
        return self.model, *self.panel_names


class PromptingSettings(SettingsGroup):
    """Settings for the prompts and replies of the judges."""

    strategy: Annotated[Strategy, RESULT] = Field(
        default="knowledge",
        description="How to prompt for ratings: with only the rubric's name and range (zero_shot), "
        "with descriptions of the rubric and of each rating (knowledge), with two additional "
        "examples (few_shot), or with step-by-step reasoning (chain_of_thought).",
    )
    samples: Annotated[int, RESULT] = Field(
        default=1,
        ge=1,
        le=100,
        description="Number of replies to sample at temperature 1 for each rating or label, if "
        "the judge returns no log-probabilities. The probability of a rating or label is the "
        "fraction of samples with it, and a score is the mean over the samples.",
    )
    decisions: Annotated[Literal["auto", "on", "off"], RESULT] = Field(
        default="auto",
        description="Whether to use a separate call to LiteLLM's decisions API to get the "
        "probabilities of ratings and labels. auto does so if LiteLLM lists the model as "
        "supporting it and its replies have no log-probabilities.",
    )
    judge_seed: Annotated[int, RESULT] = Field(
        default=1,
        ge=0,
        description="Seed sent to providers that accept a seed. If several replies are sampled, "
        "each reply uses the next seed.",
    )
    prompts: Annotated[tuple[Path, ...], READ_LIST, Flag(metavar="PATH")] = Field(
        default=(), description="Compiled prompt written by `ragassay optimize`."
    )
    max_reply_tokens: Annotated[int, RESULT] = Field(
        default=256, ge=16, description="Maximum number of tokens in a reply."
    )
    max_source_chars: Annotated[int, AffectsResult("source_chars")] = Field(
        default=0,
        ge=0,
        description="Maximum number of source characters in a prompt; 0 chooses a limit that "
        "depends on the judge.",
    )
    local_dtype: Annotated[Literal["auto", "bfloat16", "float32"], RESULT] = Field(
        default="auto",
        description="Data type of the weights of the embedded judge. float32 gives bit-identical "
        "results.",
    )
