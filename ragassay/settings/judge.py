"""Settings of the judge, and of how it is asked."""

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
    form_of,
    is_ours,
    parse_options,
    split_endpoint,
)
from ragassay.prompts import Strategy
from ragassay.settings.group import READ_LIST, RESULT, AffectsResult, Flag, SettingsGroup


class JudgeSettings(SettingsGroup):
    """The judge, the further judges of a panel, and the second judge of a cascade."""

    model: Annotated[str, RESULT, Flag(("--model", "--judge"), metavar="NAME")] = Field(
        default=DEFAULT_MODEL,
        min_length=1,
        description="LiteLLM name of the judge, e.g. openai/gpt-4.1-mini or hosted_vllm/NAME; "
        "ragassay/judge runs in this process. By default there is no judge: instruments decide "
        "what they can, and no language model is asked.",
    )
    panel: Annotated[tuple[str, ...], READ_LIST, AffectsResult("panel_names")] = Field(
        default=(),
        description="Further judges, which make a panel: all rate the rubrics, the first does "
        "the rest. NAME@URL is a judge at an endpoint of its own.",
    )
    escalate: Annotated[str, AffectsResult("escalated_to"), Flag(metavar="NAME")] = Field(
        default="",
        description="A second judge that decides where the first one is unsure (a cascade); "
        "NAME@URL has an endpoint of its own. The report shows how many verdicts it decided, their "
        "cost, and the cost of asking it for all.",
    )
    when: Annotated[str, AffectsResult("escalated_when"), Flag(metavar="CONDITION")] = Field(
        default="auto",
        description="When to ask the second judge: entropy>X (bits, over the "
        "ratings or labels), confidence<X, undecided, joined by and/or. Undecided and failed "
        "verdicts always go there. auto sends nothing else with the embedded judge, and "
        "also entropy>1.0 with another judge.",
    )
    api_base: Annotated[str | None, Flag(metavar="URL")] = Field(
        default=None,
        description="Endpoint of the judge, if not the provider's own; also of the judges "
        "of a panel that share the first hosted judge's provider.",
    )
    model_options: Annotated[
        tuple[str, ...], READ_LIST, Flag(("--model-option",), metavar="NAME=VALUE")
    ] = Field(
        default=(),
        description="An option of the hosted judges' calls, as LiteLLM names it: temperature=1, "
        "reasoning_effort=low, max_tokens=2000, extra_body={...}, headers={...}; NAME= leaves an "
        "option out.",
    )
    judge_form: Annotated[FormChoice, AffectsResult("form_names")] = Field(
        default="auto",
        description="How a published fine-tuned judge is asked to rate: as YESciEval's "
        "(yescieval) or Prometheus 2 (prometheus) was trained, or as any other model (plain); "
        "auto decides by the judge's name. Such a judge rates rubrics only; instruments decide "
        "the rest.",
    )
    timeout_s: float = Field(default=600.0, gt=0, description="Maximum seconds for one call.")
    max_attempts: int = Field(
        default=5,
        ge=1,
        le=20,
        description="Maximum attempts of a call that fails for a temporary reason.",
    )

    @field_validator("model", "escalate", mode="before")
    @classmethod
    def _strip_name(cls, raw: object) -> object:
        return raw.strip() if isinstance(raw, str) else raw

    @field_validator("panel")
    @classmethod
    def _strip_names(cls, raw: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name.strip() for name in raw)

    @model_validator(mode="after")
    def _listed_once(self) -> JudgeSettings:
        members = (self.model, *self.panel_names)
        if "" in members or len(set(members)) < len(members):
            raise ValueError(f"a panel has each judge once, not {', '.join(members)}")
        if self.panel and INSTRUMENTS in members:
            raise ValueError(
                f"a panel needs language models, and {INSTRUMENTS} asks none: name two or more"
            )
        return self

    @field_validator("model_options")
    @classmethod
    def _are_options(cls, raw: tuple[str, ...]) -> tuple[str, ...]:
        parse_options(raw)
        return raw

    @model_validator(mode="after")
    def _asked_in_a_form(self) -> JudgeSettings:
        if self.judge_form in FORMS and not self.names_model:
            raise ValueError(f"judge_form {self.judge_form}: name the judge with model")
        second = form_of(self.escalated_to or "")
        if second is not None:
            raise ValueError(
                f"escalate: {self.escalated_to} is {second.title}, which rates rubrics only: name "
                "it as the judge or on the panel, and a judge for all questions as the second"
            )
        return self

    @field_validator("when")
    @classmethod
    def _is_condition(cls, text: str) -> str:
        return text if text == "auto" else parse_condition(text).text

    @model_validator(mode="after")
    def _second_beside_one(self) -> JudgeSettings:
        if self.escalate and self.panel:
            raise ValueError(
                f"a cascade begins with one judge, not with a panel of {', '.join(self.judges)}: "
                f"leave out escalate ({self.escalate}) or the further judges"
            )
        if self.escalate and self.escalated_to in ("", self.model):
            raise ValueError(
                f"escalate: {self.escalate} names no second judge besides {self.model}"
            )
        return self

    @property
    def names_model(self) -> bool:
        """Return whether a model is named; otherwise only a second judge is asked."""
        return self.model != INSTRUMENTS

    @property
    def has_judge(self) -> bool:
        """Return whether a judge answers whatever it is asked; a published one rates rubrics."""
        return self.names_model and self.form is None

    @property
    def form(self) -> JudgeForm | None:
        """The form in which a published judge is asked; None for ragassay's own prompts."""
        return form_of(self.model, self.judge_form) if self.names_model else None

    @property
    def form_names(self) -> tuple[str, ...]:
        """The form of each judge of the rubrics, "plain" for ragassay's own prompts."""
        forms = (self.form, *map(form_of, self.panel_names))
        return tuple(form.name if form else "plain" for form in forms)

    @property
    def instruments_decide(self) -> bool:
        """Return whether instruments decide all but the rubrics where nothing else is chosen."""
        return is_ours(self.model) or not self.has_judge

    @property
    def escalated_to(self) -> str | None:
        """LiteLLM name of the second judge; None without one."""
        return split_endpoint(self.escalate)[0] if self.escalate else None

    @property
    def escalated_when(self) -> str | None:
        """The condition for a second judge, with "auto" resolved; None without one."""
        if self.when != "auto":
            return self.when if self.escalate else None
        chosen = "undecided" if self.instruments_decide else "entropy>1"
        return chosen if self.escalate else None

    @property
    def panel_names(self) -> tuple[str, ...]:
        """LiteLLM names of the further judges."""
        return tuple(split_endpoint(member)[0] for member in self.panel)

    @property
    def judges(self) -> tuple[str, ...]:
        """All judges of the rubrics, the run's judge first."""
        return self.model, *self.panel_names


class PromptingSettings(SettingsGroup):
    """The prompts of the judges, and their replies."""

    strategy: Annotated[Strategy, RESULT] = Field(
        default="knowledge",
        description="How the judge is asked to rate: with only the rubric's name and range "
        "(zero_shot), with the meaning of the rubric and of each rating (knowledge), also with "
        "two examples (few_shot), or thinking step by step first (chain_of_thought).",
    )
    samples: Annotated[int, RESULT] = Field(
        default=1,
        ge=1,
        le=100,
        description="Number of replies, drawn at temperature 1, for a rating or a label of a judge "
        "without log-probabilities: the share of each value is its probability, the score is "
        "the mean. A judge with log-probabilities is asked once. With 1, the written value "
        "is the score.",
    )
    decisions: Annotated[Literal["auto", "on", "off"], RESULT] = Field(
        default="auto",
        description="Ask the judge for the probability of each rating or label in a separate "
        "call, by LiteLLM's decisions: auto if LiteLLM lists the model with that interface and "
        "its replies have no log-probabilities; on also for a server of your own that has it.",
    )
    judge_seed: Annotated[int, RESULT] = Field(
        default=1,
        ge=0,
        description="Seed to send to a judge whose provider accepts one; with several samples, "
        "each has the next seed.",
    )
    prompts: Annotated[tuple[Path, ...], READ_LIST, Flag(metavar="PATH")] = Field(
        default=(), description="A compiled prompt by `ragassay optimize`."
    )
    max_reply_tokens: Annotated[int, RESULT] = Field(
        default=256, ge=16, description="Maximum tokens of a reply."
    )
    max_source_chars: Annotated[int, AffectsResult("source_chars")] = Field(
        default=0, ge=0, description="Maximum characters of sources in a prompt; 0: by judge."
    )
    local_dtype: Annotated[Literal["auto", "bfloat16", "float32"], RESULT] = Field(
        default="auto",
        description="Number type of the embedded judge; float32 gives the same bits every time.",
    )
