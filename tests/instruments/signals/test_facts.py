"""Signals in words, and the judge that rates by them."""

from __future__ import annotations

import pytest

from ragassay.instruments.signals.facts import (
    explain_signal,
    format_facts,
    format_measure,
    strip_aggregate,
)
from ragassay.judges.signals import SignalJudge
from ragassay.models.fitted_raters import LinearScorer, RubricRater, SignalRater, load_shipped_rater
from ragassay.prompts import load_rubrics
from ragassay.prompts.texts import load_signals
from ragassay.records import SentenceSignals, Signals, SourceGap


def signals() -> Signals:
    rows = [
        {"source_support": 0.61, "foreign": -2.0, "redundancy": 0.4, "question_relevance": 0.5},
        {"source_support": 0.08, "foreign": 3.5, "redundancy": 0.4, "question_relevance": 0.1},
    ]
    return Signals(
        values={
            "all_foreign": 3.5,
            "most_foreign": 3.5,
            "mean_source_support": 0.345,
            "mean_question_relevance": 0.3,
            "most_redundancy": 0.4,
            "coverage": 0.33,
            "connectives": 0.5,
        },
        sentences=tuple(
            SentenceSignals(sentence=n, twin=3 - n, values=row) for n, row in enumerate(rows, 1)
        ),
    )


def test_facts_number_the_sentences_and_end_with_the_answer():
    assert format_facts(signals(), "informativeness").splitlines() == [
        "sentence 1: log-odds of being from another text -2.00, closeness to the question .50, "
        "closest source sentence .61",
        "sentence 2: log-odds of being from another text 3.50, closeness to the question .10, "
        "closest source sentence .08",
        "answer: closeness of the answer to the sentences of the sources .33",
    ]


def test_sentences_are_quoted_by_their_first_words():
    texts = ["Aspirin helps.", "One two three four five six."]
    told = format_facts(signals(), "conciseness", texts)
    assert told.splitlines()[:2] == [
        'sentence 1 ("Aspirin helps."): closest other sentence of the answer .40',
        'sentence 2 ("One two three four five..."): closest other sentence of the answer .40',
    ]


def test_gaps_are_told_where_coverage_counts():
    gap = SourceGap(document="3", text="Deaths were not counted.", nearness=0.21)
    told = signals().model_copy(update={"gaps": (gap,)})
    line = (
        "hardly covered by the answer, in a source (closest sentence .21): Deaths were not counted."
    )
    assert format_facts(told, "completeness").splitlines()[-1] == line
    assert "Deaths" not in format_facts(told, "cohesion")


def test_no_fact_is_told_for_an_unknown_rubric_or_an_empty_answer():
    assert format_facts(signals(), "fluency") == ""
    assert format_facts(Signals(), "relevancy") == ""


def test_every_rubric_has_signals_and_every_signal_a_name():
    words = load_signals()
    assert set(words.rubrics) == set(load_rubrics())
    for chosen in words.rubrics.values():
        assert set(chosen.shown) <= set(words.sentence)
        assert set(chosen.rated) <= set(words.answer)


def test_every_rated_signal_has_a_reason_in_words():
    words = load_signals()
    assert set(words.reasons.sentence) == set(words.sentence) - {"place"}
    for name in {name for chosen in words.rubrics.values() for name in chosen.rated}:
        shown = words.answer[name].shown or name
        assert strip_aggregate(shown) in words.reasons.sentence or shown in words.reasons.answer


def test_numbers_are_short():
    texts = [format_measure(value) for value in (0.083, -0.5, 1.0, -2.345)]
    assert texts == [".08", "-.50", "1.00", "-2.35"] or texts == [".08", "-.50", "1.00", "-2.34"]


def test_a_reason_points_to_the_worst_sentence_or_to_none():
    worst = explain_signal(signals(), "mean_source_support")
    assert worst.text == "No source says what sentence 2 says."
    assert worst.sentences == (2,)
    assert explain_signal(signals(), "most_redundancy").sentences == (2, 1)
    whole = explain_signal(signals(), "connectives")
    assert whole.text == "Few words join the sentences (because, however, thus)."
    assert whole.sentences == ()


def test_an_aggregate_knows_its_measure():
    assert strip_aggregate("least_source_support") == "source_support"
    assert strip_aggregate("coverage") == "coverage"


def rater(weight: float) -> SignalRater:
    nothing = LinearScorer()
    one = RubricRater(
        features=("mean_source_support",),
        means=(0.6,),
        scales=(0.1,),
        weights=(weight,),
        thresholds=(-3.0, -1.0, 0.0, 1.0),
    )
    others = dict.fromkeys(("order", "foreign", "scholarly"), nothing)
    return SignalRater(**others, rubrics={"relevancy": one})


def test_the_score_is_the_expectation_of_the_ratings():
    judgment = SignalJudge(rater(1.0)).judge(signals(), "relevancy")
    # z = 1 * (.345 - .6) / .1 = -2.55; P(<=k) = sigmoid(threshold + 2.55):
    # .389, .825, .928, .972, so the expectation is 5 - (.389 + .825 + .928 + .972) = 1.886.
    assert judgment.score == pytest.approx(1.886, abs=2e-3)
    assert judgment.rating == 2
    assert sum(judgment.distribution or ()) == pytest.approx(1, abs=1e-5)
    assert judgment.sentences == (2,)
    assert judgment.rationale == "No source says what sentence 2 says."


def test_what_lowers_nothing_is_no_reason():
    judgment = SignalJudge(rater(0.05)).judge(signals(), "relevancy")
    assert judgment.rationale == "Nothing that was measured lowers this rating."
    assert judgment.sentences == ()


def test_what_rests_on_sources_is_unscored_without_any():
    bare = signals().model_copy(update={"values": {"all_foreign": -1.0}})
    judge = SignalJudge(rater(1.0).model_copy(update={"rubrics": load_shipped_rater().rubrics}))
    for rubric in ("correctness", "completeness"):
        unsaid = judge.judge(bare, rubric)
        assert unsaid.rating is None
        assert unsaid.failure is not None and unsaid.failure.reason == "no_evidence"
    assert judge.judge(bare, "relevancy").rating is not None


def test_an_answer_without_a_sentence_is_unscored():
    judgment = SignalJudge(rater(1.0)).judge(Signals(), "relevancy")
    assert judgment.rating is None
    assert judgment.failure is not None and judgment.failure.reason == "empty_answer"
