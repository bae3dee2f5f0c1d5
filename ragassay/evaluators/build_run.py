"""Build a run from its settings."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime

from ragassay.agents.agent_set import Agents
from ragassay.agents.rubric_judge import RubricJudge
from ragassay.agents.verifiers import Verifier
from ragassay.errors import SettingsError
from ragassay.evaluators.base import Evaluator, Run, RunArguments
from ragassay.evaluators.models import Grading, Models, Retrieval
from ragassay.evaluators.own import OwnEvaluator
from ragassay.evaluators.registry import add_custom_evaluators, find_evaluator
from ragassay.evaluators.rubric import CriteriaEvaluator
from ragassay.judges import build_judge
from ragassay.models.gateway import NEEDS_JUDGE
from ragassay.models.limiter import RunLimiter
from ragassay.process import run_in_thread
from ragassay.prompts import (
    Criteria,
    Rubric,
    choose_rubrics,
    is_rubric_file,
    join_rubrics,
    load_rubrics,
    read_rubrics,
)
from ragassay.prompts.compiled import read_all_compiled
from ragassay.records import PARTS
from ragassay.retrievers.literature import Corpus, Literature
from ragassay.settings import Settings, load_settings


def build_run(
    settings: Settings,
    corpus: Literature | None = None,
    evaluators: Sequence[OwnEvaluator] = (),
    rubrics: Sequence[Rubric | Criteria] = (),
) -> Run:
    """Build a run from its settings without loading any model.

    Evidence and cited articles are looked up in `corpus`. Custom evaluators and rubrics are added
    to those in the settings.

    Raises:
        SettingsError: A rubric is unknown, the agent search is used with a judge that does not
            support tool calls, or the verifier is not a natural-language inference model.
    """
    rated_rubrics, criteria = _choose_rubrics(settings, rubrics)
    registered = _register_evaluators(settings, (*evaluators, *criteria))
    judge, models = build_judge(settings, rated_rubrics), Models.from_settings(settings)
    Grading.from_settings(settings, judge, models.grader)  # raises an error for unsupported methods
    if not settings.judge.has_judge:
        _require_judge(settings, registered, _explain_missing_judge(settings))
    if settings.retrieval.evidence == "agent" and not (judge.lm and judge.lm.calls_tools):
        raise SettingsError(
            f"{settings.judge.model} cannot call tools, which --evidence agent requires; choose "
            "another judge (--model openai/gpt-4.1-mini), or use --evidence search"
        )
    second = None
    if settings.judge.escalate:
        second = build_run(settings.build_second_settings(), corpus, evaluators, rubrics)
    return Run(
        settings=settings,
        judge=judge,
        models=models,
        retrieval=Retrieval(settings, models.embedder, Corpus() if corpus is None else corpus),
        rubrics=rated_rubrics,
        agents=Agents(
            judge=RubricJudge(settings.prompting.strategy),
            verifier=Verifier(settings.verification.verdict_labels),
        ),
        compiled=read_all_compiled(settings.prompting.prompts),
        second=second,
        registered=registered,
        arguments=RunArguments(settings, tuple(evaluators), tuple(rubrics)),
        limiter=RunLimiter.from_settings(settings),
    )


def _choose_rubrics(
    settings: Settings, rubrics: Sequence[Rubric | Criteria]
) -> tuple[dict[str, Rubric], list[CriteriaEvaluator]]:
    """Return the chosen rubrics by name, and an evaluator for each list of criteria."""
    chosen, rubric_set = settings.evaluation.rubrics, settings.evaluation.rubric_set
    own = (*read_rubrics([Path(name) for name in chosen if is_rubric_file(name)]), *rubrics)
    rated = [rubric for rubric in own if isinstance(rubric, Rubric)]
    available = join_rubrics(load_rubrics(rubric_set), rated)
    names = choose_rubrics(chosen, rubric_set, available, rated)
    wanted = {name: available[name] for name in names if settings.evaluation.wants("rubrics")}
    return wanted, [CriteriaEvaluator(one) for one in own if isinstance(one, Criteria)]


def _register_evaluators(
    settings: Settings, custom: Sequence[Evaluator[Any]]
) -> tuple[Evaluator[Any], ...]:
    own = [*map(find_evaluator, settings.evaluation.evaluators), *custom]
    registered = add_custom_evaluators(own)
    parts = dict.fromkeys((*PARTS, *(one.part for one in registered)))
    unknown = [part for part in settings.evaluation.only if part not in parts]
    if unknown:
        raise SettingsError(f"only: unknown part {unknown[0]!r}; choose from {', '.join(parts)}")
    return registered


def _explain_missing_judge(settings: Settings) -> str:
    form = settings.judge.form
    if form is None:
        return NEEDS_JUDGE
    return f"{settings.judge.model} is {form.title}, which rates rubrics only; choose another judge"


def _require_judge(settings: Settings, registered: Sequence[Evaluator[Any]], why: str) -> None:
    if settings.chosen_verifier == "judge":
        raise SettingsError(f"verifier judge: {why}")
    if settings.chosen_grader == "judge":
        raise SettingsError(f"grader judge: {why}")
    for one in registered:
        is_wanted = not settings.evaluation.only or one.part in settings.evaluation.only
        if isinstance(one, OwnEvaluator) and one.is_weighed and is_wanted:
            raise SettingsError(f"evaluator {one.name}: {why}")


def choose_run(runtime: Runtime[Run]) -> Run:
    """Return the run-time context, or by default a run with the environment's settings.

    Raises:
        SettingsError: A client of LangGraph's server passed a context with the request.
    """
    context: Any = runtime.context
    if context and not isinstance(context, Run):
        names = ", ".join(map(str, context))
        raise SettingsError(
            f"context: a served graph accepts no context (got {names}); set RAGASSAY_* variables "
            "on the server"
        )
    return context or build_default_run()


async def prepare_run(runtime: Runtime[Run]) -> Run:
    """Call `choose_run` without blocking the event loop, for use in the first node of a graph.

    Building the default run takes seconds, because it reads files and imports modules.
    """
    return choose_run(runtime) if runtime.context else await run_in_thread(choose_run, runtime)


@functools.cache
def build_default_run() -> Run:
    """Return the run for the environment's settings. The run is built only once."""
    return build_run(load_settings())
