"""Pairs are rated by a scripted model: one call a dimension, with reasons and quotes."""

from __future__ import annotations

from typing import Any

import pytest
from qa_pairs import PAIRS, PAPER, judged

from ragassay.evaluators.build_run import build_run
from ragassay.metrics.stats.alignment import align_labels
from ragassay.process import run_sync
from ragassay.qa.evaluate import build_pairs_job, judge_pairs, match_pairs_to_papers
from ragassay.qa.scores import filter_pairs, parse_min_scores
from ragassay.records import RACAR, Evaluation, HumanLabel, IntentSimilarity, RacarRating
from ragassay.runs.evaluate import run_job
from ragassay.settings import load_settings
from ragassay.studies.meta_evaluation import measure, write_meta_evaluation
from ragassay.studies.trust import measure_trust
from ragassay.testing import Fault, ScriptedModel, last_user_text

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]

GIVEN = match_pairs_to_papers([PAPER], PAIRS)


def evaluated(model: ScriptedModel | None = None, **options: Any) -> Evaluation:
    """The evaluation of the paper's pairs, by a model or without a judge."""
    judge = {"model": model.model_name, "api_base": model.base_url} if model else {}
    run = build_run(load_settings(**(judge | {"only": ("racar",)} | options)))
    (found,) = run_sync(run_job(build_pairs_job(GIVEN), run, None)).evaluations
    return found


@pytest.fixture
def rated() -> Evaluation:
    with ScriptedModel(judged) as model:
        return evaluated(model)


def test_the_pairs_of_a_paper_share_a_call_for_each_dimension():
    with ScriptedModel(judged) as model:
        found = evaluated(model, only=("racar", "intents"))
        # Five dimensions, and two comparisons: the first question with two, the second with one.
        assert model.n_requests == 7
        ratings = {(r.dimension, r.pair): r.rating for r in found.select_verdicts(RacarRating)}
        assert len(ratings) == len(RACAR) * len(PAIRS)
        bad = {key for key, rating in ratings.items() if rating == 1}
        assert bad == {(name, "p/2") for name in RACAR}
        assert [one.score for one in found.select_verdicts(IntentSimilarity)] == [0, 50, 50]
    assert found.scores["racar.accuracy"].value == pytest.approx(7 / 3, abs=0.15)
    assert found.scores["intent.similarity"].value == pytest.approx(100 / 3, abs=1e-3)


def test_all_prompts_on_a_paper_start_with_it_and_agnosticism_does_not_see_it():
    with ScriptedModel(judged) as model:
        evaluated(model)
        texts = [last_user_text(request.messages) for request in model.requests]
    with_paper = [text for text in texts if "We enrolled 120 adults" in text]
    assert len(with_paper) == 4
    start = with_paper[0].index("Task:")
    assert {text[:start] for text in with_paper} == {with_paper[0][:start]}
    (without,) = [text for text in texts if "We enrolled 120 adults" not in text]
    assert "What does Figure 2 show?" in without and "640" not in without


def test_what_a_judge_quotes_is_shown_as_the_paper_has_it_and_the_rest_is_left_out(rated):
    rating = next(r for r in rated.select_verdicts(RacarRating) if r.item == "accuracy/p/1")
    assert [span.text for span in rating.evidence] == ["Colds lasted 5.2 days"]
    (span,) = rating.evidence
    assert rated.sources[0].text[span.start : span.end] == span.text
    assert rating.reason


def test_a_call_that_fails_leaves_its_pairs_unscored_and_the_others_rated():
    faults = [Fault("junk", contains="how well the paper bears out")]
    with ScriptedModel(judged, faults=faults) as model:
        found = evaluated(model, pairs_per_call=2)
    lost = [r for r in found.select_verdicts(RacarRating) if r.failure is not None]
    assert {(r.dimension, r.pair) for r in lost} == {("accuracy", pair.id) for pair in PAIRS}
    assert found.scores["racar.accuracy"].n_unscored == 3
    assert found.scores["racar.relevance"].n == 3


def test_without_a_judge_nobody_compares_intents():
    found = evaluated(only=("intents",))
    assert found.select_verdicts(IntentSimilarity) == () and "intent.similarity" not in found.scores


def test_experts_ratings_are_held_against_the_judges(rated, tmp_path):
    labels = [
        HumanLabel(task="racar", record_id=pair.id, item="accuracy", label=label, annotator=who)
        for who, ratings in {"a": "313", "b": "312"}.items()
        for pair, label in zip(PAIRS, ratings, strict=True)
    ]
    unknown = HumanLabel(task="racar", record_id="p/9", item="accuracy", label="3")
    aligned = align_labels([*labels, unknown], [rated])
    assert [one.reason for one in aligned.unaligned] == ["the answer is not in the run"]
    (trust,) = measure_trust(aligned, [rated])
    figures = {one.metric: one.score.value for one in trust.figures}
    assert (trust.task, trust.reading) == ("racar", "accuracy")
    # People: (3 + 1 + 2.5) / 3; of two ratings the lower median counts: 3, 1, 2.
    assert figures["mean of people"] == pytest.approx(13 / 6, abs=1e-3)
    assert figures["mean of the judge"] == pytest.approx(7 / 3, abs=0.15)
    both = measure([rated], labels, "judge", lambda: None)  # type: ignore[arg-type, return-value]
    written = write_meta_evaluation(both, tmp_path)
    assert "means-racar.svg" in {path.name for path in written}
    # The judge rates both others 3, and is surer of one: both orders of three ranks with 1 lowest.
    assert figures["Spearman's rho"] in (pytest.approx(1.0), pytest.approx(0.5))


def test_the_filter_keeps_what_is_rated_well_in_every_dimension(rated):
    kept = filter_pairs([rated], parse_min_scores(["2"]))
    assert [pair.id for pair in kept.pairs] == ["p/1", "p/3"]
    assert kept.dropped == {"p/2": RACAR} and kept.unrated == ()
    bare = rated.model_copy(update={"verdicts": ()})
    assert filter_pairs([bare], parse_min_scores(["accuracy=1"])).unrated == ("p/1", "p/2", "p/3")


def test_what_instruments_leave_open_goes_to_a_second_judge():
    with ScriptedModel(judged) as model:
        found = evaluated(escalate=f"{model.model_name}@{model.base_url}")
    ratings = {r.item: r for r in found.select_verdicts(RacarRating)}
    assert len(ratings) == len(RACAR) * len(PAIRS)
    assert not [r for r in ratings.values() if r.failure]
    # By rule: a figure in the question, a number that is not there. All else is the judge's.
    alone = {item for item, r in ratings.items() if r.escalation is None}
    assert {"agnosticism/p/2", "accuracy/p/2"} <= alone
    assert ratings["completeness/p/1"].escalation is not None


def test_the_setting_says_whether_coverage_reads_the_question_too():
    ways = ({}, {"qa_coverage": "pair"}, {"qa_coverage": "answer"})
    runs = (build_run(load_settings(only=("racar",), **way)) for way in ways)
    default, pair, answer = (run_sync(judge_pairs(GIVEN, run)).measures for run in runs)
    assert default == pair != answer
    together, alone = (found[0].pairs[0].similarity for found in (pair, answer))
    assert len(together) == len(alone) and together != alone
