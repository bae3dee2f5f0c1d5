"""Answers are measured before their rubrics are judged: real embedded models, scripted judges."""

from __future__ import annotations

from dataclasses import replace

import pytest
from casefiles import LASTING_EFFECT, OFF_TOPIC, evaluate, filed, question

from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.evaluators.rubric import RUBRIC
from ragassay.graphs.case import convert_to_case
from ragassay.model_names import EMBEDDED_BASE
from ragassay.models.fitted_raters import load_shipped_rater
from ragassay.records import Evaluation, Signals
from ragassay.runs.evaluate import build_job, build_manifest, plan
from ragassay.settings import load_settings
from ragassay.testing import ScriptedModel

pytestmark = pytest.mark.integration


def run_of(**options) -> Run:
    base = {"model": EMBEDDED_BASE, "only": ("rubrics",), "signals": True}
    return build_run(load_settings(**(base | options)))


def endpoint(model: ScriptedModel) -> dict[str, str]:
    return {"model": model.model_name, "api_base": model.base_url}


def rating(evaluation: Evaluation, rubric: str) -> float:
    return evaluation.scores[f"rubric.{rubric}"].value


async def test_the_embedded_judge_rates_by_signals_and_points_to_the_sentence():
    run = run_of()
    whole = await evaluate(run, LASTING_EFFECT)
    answer = f"{LASTING_EFFECT.answer} {OFF_TOPIC}"
    damaged = await evaluate(run, LASTING_EFFECT.model_copy(update={"answer": answer}))
    for rubric in ("relevancy", "correctness", "informativeness", "coherence"):
        assert rating(damaged, rubric) < rating(whole, rubric) - 1
    judgment = next(j for j in damaged.judgments if j.rubric == "relevancy")
    assert judgment.sentences == (3,)
    assert "Sentence 3" in judgment.rationale
    assert len(damaged.signals.sentences) == 3
    assert damaged.usage.n_calls == 0
    assert {score.judge for score in damaged.scores.values()} == {load_shipped_rater().model}


async def test_without_signals_the_language_model_rates(make_model):
    embedded = run_of(signals=False, rubrics=("relevancy",))
    assert embedded.models.signal_extractor is None
    assert embedded.judge.name_signal_rater(embedded.rubrics) == ""
    assert embedded.judge.calls_model("relevancy")
    hosted = run_of(**endpoint(make_model()), signals=False, rubrics=("relevancy",))
    found = await evaluate(hosted, LASTING_EFFECT)
    assert (found.signals, found.usage.n_calls) == (None, 1)


async def test_a_hosted_judge_is_told_what_was_measured(make_model):
    model = make_model()
    run = run_of(**endpoint(model), rubrics=("relevancy", "integration"))
    found = await evaluate(run, LASTING_EFFECT)
    assert found.signals is not None and found.usage.n_calls == 2
    prompts = [request.messages[-1]["content"] for request in model.requests]
    log_odds = 'sentence 2 ("The effect lasts for twelve..."): log-odds'
    assert sum(log_odds in prompt for prompt in prompts) == 1
    assert any("answer: connectives a sentence" in prompt for prompt in prompts)
    # What was measured stands behind the context, so that calls still share it.
    assert len({prompt.split("Task:")[0] for prompt in prompts}) == 1


async def test_the_signals_of_an_answer_are_part_of_a_verdicts_key():
    run = run_of()
    signals = (await evaluate(run, LASTING_EFFECT)).signals
    other = Signals(values={"order": -1.0}, sentences=signals.sentences)
    case = convert_to_case(LASTING_EFFECT, run.settings, run.retrieval.corpus)
    files = [filed(case, signals=one) for one in (None, signals, other)]
    keys = {question(RUBRIC, "cohesion", file, run).compute_key(run.judge) for file in files}
    assert len(keys) == 3


def test_nothing_is_measured_where_no_rubric_is_wanted_or_known():
    assert run_of().computes_signals
    assert not run_of(only=("citations",)).computes_signals
    assert not run_of(rubric_set="usr").computes_signals
    settings = run_of().settings.model_copy(update={"only": ("citations",)})
    assert not replace(run_of(), settings=settings).computes_signals


def test_what_rates_is_named_and_costs_no_call():
    job, rater = build_job([LASTING_EFFECT], run_of().retrieval.corpus), load_shipped_rater()
    assert plan(job, run_of()).n_calls == 0
    assert plan(job, run_of(signals=False)).n_calls == 9
    manifest = build_manifest(job, run_of())
    assert (manifest.rater, manifest.rater_digest) == (rater.model, rater.digest)
    assert build_manifest(job, run_of(signals=False)).rater == ""
