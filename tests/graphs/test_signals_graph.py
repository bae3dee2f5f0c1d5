"""Answers are measured before their rubrics are judged: real embedded models, scripted judges."""

from __future__ import annotations

from dataclasses import replace

import pytest
from casefiles import filed, question

from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.evaluators.rubric import RUBRIC
from ragassay.graphs.case import Input, convert_to_case
from ragassay.graphs.evaluate import build_evaluate_graph
from ragassay.model_names import EMBEDDED_BASE
from ragassay.models.fitted_raters import load_shipped_rater
from ragassay.records import Document, Evaluation, Record, Signals
from ragassay.runs.evaluate import build_job, build_manifest, plan
from ragassay.settings import load_settings
from ragassay.testing import ScriptedModel

pytestmark = pytest.mark.integration

SOURCES = (
    Document(
        id="11",
        title="Drug A in hypertension",
        text="Drug A lowered systolic blood pressure by 5 mmHg in adults with hypertension. "
        "The effect lasted for twelve weeks. Cough was seen in 4 % of the patients.",
    ),
)
WHOLE = (
    "Drug A lowers systolic blood pressure by 5 mmHg in adults with hypertension [1]. "
    "The effect lasts for twelve weeks, but 4 % of the patients cough [1]."
)
OFF_TOPIC = (
    "The home team scored twice in the second half and won the derby in front of a full house."
)


def record(answer: str = WHOLE, name: str = "one") -> Record:
    question = "Does drug A lower blood pressure?"
    return Record(id=name, question=question, answer=answer, sources=SOURCES)


def run(**options: object) -> Run:
    chosen = {"model": EMBEDDED_BASE, "only": ("rubrics",), "signals": True}
    return build_run(load_settings(**(chosen | options)))


async def evaluate(run: Run, one: Record) -> Evaluation:
    found = await build_evaluate_graph().ainvoke(Input(record=one), context=run)
    return found["evaluation"]


def rating(evaluation: Evaluation, rubric: str) -> float:
    value = evaluation.scores[f"rubric.{rubric}"].value
    assert value is not None
    return value


async def test_the_embedded_judge_rates_by_signals_and_points_to_the_sentence():
    chosen = run()
    whole = await evaluate(chosen, record())
    damaged = await evaluate(chosen, record(f"{WHOLE} {OFF_TOPIC}"))
    for rubric in ("relevancy", "correctness", "informativeness", "coherence"):
        assert rating(damaged, rubric) < rating(whole, rubric) - 1
    judgment = next(j for j in damaged.judgments if j.rubric == "relevancy")
    assert judgment.sentences == (3,)
    assert "Sentence 3" in judgment.rationale
    assert damaged.signals is not None and len(damaged.signals.sentences) == 3
    assert damaged.usage.n_calls == 0
    assert {score.judge for score in damaged.scores.values()} == {load_shipped_rater().model}


async def test_without_signals_the_language_model_rates():
    chosen = run(signals=False, rubrics=("relevancy",))
    assert (chosen.models.signal_extractor, chosen.judge.name_signal_rater(chosen.rubrics)) == (
        None,
        "",
    )
    found = await evaluate(chosen, record())
    assert found.signals is None
    assert found.usage.n_calls == 1


async def test_a_hosted_judge_is_told_what_was_measured():
    with ScriptedModel() as model:
        hosted = {"model": model.model_name, "api_base": model.base_url}
        found = await evaluate(run(**hosted, rubrics=("relevancy", "integration")), record())
        prompts = [request.messages[-1]["content"] for request in model.requests]
    assert found.signals is not None and found.usage.n_calls == 2
    told = [
        prompt
        for prompt in prompts
        if 'sentence 2 ("The effect lasts for twelve..."): log-odds' in prompt
    ]
    assert len(told) == 1
    assert any("answer: connectives a sentence" in prompt for prompt in prompts)
    # What was measured stands behind the context, so that calls still share it.
    assert len({prompt.split("Task:")[0] for prompt in prompts}) == 1


async def test_the_signals_of_an_answer_are_part_of_a_verdicts_key():
    chosen = run()
    found = await evaluate(chosen, record())
    assert found.signals is not None
    other = Signals(values={"order": -1.0}, sentences=found.signals.sentences)
    cut = convert_to_case(record(), chosen.settings, chosen.retrieval.corpus)
    keys = {
        question(RUBRIC, "cohesion", filed(cut, signals=signals), chosen).compute_key(chosen.judge)
        for signals in (None, found.signals, other)
    }
    assert len(keys) == 3


def test_nothing_is_measured_where_no_rubric_is_wanted_or_known():
    assert run().computes_signals
    assert not run(only=("citations",)).computes_signals
    assert not run(rubric_set="usr").computes_signals
    narrowed = run()
    settings = narrowed.settings.model_copy(update={"only": ("citations",)})
    assert not replace(narrowed, settings=settings).computes_signals


def test_what_rates_is_named_and_costs_no_call():
    job = build_job([record()], run().retrieval.corpus)
    assert plan(job, run()).n_calls == 0
    assert plan(job, run(signals=False)).n_calls == 9
    manifest = build_manifest(job, run())
    assert (manifest.rater, manifest.rater_digest) == (
        load_shipped_rater().model,
        load_shipped_rater().digest,
    )
    assert build_manifest(job, run(signals=False)).rater == ""
