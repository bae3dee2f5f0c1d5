"""Build a run by its settings."""

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
from ragassay.evaluators.registry import find_evaluator, with_own
from ragassay.evaluators.rubric import CriteriaEvaluator
from ragassay.judges import build_judge
from ragassay.models.gateway import NEEDS_JUDGE
from ragassay.models.limiter import RunLimiter
from ragassay.process import in_thread
from ragassay.prompts import (
    Criteria,
    Rubric,
    chosen_rubrics,
    is_rubric_file,
    joined_rubrics,
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
    """Return the run that the settings call for; no model is loaded yet.

    Args:
        corpus: Where to look up evidence and cited ids.
        evaluators: The user's own, beside those that the settings name.
        rubrics: The user's own, beside those of files that the settings name.

    Raises:
        SettingsError: A rubric is unknown, an agent is to search that cannot call tools, or
            what is to verify is no model of natural language inference.
    """
    files = [Path(name) for name in settings.evaluation.rubrics if is_rubric_file(name)]
    own_rubrics = (*read_rubrics(files), *rubrics)
    rated = [rubric for rubric in own_rubrics if isinstance(rubric, Rubric)]
    criteria = [CriteriaEvaluator(one) for one in own_rubrics if isinstance(one, Criteria)]
    known = joined_rubrics(load_rubrics(settings.evaluation.rubric_set), rated)
    own = [*map(find_evaluator, settings.evaluation.evaluators), *evaluators, *criteria]
    asked = with_own(own)
    parts = dict.fromkeys((*PARTS, *(one.part for one in asked)))
    unknown = [part for part in settings.evaluation.only if part not in parts]
    if unknown:
        raise SettingsError(f"only: there is no part {unknown[0]!r}; there are {', '.join(parts)}")
    chosen = chosen_rubrics(
        settings.evaluation.rubrics, settings.evaluation.rubric_set, known, rated
    )
    asked_of = {name: known[name] for name in chosen if settings.evaluation.wants("rubrics")}
    judge, models = build_judge(settings, asked_of), Models.of(settings)
    Grading.of(settings, judge, models.grader)  # refuses what it does not know
    if not settings.judge.has_judge:
        _refuse_asking(settings, asked, _why_none_answers(settings))
    if settings.retrieval.evidence == "agent" and not (judge.lm and judge.lm.calls_tools):
        raise SettingsError(
            f"{settings.judge.model} cannot call tools, so no agent can search with it: name a "
            "judge that can (--model openai/gpt-4.1-mini), or leave --evidence at search"
        )
    second = None
    if settings.judge.escalate:
        second = build_run(settings.of_second(), corpus, evaluators, rubrics)
    return Run(
        settings=settings,
        judge=judge,
        models=models,
        retrieval=Retrieval(settings, models.embedder, Corpus() if corpus is None else corpus),
        rubrics=asked_of,
        agents=Agents(
            judge=RubricJudge(settings.prompting.strategy),
            verifier=Verifier(settings.verification.verdict_labels),
        ),
        compiled=read_all_compiled(settings.prompting.prompts),
        second=second,
        registered=asked,
        arguments=RunArguments(settings, tuple(evaluators), tuple(rubrics)),
        limiter=RunLimiter.of(settings),
    )


def _why_none_answers(settings: Settings) -> str:
    """Return why there is no judge for all questions."""
    form = settings.judge.form
    if form is None:
        return NEEDS_JUDGE
    return f"{settings.judge.model} is {form.title}, which rates rubrics only: name another judge"


def _refuse_asking(settings: Settings, asked: Sequence[Evaluator[Any]], why: str) -> None:
    """Refuse what only a judge can answer.

    Raises:
        SettingsError: The settings or an evaluator of the user's want a judge, and there is none.
    """
    if settings.chosen_verifier == "judge":
        raise SettingsError(f"verifier judge: {why}")
    if settings.chosen_grader == "judge":
        raise SettingsError(f"grader judge: {why}")
    for one in asked:
        is_wanted = not settings.evaluation.only or one.part in settings.evaluation.only
        if isinstance(one, OwnEvaluator) and one.is_weighed and is_wanted:
            raise SettingsError(f"evaluator {one.name}: {why}")


def run_of(runtime: Runtime[Run]) -> Run:
    """The run-time context; where the caller gave none, a run by the environment's settings.

    Raises:
        SettingsError: A client of LangGraph's server gave a context of its own.
    """
    context: Any = runtime.context
    if context and not isinstance(context, Run):
        names = ", ".join(map(str, context))
        raise SettingsError(
            f"context: a served graph takes none ({names}); set RAGASSAY_* where it is served"
        )
    return context or default_run()


async def ready_run(runtime: Runtime[Run]) -> Run:
    """Return `run_of`, for the first node of a graph.

    To build the environment's reads files and imports for seconds, which must not block a server.
    """
    return run_of(runtime) if runtime.context else await in_thread(run_of, runtime)


@functools.cache
def default_run() -> Run:
    """Return the run by the settings of the environment, the same one at each call."""
    return build_run(load_settings())
