"""Verdicts on one sentence, and ratings, do not contradict each other in words."""

from __future__ import annotations

from typing import Any

import pytest

from ragassay.records import (
    AnswerSentence,
    Citation,
    CitationVerdict,
    Evaluation,
    Failure,
    Finding,
    Judgment,
    SentenceCorrectness,
)
from ragassay.reports.answer_view import view_answer
from ragassay.reports.markdown import render_markdown
from ragassay.reports.sentence_view import Chip, view_sentences

CITED = Citation(marker="1", document="d")
UNSURE = Failure(reason="undecided")
NOTHING = "Nothing that was measured lowers this rating."


def evaluated(**parts: Any) -> Evaluation:
    """An answer of one sentence, with the given verdicts and findings."""
    text = "It fell."
    sentence = AnswerSentence(index=1, text=text, start=0, end=len(text), citations=(CITED,))
    return Evaluation(record_id="r", question="Q?", answer=text, sentences=(sentence,), **parts)


def cited(**fields: Any) -> CitationVerdict:
    return CitationVerdict.model_validate({"sentence": 1, "citation": CITED} | fields)


def finding(verdict: CitationVerdict, level: str = "secondary") -> Finding:
    return Finding.model_validate(
        {
            "kind": "contradicted_citation",
            "message": "Sentence 1 cites '1', which may contradict it.",
            "sentence": 1,
            "level": level,
            "evaluator": verdict.evaluator,
            "item": verdict.item,
        }
    )


def correctness_of(evaluation: Evaluation) -> Chip:
    (view,) = view_sentences(evaluation)
    assert view.correctness
    return view.correctness.chip


@pytest.mark.parametrize(
    ("correct", "verdict", "words"),
    [
        ({"tentative_label": "correct"}, {"tentative_label": "contradicts"}, ("undecided", "", "")),
        ({"tentative_label": "correct"}, {"verdict": "contradicts"}, ("undecided", "", "")),
        ({"tentative_label": "not_supported"}, {"verdict": "supports"}, ("undecided", "", "")),
        (
            {"correct": True},
            {"verdict": "contradicts"},
            ("correct", "0.90", "Another verdict on this sentence differs."),
        ),
        # A leaning says too little against a verdict.
        ({"correct": True}, {"tentative_label": "contradicts"}, ("correct", "0.90", "")),
        (
            {"tentative_label": "correct"},
            {"tentative_label": "supports"},
            ("undecided, tentatively correct", "0.90", ""),
        ),
        (
            {"tentative_label": "not_supported"},
            {"tentative_label": "contradicts"},
            ("undecided, tentatively not supported", "0.90", ""),
        ),
    ],
)
def test_correctness_names_no_leaning_against_another_verdict(correct, verdict, words):
    failure = {"failure": UNSURE} if "tentative_label" in correct else {}
    found = SentenceCorrectness.model_validate({"sentence": 1, "score": 0.9} | correct | failure)
    failure = {"failure": UNSURE} if "tentative_label" in verdict else {}
    chip = correctness_of(evaluated(correctness=(found,), citations=(cited(**verdict, **failure),)))
    assert (chip.word, chip.confidence, chip.detail) == words


@pytest.mark.parametrize(
    ("level", "word", "tone"),
    [("secondary", "may contradict", "undecided"), ("primary", "contradicts", "bad")],
)
def test_a_contradiction_reads_as_its_finding_does(level, word, tone):
    verdict = cited(verdict="contradicts", confidence=0.6)
    (view,) = view_sentences(evaluated(citations=(verdict,), findings=(finding(verdict, level),)))
    (one,) = view.citations
    assert (one.chip.word, one.chip.tone) == (word, tone)


@pytest.mark.parametrize(
    ("rating", "verdict", "level", "text"),
    [
        (
            {"rationale": NOTHING},
            "contradicts",
            "secondary",
            "However, a source may contradict sentence 1.",
        ),
        (
            {"rationale": NOTHING},
            "contradicts",
            "primary",
            "However, a source contradicts sentence 1.",
        ),
        (
            {"rationale": "All is so."},
            "contradicts",
            "primary",
            "However, a source contradicts sentence 1.",
        ),
        ({"rationale": "One slip.", "rating": 4}, "contradicts", "primary", ""),
        ({"rubric": "cohesion", "rationale": NOTHING}, "contradicts", "primary", ""),
        (
            {"rationale": "The sources may contradict sentence 1.", "sentences": (1,)},
            "contradicts",
            "secondary",
            "",
        ),
        (
            {"rationale": "The sources may contradict sentence 1.", "sentences": (1,), "rating": 3},
            "supports",
            "",
            "However, a passage supports sentence 1.",
        ),
        ({"rationale": NOTHING}, "supports", "", ""),
    ],
)
def test_a_rating_says_what_a_verdict_has_against_it(rating, verdict, level, text):
    judgment = Judgment.model_validate({"rubric": "correctness", "rating": 5} | rating)
    one = cited(verdict=verdict)
    found = (finding(one, level),) if level else ()
    evaluation = evaluated(judgments=(judgment,), citations=(one,), findings=found)
    (rubric,) = view_answer(1, evaluation).rubrics
    assert rubric.otherwise == text


def test_the_summary_says_it_behind_the_reason(run):
    judgment = Judgment(rubric="correctness", rating=5, rationale=NOTHING)
    verdict = cited(verdict="contradicts")
    evaluation = evaluated(
        judgments=(judgment,), citations=(verdict,), findings=(finding(verdict, "primary"),)
    )
    text = render_markdown(run.manifest, run.summary, (evaluation,), (), ())
    assert f"{NOTHING} However, a source contradicts sentence 1." in text
