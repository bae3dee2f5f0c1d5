"""Where every verdict that a score rests on failed, the score has no value: failed is not zero."""

from __future__ import annotations

from typing import Any

import pytest
from casefiles import build_word_run
from qa_pairs import PAIRS, PAPER

from ragassay.evaluators import OURS
from ragassay.metrics.stats.aggregates import find_score_bounds
from ragassay.process import run_sync
from ragassay.qa.evaluate import build_pairs_job, match_pairs_to_papers
from ragassay.records import Document, Evaluation, ExamItem, Nugget, Record, Score, Summary
from ragassay.reports.text import summarize_run
from ragassay.retrievers.literature import Corpus
from ragassay.runs.evaluate import build_job, run_job
from ragassay.testing import Fault, ScriptedModel

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]

ANSWER = Record(
    id="a",
    question="Does aspirin help?",
    # A sentence that cites, one that cites nothing, one whose citation points nowhere.
    answer="Aspirin thins blood [1]. It is old. It lowers fever [7]. It eases pain [1][2].",
    sources=(
        Document(id="1", text="Aspirin thins blood. It eases pain."),
        Document(id="2", text="Aspirin eases pain."),
    ),
    nuggets=(Nugget(text="aspirin thins blood", importance="vital"),),
    reference="Aspirin thins blood.",
    exam=(ExamItem(id="i", text="What does aspirin do?"),),
)
WAYS = ("rating", "extraction", "fagb", "sun", "helm", "thomas")
EVERY: dict[str, Any] = {
    "correctness": "judge",
    "attribution": True,
    "grades": WAYS,
    "signals": False,
    "max_attempts": 1,
}
UNASKED = {"citations.cited"}
"""Scores that no model is asked for."""


def evaluated(faults: list[Fault], **options: Any) -> tuple[Evaluation, Summary]:
    corpus = Corpus(ANSWER.sources)
    with ScriptedModel(faults=faults) as model:
        run = build_word_run(corpus, model=model.model_name, api_base=model.base_url, **options)
        if "racar" in run.settings.evaluation.only:
            job = build_pairs_job(match_pairs_to_papers([PAPER], PAIRS))
        else:
            job = build_job([ANSWER], corpus)
        found = run_sync(run_job(job, run, None))
    return found.evaluations[0], found.summary


def with_value(scores: dict[str, Score]) -> set[str]:
    return {key for key, score in scores.items() if score.value is not None}


@pytest.mark.parametrize(
    "options",
    [
        EVERY,
        EVERY | {"citation_evidence": "nuggets", "nugget_unit": "answer"},
        EVERY | {"citation_evidence": "nugget-lists", "evidence": "agent"},
        EVERY | {"only": ("racar", "intents")},
        EVERY | {"panel": ("openai/other",), "only": ("rubrics",)},
    ],
)
def test_a_score_of_failed_verdicts_alone_has_no_value_and_all_is_open(options):
    found, summary = evaluated([Fault("server_error")], **options)
    for scores in (found.scores, summary.scores, summary.by_question, summary.pooled):
        assert with_value(scores) <= UNASKED
    for key, score in found.scores.items():
        if key not in UNASKED and score.n_unscored:
            worst, best = find_score_bounds(key, score)
            assert worst != best, f"{key} could be anything, but is bounded to one value"
    assert summary.judged_nothing
    assert set(summary.unscored) == {"server_error"}
    assert summarize_run(summary).startswith("Nothing could be judged. Server error: ")


def test_every_evaluator_was_tried():
    tried: set[str] = set()
    for options in ({}, {"only": ("racar", "intents")}, {"citation_evidence": "nuggets"}):
        found, _ = evaluated([], **(EVERY | options))
        nested = (nugget for one in found.citations for nugget in one.nuggets)
        tried |= {verdict.evaluator for verdict in (*found.verdicts, *nested)}
    assert {one.name for one in OURS} <= tried


@pytest.mark.parametrize("seed", range(4))
def test_what_fails_opens_the_bounds_around_what_the_others_give(seed):
    whole, _ = evaluated([], **EVERY)
    found, _ = evaluated([Fault("server_error", probability=0.5, seed=seed)], **EVERY)
    for key, score in found.scores.items():
        if key.startswith(("citations.", "sentences.", "rubric.", "exam.")):
            worst, best = find_score_bounds(key, score)
            low, high = sorted((worst, best))
            value = whole.scores[key].value
            assert value is None or low - 1e-3 <= value <= high + 1e-3, key
