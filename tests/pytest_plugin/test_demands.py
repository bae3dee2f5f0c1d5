"""Demands on an answer: how they are read, when they are met, what is said where they are not."""

from __future__ import annotations

import pytest
from answers import answer

from ragassay.errors import InputError
from ragassay.pytest_plugin.demands import (
    MET,
    MISSED,
    UNKNOWN,
    Demand,
    bound_of,
    check_demands,
    resolve_demands,
)
from ragassay.records import Evaluation, Failure, Finding, Score, SentenceLabel

SCORED = answer(
    labels=[("Aspirin helps.", "required"), ("It cures colds [2].", None)],
    scores={"rubric.correctness": 3.2, "citations.support": 0.5, "citations.contradict": 0.25},
)


def test_a_bound_is_a_sign_and_a_number():
    assert bound_of("correctness", ">=3.5") == (">=", 3.5)
    assert bound_of("correctness", " < .2 ") == ("<", 0.2)
    assert bound_of("correctness", 3) == bound_of("correctness", "3") == (">=", 3.0)
    for text in (">=high", "==3", "=3", ">", "3.5%", ""):
        with pytest.raises(InputError, match=f"correctness={text!r} is not a bound"):
            bound_of("correctness", text)


def test_scores_are_named_as_for_fail_under():
    names = {
        "correctness": 1,
        "citations_support": 0.5,
        "rubric.cohesion": 3,
        "nuggets_vital_recall": 0.25,
    }
    found = resolve_demands({name: (">=", n) for name, n in names.items()}, "yescieval", SCORED)
    assert [(demand.key, demand.bound) for demand in found] == [
        ("rubric.correctness", 1),
        ("citations.support", 0.5),
        ("rubric.cohesion", 3),
        ("nuggets.vital_recall", 0.25),
    ]
    (own,) = resolve_demands(
        {"dosage_given": (">", 1)}, "yescieval", answer(scores={"rubric.dosage_given": 1})
    )
    assert own.key == "rubric.dosage_given", "a rubric of one's own, though it has an underscore"
    with pytest.raises(InputError, match="assert_answer: unknown score 'correctnes'"):
        resolve_demands({"correctnes": (">=", 1)}, "yescieval", SCORED)


@pytest.mark.parametrize(
    ("sign", "met", "missed"),
    [(">=", 0.5, 0.51), (">", 0.49, 0.5), ("<=", 0.5, 0.49), ("<", 0.51, 0.5)],
)
def test_a_value_on_the_bound_counts_as_the_sign_says(sign, met, missed):
    assert Demand("citations.support", sign, met).is_met(0.5)
    assert not Demand("citations.support", sign, missed).is_met(0.5)


def test_an_answer_that_is_as_demanded_says_nothing():
    demands = [Demand("rubric.correctness", ">=", 3.2), Demand("citations.contradict", "<", 0.3)]
    assert check_demands(SCORED, demands, no_findings=True) == (MET, "")


def told(verdict: str, evaluation: Evaluation, *demands: Demand, **given: bool) -> list[str]:
    found, text = check_demands(evaluation, demands, given.get("no_findings", False))
    assert found == verdict
    plain = text.replace("\N{EN DASH}", "-").replace("\N{NO-BREAK SPACE}", " ")
    return [line.strip() for line in plain.splitlines()]


def test_a_message_shows_scores_findings_and_what_has_no_score():
    finding = Finding(kind="contradicted_citation", message="Source 2 denies it.", sentence=2)
    note = Finding(kind="extractive_nugget", message="No matter.", sentence=1)
    look = Finding(kind="contradicted_citation", message="Perhaps.", sentence=1, level="secondary")
    failed = SentenceLabel(sentence=2, label=None, failure=Failure(reason="timeout"))
    spread = Score(value=3.2, n=1, low=2.5, high=4, scale=(1, 5))
    evaluation = SCORED.model_copy(
        update={
            "findings": (finding, note, look),
            "verdicts": (failed,),
            "scores": SCORED.scores | {"rubric.correctness": spread},
        }
    )
    correctness = Demand("rubric.correctness", ">=", 3.5)
    contradict = Demand("citations.contradict", "<=", 0.2)
    lines = told(MISSED, evaluation, correctness, contradict, no_findings=True)
    assert lines == [
        "this answer misses 3 of 3 requirements",
        "",
        "value  95 %       required",
        "correctness           3.20   2.50-4.00  >= 3.5    below",
        "citations.contradict  25 %              <= 0.2    above",
        "findings              1                 none      1 found",
        "",
        "Findings",
        "Contradicted citation: Source 2 denies it.",
        'sentence 2: "It cures colds [2]."',
        "",
        "Not measured",
        "1 sentence label: time-out",
        "",
        "Question",
        "Question t?",
    ]


def test_what_could_not_be_measured_is_an_error_of_its_own():
    unscored = SCORED.model_copy(
        update={"scores": {"citations.support": Score(value=None, n=0, n_unscored=2)}}
    )
    support = Demand("citations.support", ">=", 0.5)
    lines = told(UNKNOWN, unscored, support)
    assert lines[0] == "1 of 1 requirement could not be measured; the other requirements are met"
    assert lines[3].split() == [
        *("citations.support", "unscored", ">=", "0.5", "could", "not", "be", "measured")
    ]
    lines = told(UNKNOWN, SCORED, Demand("citations.suport", ">=", 0.5))
    known = "citations.support, citations.contradict"
    assert f"citations.suport: unknown score; use one of {known}" in lines
    lines = told(UNKNOWN, SCORED, Demand("nuggets.recall", ">=", 0.5))
    assert "nuggets.recall: no nuggets scores" in lines


def test_below_counts_more_than_unmeasured_and_both_are_told():
    lines = told(
        MISSED,
        SCORED,
        Demand("citations.support", ">=", 0.8),
        Demand("nuggets.f1", ">=", 0.5),
    )
    assert lines[0] == "this answer misses 1 of 2 requirements"
    assert sum("could not be measured" in line for line in lines) == 1


def test_no_findings_is_unknown_where_a_verdict_failed():
    lacking = SCORED.model_copy(
        update={"findings": (Finding(kind="unscored", message="2 failed."),)}
    )
    assert told(UNKNOWN, lacking, no_findings=True)[0].startswith("1 of 1 requirement could not")
    assert check_demands(lacking, [Demand("citations.support", ">=", 0.5)], False) == (MET, "")


def test_a_message_holds_no_control_characters():
    evil = answer(
        labels=[("It \x1b[31mcures\x1b[0m.", "required")], scores={"citations.support": 0.1}
    )
    finding = Finding(kind="invalid_citation", message="\x1b]0;x\x07", sentence=1)
    evil = evil.model_copy(update={"findings": (finding,), "question": "Why\x1b[2J?"})
    _, text = check_demands(evil, [Demand("citations.support", ">=", 0.5)], True)
    assert "\x1b" not in text and "\x07" not in text


def test_what_signals_cannot_tell_needs_a_judge():
    rated = Score(value=4.9, n=1, scale=(1, 5), judge="ragassay/signals")
    by_signals = SCORED.model_copy(update={"scores": {"rubric.correctness": rated}})
    lines = told(UNKNOWN, by_signals, Demand("rubric.correctness", ">=", 3))
    assert any(line.split()[:4] == ["correctness", "needs", "a", "judge"] for line in lines)


@pytest.mark.parametrize(("bound", "verdict"), [(0.2, MET), (0.5, UNKNOWN), (0.9, MISSED)])
def test_a_range_is_held_against_a_demand_by_both_ends(bound: float, verdict: str):
    score = Score(value=0.6, n=2, n_unscored=6, worst=0.2, best=0.8).reported
    ranged = SCORED.model_copy(update={"scores": {"citations.support": score}})
    demand = Demand("citations.support", ">=", bound)
    if verdict == MET:
        assert check_demands(ranged, [demand], False) == (MET, "")
    else:
        assert any("20 to 80 %" in line for line in told(verdict, ranged, demand))
