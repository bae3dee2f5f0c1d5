"""The `Settings` class, which combines all groups of settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict

from ragassay.errors import SettingsError
from ragassay.model_names import (
    BATCH_PROVIDERS,
    EMBEDDED,
    MINILM_VERIFIER,
    find_provider,
    is_local,
    is_ragassay_model,
    split_endpoint,
)
from ragassay.settings.evaluation import (
    EvaluationSettings,
    GradingSettings,
    NuggetSettings,
    VerificationSettings,
)
from ragassay.settings.judge import JudgeSettings, PromptingSettings
from ragassay.settings.running import (
    LimitSettings,
    LiteratureSettings,
    OutputSettings,
    RetrievalSettings,
)

SOURCE_CHARS_LOCAL = 9_000
"""Default for the embedded judge, in characters: about 2,200 tokens or five abstracts, which it
reads in a few seconds."""

SOURCE_CHARS_HOSTED = 200_000

BATCH_SLOTS = 100_000
"""Maximum number of calls that wait for a batch: as many as the largest batch contains."""


class Settings(BaseSettings):
    """All settings of a run, in groups. A setting can be passed by its own name, without its group.

    Example:
        >>> settings = Settings(model="openai/gpt-4.1-mini", timeout_s=60)
        >>> settings.judge.timeout_s
        60.0
    """

    model_config = SettingsConfigDict(
        env_prefix="RAGASSAY_",
        env_nested_delimiter="__",
        enable_decoding=False,
        extra="forbid",
        frozen=True,
    )

    judge: JudgeSettings = Field(default_factory=JudgeSettings)
    prompting: PromptingSettings = Field(default_factory=PromptingSettings)
    evaluation: EvaluationSettings = Field(default_factory=EvaluationSettings)
    nuggets: NuggetSettings = Field(default_factory=NuggetSettings)
    grading: GradingSettings = Field(default_factory=GradingSettings)
    verification: VerificationSettings = Field(default_factory=VerificationSettings)
    retrieval: RetrievalSettings = Field(default_factory=RetrievalSettings)
    literature: LiteratureSettings = Field(default_factory=LiteratureSettings)
    limits: LimitSettings = Field(default_factory=LimitSettings)
    output: OutputSettings = Field(default_factory=OutputSettings)

    def __init__(self, **overrides: object) -> None:
        """Create settings from keywords (fields or groups), the environment and the defaults."""
        super().__init__(**_group_overrides(overrides))

    def model_copy(
        self, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> Settings:
        """Return a copy with some settings changed, without validation."""
        changed = {
            name: getattr(self, name).model_copy(update=values) if name in GROUPS else values
            for name, values in _group_overrides(update or {}).items()
        }
        return super().model_copy(update=changed, deep=deep)

    def collect_values(self) -> dict[str, object]:
        """Return the values of all settings, by name."""
        return {name: getattr(getattr(self, group), name) for name, group in GROUP_OF.items()}

    @model_validator(mode="after")
    def _check_batch(self) -> Settings:
        if not self.limits.batch:
            return self
        judges = (*self.judge.judges, *filter(None, (self.judge.escalated_to,)))
        hosted = [judge for judge in judges if not is_local(judge)]
        if not hosted:
            raise ValueError("batch requires a hosted judge; set model, or remove batch")
        for judge in hosted:
            if find_provider(judge) not in BATCH_PROVIDERS:
                raise ValueError(
                    f"batch: {judge} has no batch API; supported providers are "
                    f"{', '.join(BATCH_PROVIDERS)}. Use one of them, or remove batch"
                )
        if self.limits.engine != "local":
            raise ValueError("batch cannot be combined with a cluster; remove engine or batch")
        return self

    def build_judge_settings(self, place: int) -> Settings:
        """Return the settings for one judge of the panel.

        Args:
            place: Index of the judge in `judges`; 0 for the main judge.
        """
        hosted = [find_provider(judge) for judge in self.judge.judges if not is_local(judge)]
        judge = self.judge
        name, own = split_endpoint(judge.panel[place - 1]) if place else (judge.model, None)
        shares = not place or find_provider(name) in hosted[:1]
        api_base = own or (self.judge.api_base if shares else None)
        overrides: dict[str, object] = {"model": name, "panel": (), "api_base": api_base}
        if place:
            overrides["judge_form"] = "auto"
        return self.model_copy(update=overrides)

    def build_second_settings(self) -> Settings:
        """Return the settings for the second judge, which also verifies, labels and grades.

        Raises:
            SettingsError: There is no second judge.
        """
        name, own = split_endpoint(self.judge.escalate)
        if not name:
            raise SettingsError("there is no second judge; set escalate")
        shares = is_local(self.judge.model) or find_provider(name) == find_provider(
            self.judge.model
        )
        overrides: dict[str, object] = {
            "model": name,
            "api_base": own or (self.judge.api_base if shares else None),
            "escalate": "",
            "judge_form": "auto",
            "signals": False,
            "verifier": "judge",
            "correctness": "judge",
            "labeller": "judge",
            "grader": "judge",
            "nugget_matcher": "",
            "evidence": "search",
        }
        return self.model_copy(update=overrides)

    @property
    def n_slots(self) -> int:
        """Maximum number of concurrent model calls."""
        if self.limits.batch and not is_local(self.judge.model):
            return BATCH_SLOTS
        return self.limits.concurrency or (64 if is_ragassay_model(self.judge.model) else 16)

    @property
    def chosen_verifier(self) -> str:
        """Name of the verifier, with "auto" resolved."""
        chosen = self.verification.verifier
        if chosen == "auto":
            chosen = EMBEDDED if self.judge.instruments_decide else "judge"
        return MINILM_VERIFIER if chosen == EMBEDDED else chosen

    @property
    def chosen_grader(self) -> str:
        """Name of the passage grader, with "auto" resolved."""
        if self.grading.grader != "auto":
            return self.grading.grader
        return EMBEDDED if self.judge.instruments_decide else "judge"

    @property
    def computes_signals(self) -> bool:
        """Return whether to compute signals, which only exist for YESciEval's rubrics.

        Without a judge, signals are also used to find unnecessary sentences.
        """
        is_used = self.evaluation.wants("rubrics") or (
            self.evaluation.wants("sentences") and not self.judge.has_judge
        )
        return self.evaluation.signals and is_used and self.evaluation.rubric_set == "yescieval"

    @property
    def query_rounds(self) -> int:
        """Maximum number of rounds of queries: 0 without a judge, at most 1 with a local judge."""
        if not self.judge.has_judge:
            return 0
        rounds = self.retrieval.evidence_rounds
        return min(rounds, 1) if is_ragassay_model(self.judge.model) else rounds

    @property
    def judges_sufficiency(self) -> bool:
        """Return whether the judge decides if passages are sufficient. A local judge never does."""
        return self.query_rounds > 0 and not is_ragassay_model(self.judge.model)

    @property
    def cites_by_nuggets(self) -> bool:
        """Return whether citations are checked separately for each nugget of a sentence."""
        return self.evaluation.wants("citations") and self.verification.citation_evidence in (
            "nuggets",
            "nugget-lists",
        )

    @property
    def source_chars(self) -> int:
        """Maximum number of source characters in a prompt."""
        if self.prompting.max_source_chars:
            return self.prompting.max_source_chars
        readers = self.judge.judges if self.judge.names_model else (self.judge.escalated_to or "",)
        is_small = any(map(is_ragassay_model, readers)) or any(
            name != "plain" for name in self.judge.form_names
        )
        return SOURCE_CHARS_LOCAL if is_small else SOURCE_CHARS_HOSTED


GROUPS: Mapping[str, Any] = {name: one.annotation for name, one in Settings.model_fields.items()}
"""Class of each group of settings, by its field name in `Settings`."""

FIELDS: Mapping[str, FieldInfo] = {
    name: field for group in GROUPS.values() for name, field in group.model_fields.items()
}
"""Pydantic field of each setting, by name."""

GROUP_OF = {name: group for group, kind in GROUPS.items() for name in kind.model_fields}
"""Name of the group that contains each setting, by the name of the setting."""


def _group_overrides(overrides: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, value in overrides.items():
        if group := GROUP_OF.get(name):
            nested.setdefault(group, {})[name] = value
        else:
            nested[name] = value
    return nested
