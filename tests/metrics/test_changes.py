"""What changed between two sets of answers."""

from __future__ import annotations

import pytest
from answers import answer, changed

from ragassay.metrics.stats.changes import (
    SERIOUS_KEY,
    Change,
    can_be_significant,
    compute_min_p_value,
    find_changes,
    match_answers,
    match_findings,
)
from ragassay.records import AnswerSentence, Evaluation, Finding

RECALL, HARM = "nuggets.recall", "sentences.inappropriate"
CONTRADICTED = Finding(kind="contradicted_citation", message="It is contradicted.", sentence=1)


def is_serious(finding: Finding) -> bool:
    return finding.kind == CONTRADICTED.kind


def side(values: list[float], key: str = RECALL, **fields: object) -> list[Evaluation]:
    return [
        answer(f"r{i}", f"t{i}", scores={key: value}, **fields) for i, value in enumerate(values)
    ]


def change_of(old: list[Evaluation], new: list[Evaluation], *keys: str) -> Change:
    (found,) = find_changes(("old", old), [("new", new)], keys or (RECALL,), is_serious)
    return found


def spoken(*texts: str, findings: tuple[Finding, ...] = ()) -> Evaluation:
    cut = [AnswerSentence(index=i, text=text, start=0, end=1) for i, text in enumerate(texts, 1)]
    return answer("r", "t", sentences=tuple(cut), findings=findings)


def test_a_score_that_falls_everywhere_is_significantly_worse():
    change = change_of(side([0.9] * 8), side([0.4] * 8))
    (score,) = change.scores
    assert (score.old, score.new, score.direction) == (0.9, 0.4, "worse")
    assert score.gain == pytest.approx(-0.5)
    # All 8 differences point one way: 2 / 2^8, and a single test.
    assert score.test.p_holm == pytest.approx(2 / 256)


def test_of_a_score_where_less_is_better_a_rise_is_worse():
    (score,) = change_of(side([0.0] * 8, HARM), side([0.5] * 8, HARM), HARM).scores
    assert (score.lower_is_better, score.direction) == (True, "worse")
    assert score.gain == pytest.approx(-0.5)


def test_p_values_are_corrected_over_all_scores_of_all_sides():
    old, new = side([0.9] * 8), side([0.4] * 8)
    found = find_changes(("old", old), [("b", new), ("c", new)], (RECALL, SERIOUS_KEY), is_serious)
    # Two sides with two scores each are four tests.
    assert found[0].scores[0].test.p_holm == pytest.approx(4 * 2 / 256)
    assert found[0].scores[1].test.p_holm == 1.0


def test_a_score_is_compared_on_the_questions_that_both_sides_have():
    new = side([0.4] * 8)[:3]
    change = change_of(side([0.9] * 8), new)
    (score,) = change.scores
    assert (score.test.n_questions, score.n_questions) == (3, 8)
    assert (score.old, score.new) == (pytest.approx(0.9), pytest.approx(0.4))
    assert [e.record_id for e in change.only_old] == ["r3", "r4", "r5", "r6", "r7"]
    assert change.only_new == ()


def test_an_unscored_answer_takes_no_part():
    new = side([0.4] * 2)
    unscored = {"value": None, "decided": None, "n_unscored": 1}
    missing = new[1].scores[RECALL].model_copy(update=unscored)
    new[1] = changed(new[1], scores={RECALL: missing})
    change = change_of(side([0.9] * 2), new)
    assert change.scores[0].test.n_questions == 1
    assert [pair.gain for pair in change.answers] == [pytest.approx(-0.5), None]


def test_serious_findings_are_a_share_of_answers():
    old = side([0.5] * 4)
    new = [changed(e, findings=(CONTRADICTED,) * 2) if i == 0 else e for i, e in enumerate(old)]
    (score,) = change_of(old, new, SERIOUS_KEY).scores
    assert (score.old, score.new, score.gain) == (0.0, 0.25, -0.25)


def test_more_serious_findings_are_worse_whatever_the_scores():
    old, new = side([0.1]), side([0.9], findings=(CONTRADICTED,))
    assert change_of(old, new).answers[0].direction == "worse"
    assert change_of(new, old).answers[0].direction == "better"
    look = CONTRADICTED.model_copy(update={"level": "secondary"})
    assert change_of(old, side([0.1], findings=(look,))).answers[0].direction == "same"


@pytest.mark.parametrize(("value", "way"), [(0.44, "worse"), (0.48, "same"), (0.56, "better")])
def test_with_as_many_findings_the_scores_decide_beyond_a_margin(value, way):
    assert change_of(side([0.5]), side([value])).answers[0].direction == way


def test_the_worst_change_comes_first():
    change = change_of(side([0.5] * 3), side([0.6, 0.1, 0.3]))
    assert [pair.old.record_id for pair in change.answers] == ["r1", "r2", "r0"]


def test_answers_to_a_question_are_paired_by_id_then_system_then_order():
    old = [answer("a1", "t", "a"), answer("b1", "t", "b"), answer("c", "u", "a")]
    new = [answer("b2", "t", "b"), answer("a1", "t", "a"), answer("d", "u", "z"), answer("e", "v")]
    pairs = [(one.record_id, two.record_id) for one, two in match_answers(old, new)]
    assert pairs == [("a1", "a1"), ("b1", "b2"), ("c", "d")]
    assert match_answers(old, []) == []


def test_a_finding_on_a_reworded_sentence_is_still_there():
    finding = CONTRADICTED.model_copy(update={"sentence": 2})
    old = spoken("First.", "It fell by 5 mm of mercury in adults.", findings=(finding,))
    moved = spoken("It fell by 6 mm of mercury in adults.", findings=(CONTRADICTED,))
    other = spoken("Nothing of the kind was said.", findings=(CONTRADICTED,))
    assert match_findings(old, moved) == ((), (), (CONTRADICTED,))
    assert match_findings(old, other) == ((CONTRADICTED,), (finding,), ())


def test_findings_about_no_sentence_are_matched_by_kind():
    one = Finding(kind="sources_cut", message="Cut at 10.")
    two = Finding(kind="sources_cut", message="Cut at 12.")
    old, new = spoken("A.", findings=(one,)), spoken("B.", findings=(two, two))
    assert match_findings(old, new) == ((two,), (), (two,))


def test_without_a_common_question_nothing_is_measured():
    change = change_of([answer("a", "t")], [answer("b", "u")], SERIOUS_KEY)
    (score,) = change.scores
    assert (score.old, score.test.n_questions, score.n_questions, score.gain) == (None, 0, 1, None)
    assert score.direction == "same"


def test_with_few_questions_nothing_can_be_significant():
    # All 8 differences one way give 2 / 2^8 = .0078; Holm multiplies by the number of scores.
    scores = change_of(side([0.5] * 8), side([0.5] * 8)).scores
    assert can_be_significant(scores * 6)
    assert not can_be_significant(scores * 7)
    assert not can_be_significant(())
    assert compute_min_p_value(scores * 100) == pytest.approx(100 * 2 / 256)
