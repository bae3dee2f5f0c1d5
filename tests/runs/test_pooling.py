"""Scores that need all answers to a question, added at the end of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from answers import answer
from fakes import WordEmbedder

from ragassay.evaluators.build_run import build_run
from ragassay.metrics.stats.summary import summarize
from ragassay.records import Score
from ragassay.runs.evaluate import read_job, run_job
from ragassay.runs.folder import RunFolder
from ragassay.runs.pooling import add_pooled_scores
from ragassay.settings import load_settings
from ragassay.testing import ScriptedModel


def answers():
    one = answer(
        "one",
        system="alpha",
        labels=[("Aspirin thins blood.", "required"), ("It is white.", "unnecessary")],
        citations=[(1, "31180121", "supports")],
        scores={"sentences.required": 0.5, "citations.support": 1.0},
    )
    two = answer(
        "two",
        system="beta",
        labels=[("Metformin lowers glucose.", "required"), ("Aspirin thins blood.", "borderline")],
        citations=[(1, "31180122", "neutral")],
        scores={"sentences.required": 0.5, "citations.support": 0.0},
    )
    return [one, two, answer("alone", topic="other", labels=[("Alone.", "required")])]


def test_scores_stand_behind_the_others_of_their_group():
    found = tuple(add_pooled_scores(answers(), WordEmbedder().encode))
    assert list(found[0].scores) == [
        "sentences.required",
        "sentences.recall",
        "sentences.cluster_recall",
        "sentences.recall_required",
        "sentences.recall_supported",
        "citations.support",
        "citations.document_recall",
    ]
    # Two different sentences are needed, two documents are relevant.
    values = [
        (e.scores["sentences.cluster_recall"].value, e.scores["citations.document_recall"].value)
        for e in found[:2]
    ]
    assert values == [(0.5, 0.5), (1.0, 0.5)]
    assert found[2].scores == {}


def test_scores_of_an_earlier_start_are_replaced_not_piled_up():
    once = tuple(add_pooled_scores(answers(), WordEmbedder().encode))
    assert tuple(add_pooled_scores(once, WordEmbedder().encode)) == once
    # The other answer is gone: nothing is left to pool with.
    (left, _) = tuple(add_pooled_scores([once[0], once[2]], WordEmbedder().encode))
    assert list(left.scores) == ["sentences.required", "citations.support"]


def test_published_clusters_are_used_and_nothing_is_embedded():
    embedder = WordEmbedder()
    kind = "required_and_borderline_answer_sentences_cluster"
    places = {("alpha", 1): "3", ("beta", 1): "3", ("beta", 2): "4", ("gone", 1): "5"}
    found = tuple(add_pooled_scores(answers(), embedder.encode, {"t": {kind: places}}))
    assert [e.scores["sentences.recall"].value for e in found[:2]] == [0.1, 0.2]
    assert embedder.asked == []


def test_nothing_is_embedded_where_every_question_has_one_answer():
    embedder = WordEmbedder()
    run = [answers()[0], answers()[2]]
    assert tuple(add_pooled_scores(run, embedder.encode)) == tuple(run)
    assert embedder.asked == []
    assert tuple(add_pooled_scores([], embedder.encode)) == ()


def test_only_sentences_that_are_clustered_are_embedded():
    embedder = WordEmbedder()
    tuple(add_pooled_scores(answers(), embedder.encode))
    assert sorted(embedder.asked) == ["Aspirin thins blood.", "Metformin lowers glucose."]


def test_the_summary_sees_them():
    found = summarize(tuple(add_pooled_scores(answers(), WordEmbedder().encode)), 3, 0, 0)
    assert found.scores["sentences.cluster_recall"].value == 0.75
    wanted = Score(value=0.5, n=4, worst=0.5, best=0.5, judge="judge")
    assert found.pooled["citations.document_recall"] == wanted
    assert found.systems["beta"]["sentences.cluster_recall"].value == 1.0


@pytest.mark.integration
async def test_a_run_ends_with_them_and_again_with_the_same(sample, tmp_path):
    job = read_job(sample / "answers.jsonl", sample / "abstracts.jsonl")
    chosen = [record for record in job.records if record.topic == job.records[0].topic]
    job = replace(job, records=tuple(chosen))
    folder = RunFolder(tmp_path / "run")
    with ScriptedModel() as model:
        named = {"model": model.model_name, "api_base": model.base_url, "reranker": "none"}
        settings = load_settings(**named, rubrics=("cohesion",))
        run = build_run(settings, job.corpus).with_models(embedder=WordEmbedder())
        result = await run_job(job, run, folder)
        again = await run_job(job, run, folder)
    assert len(result.evaluations) > 1
    for evaluation in folder.read_evaluations():
        assert {"sentences.recall", "citations.document_recall"} <= evaluation.scores.keys()
    summary = folder.read_summary()
    assert summary is not None
    assert summary.pooled["sentences.cluster_recall"].n > 0
    assert summary.by_question["citations.document_recall"].n == 1
    assert again.evaluations == result.evaluations
