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
from ragassay.reports.sentence_view import view_sentences

CITED = Citation(marker="1", document="d")
OTHERWISE = "Another verdict on this sentence differs."
NOTHING = {"rationale": "Nothing that was measured lowers this rating."}
POINTED = {"rationale": "The sources may contradict sentence 1.", "sentences": (1,)}
MAY = "However, a source may contradict sentence 1."
DOES = "However, a source contradicts sentence 1."
SUPPORT = "However, a passage supports sentence 1."


def evaluated(**parts: Any) -> Evaluation:
    """An answer of one sentence, with the given verdicts and findings."""
    text = "It fell."
    sentence = AnswerSentence(index=1, text=text, start=0, end=len(text), citations=(CITED,))
    return Evaluation(record_id="r", question="Q?", answer=text, sentences=(sentence,), **parts)


def cited(**fields: Any) -> CitationVerdict:
    return CitationVerdict.model_validate({"sentence": 1, "citation": CITED} | fields)


def finding(verdict: CitationVerdict, level: str = "secondary") -> Finding:
    message = "Sentence 1 cites '1', which may contradict it."
    given = {"kind": "contradicted_citation", "message": message, "sentence": 1, "level": level}
    return Finding.model_validate(given | {"evaluator": verdict.evaluator, "item": verdict.item})


def leans(label: str) -> dict[str, object]:
    """Fields of a verdict that is undecided."""
    return {"tentative_label": label, "failure": Failure(reason="undecided")}


@pytest.mark.parametrize(
    ("correct", "verdict", "words"),
    [
        (leans("correct"), leans("contradicts"), ("undecided", "", "")),
        (leans("correct"), {"verdict": "contradicts"}, ("undecided", "", "")),
        (leans("not_supported"), {"verdict": "supports"}, ("undecided", "", "")),
        ({"correct": True}, {"verdict": "contradicts"}, ("correct", "0.90", OTHERWISE)),
        # A leaning says too little against a verdict.
        ({"correct": True}, leans("contradicts"), ("correct", "0.90", "")),
        (leans("correct"), leans("supports"), ("undecided, tentatively correct", "0.90", "")),
        (
            leans("not_supported"),
            leans("contradicts"),
            ("undecided, tentatively not supported", "0.90", ""),
        ),
    ],
)
def test_correctness_names_no_leaning_against_another_verdict(correct, verdict, words):
    found = SentenceCorrectness.model_validate({"sentence": 1, "score": 0.9} | correct)
    (view,) = view_sentences(evaluated(correctness=(found,), citations=(cited(**verdict),)))
    chip = view.correctness.chip
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
        (NOTHING, "contradicts", "secondary", MAY),
        (NOTHING, "contradicts", "primary", DOES),
        ({"rationale": "All is so."}, "contradicts", "primary", DOES),
        ({"rationale": "One slip.", "rating": 4}, "contradicts", "primary", ""),
        (NOTHING | {"rubric": "cohesion"}, "contradicts", "primary", ""),
        (POINTED, "contradicts", "secondary", ""),
        (POINTED | {"rating": 3}, "supports", "", SUPPORT),
        (NOTHING, "supports", "", ""),
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
    judgment = Judgment(rubric="correctness", rating=5, **NOTHING)
    verdict = cited(verdict="contradicts")
    given = {"judgments": (judgment,), "citations": (verdict,)}
    evaluation = evaluated(**given, findings=(finding(verdict, "primary"),))
    text = render_markdown(run.manifest, run.summary, (evaluation,), (), ())
    assert f"{NOTHING['rationale']} {DOES}" in text
