"""Build the judge of a run from the settings, without loading a model."""

from __future__ import annotations

from collections.abc import Mapping

from ragassay.judges.base import BaseJudge, NoJudge
from ragassay.judges.hosted import TUNED_RUBRICS, FineTunedJudge, HostedJudge, PublishedJudge
from ragassay.judges.panel import Panel
from ragassay.judges.signals import SignalJudge
from ragassay.model_names import detect_judge_form, is_embedded_base
from ragassay.models.fitted_raters import load_shipped_rater
from ragassay.models.gateway import JudgeLM
from ragassay.models.tuned import find_tuned_note, use_base_model
from ragassay.prompts import Rubric
from ragassay.settings import Settings


def build_judge(settings: Settings, rubrics: Mapping[str, Rubric]) -> BaseJudge:
    """Return the judge or the panel that the settings specify.

    Raises:
        SettingsError: Neither the judge nor the signals support a rubric.
        ExtraError: The prompts of a published judge are not installed.
    """
    signals = SignalJudge(load_shipped_rater()) if settings.computes_signals else None
    if not settings.judge.names_model:
        judge: BaseJudge = signals or NoJudge()
    else:
        own = settings.build_judge_settings(0)
        base = JudgeLM(use_base_model(own)) if settings.judge.has_judge else None
        rates = base and (
            base.model == own.judge.model or settings.evaluation.rubric_set != TUNED_RUBRICS
        )
        judge = _build_single_judge(
            settings, base if base and rates else JudgeLM(own), base, rubrics, signals
        )
        others = [settings.build_judge_settings(n) for n in range(1, len(settings.judge.judges))]
        if others:
            members = [_build_member(one, settings, rubrics, signals) for one in others]
            judge = Panel((judge, *members))
    for one in judge.members or (judge,):
        one.require_rubrics(rubrics)
    return judge


def _build_member(
    own: Settings, settings: Settings, rubrics: Mapping[str, Rubric], signals: SignalJudge | None
) -> BaseJudge:
    lm, base_settings = JudgeLM(own), use_base_model(own)
    is_base = base_settings.judge.model == own.judge.model
    return _build_single_judge(
        settings, lm, lm if is_base else JudgeLM(base_settings), rubrics, signals
    )


def _build_single_judge(
    settings: Settings,
    lm: JudgeLM,
    base: JudgeLM | None,
    rubrics: Mapping[str, Rubric],
    signals: SignalJudge | None,
) -> BaseJudge:
    """Return a judge of the class that matches the model name.

    `base` is the model for tasks that a fine-tuned or published judge was not trained on.
    """
    form = settings.judge.form if lm.model == settings.judge.model else detect_judge_form(lm.model)
    if form is not None:
        return PublishedJudge(lm, base, form, rubrics, settings.evaluation.rubric_set, signals)
    note = find_tuned_note(lm.model)
    if base and note and note.task == "judge" and settings.evaluation.rubric_set == TUNED_RUBRICS:
        return FineTunedJudge(lm, base, note.source_chars, signals)
    return HostedJudge(lm, signals if is_embedded_base(lm.model) else None)
