"""Figures of a judge asked in several ways, and misled."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.errors import InputError
from ragassay.metrics.papers.strategies import (
    PERTURBED,
    StrategyAnswer,
    StrategyReply,
    compute_alignment_alpha,
    compute_followed_share,
    compute_people_alpha,
    compute_strategy_alpha,
    compute_unmoved_share,
    mean_polarity,
    measure_robustness,
    polarity,
)

WAYS = ("zero_shot", "knowledge")


def rated(
    people: tuple[int, ...] = (),
    hint: int | None = None,
    question: str = "q",
    reason: str = "",
    **ratings: int | None,
) -> StrategyAnswer:
    replies = {way: StrategyReply(rating, reason) for way, rating in ratings.items()}
    return StrategyAnswer("r", question, people, replies, hint)


RATED = [rated((1, 1), knowledge=1), rated((0, 0), knowledge=1), rated((1, 0), knowledge=0)]


def test_agreement_of_people_and_judge_worked_by_hand():
    # Ratings 111, 001, 100: five 1s, four 0s. Each of the last two has 4 ordered pairs that differ,
    # by (3 - 1): observed (2 + 2) / 9. Expected 2 * 5 * 4 / (9 * 8) = 5/9. 1 - 4/5 = .2.
    found = compute_alignment_alpha(RATED, "knowledge", (0, 1))
    assert found.value == pytest.approx(0.2)
    assert (found.n, found.n_unscored, found.scale) == (3, 0, (-1.0, 1.0))


def test_answer_that_the_judge_did_not_rate_is_left_out_and_counted():
    more = [rated((1, 0), knowledge=None), rated((1, 0), zero_shot=1), rated((), knowledge=1)]
    found = compute_alignment_alpha([*RATED, *more], "knowledge", (0, 1))
    assert found.value == pytest.approx(0.2)
    # The fourth was asked for and not had; the fifth was never asked so; of the last nobody spoke.
    assert (found.n, found.n_unscored) == (3, 1)


def test_people_agree_over_answers_that_two_of_them_rated():
    # 11 and 10 and 00: three 1s, three 0s; observed 2 / 6, expected 2 * 9 / 30: 1 - 5/9 = 4/9.
    answers = [rated((1, 1)), rated((1, 0)), rated((0, 0)), rated((1,)), rated()]
    found = compute_people_alpha(answers, (0, 1))
    assert found.value == pytest.approx(4 / 9)
    assert (found.n, found.n_unscored) == (3, 0)


def test_strategies_are_raters_of_their_own():
    answers = [
        rated(zero_shot=1, knowledge=1, perturbed=3),
        rated(zero_shot=2, knowledge=2, perturbed=1),
        rated(zero_shot=3, knowledge=None, perturbed=1),
    ]
    found = compute_strategy_alpha(answers, WAYS, (1, 3))
    assert found.value == 1.0
    assert (found.n, found.n_unscored) == (2, 1)


@settings(max_examples=20)
@given(st.lists(st.lists(st.integers(1, 3), min_size=3, max_size=3), min_size=2, max_size=8))
def test_alpha_is_that_of_the_reference_package(rows):
    if len({rating for row in rows for rating in row}) < 2:
        return
    answers = [rated((a, b), knowledge=c) for a, b, c in rows]
    table = np.array(rows, dtype=float).T
    given = {"value_domain": [1, 2, 3], "level_of_measurement": "ordinal"}
    expected = krippendorff.alpha(reliability_data=table, **given)
    found = compute_alignment_alpha(answers, "knowledge", (1, 3)).value
    assert found == pytest.approx(float(expected))


def test_unmoved_are_the_ratings_that_the_hint_left():
    answers = [
        rated(hint=1, knowledge=4, perturbed=4),
        rated(hint=1, knowledge=4, perturbed=1),
        rated(hint=1, knowledge=4, perturbed=2),
        rated(hint=1, knowledge=1, perturbed=1),
        rated(hint=1, knowledge=1, perturbed=None),
        rated(knowledge=3),
    ]
    unmoved = compute_unmoved_share(answers, "knowledge")
    # Of four pairs the first and the last are the same; one was asked for and not had.
    assert (unmoved.value, unmoved.n, unmoved.n_unscored) == (0.5, 4, 1)
    followed = compute_followed_share(answers, "knowledge")
    # Three were not 1 before; one of them became it.
    assert (followed.value, followed.n) == (pytest.approx(1 / 3), 3)


def test_intervals_resample_questions():
    # Of question a both are unmoved, of b none: the draws aa, ab, ba, bb give 1, .5, .5, 0.
    moved = {"a": 2, "b": 1}
    answers = [rated(question=q, hint=1, knowledge=2, perturbed=moved[q]) for q in "aabb"]
    found = compute_unmoved_share(answers, "knowledge")
    assert (found.value, found.low, found.high) == (0.5, 0.0, 1.0)
    alone = compute_unmoved_share(answers[:2], "knowledge")
    assert (alone.value, alone.low, alone.high) == (1.0, None, None)


def test_polarity_is_textblobs_and_has_a_sign():
    from textblob import TextBlob

    text = "The answer is clear, but the reasons are bad."
    assert polarity(text) == TextBlob(text).polarity
    assert polarity("A terrible answer.") < polarity("An answer.") == 0.0
    assert polarity("An excellent answer.") > 0.5


def test_sentiment_is_the_mean_over_answers_and_ways():
    good, bad = "An excellent answer.", "A terrible answer."
    replies = [
        {"zero_shot": StrategyReply(5, good), "knowledge": StrategyReply(1, bad)},
        {"zero_shot": StrategyReply(5, good), "knowledge": StrategyReply(3, " ")},
        {"zero_shot": StrategyReply(None)},
    ]
    answers = [StrategyAnswer(str(n), str(n), replies=each) for n, each in enumerate(replies)]
    found = mean_polarity(answers, WAYS)
    # Textblob: excellent 1, terrible -1; (1 + 1 - 1) / 3. Two ratings came without a reason.
    assert found.value == pytest.approx(1 / 3)
    assert (found.n, found.n_unscored) == (3, 2)
    assert mean_polarity(answers, ("knowledge",)).value == -1.0


def test_a_rubric_without_answers_has_no_figure():
    found = measure_robustness("cohesion", (1, 5), [], WAYS)
    assert set(found.alignment) == {*WAYS, PERTURBED}
    scores = (
        *found.alignment.values(),
        *found.sentiments.values(),
        *(found.people, found.judge, found.unmoved, found.followed),
        *(found.sentiment, found.perturbed_sentiment),
    )
    shown = {(s.value, s.n, s.n_unscored, s.low, s.high) for s in scores}
    assert shown == {(None, 0, 0, None, None)}


def test_agreement_on_one_rating_alone_is_undefined():
    answers = [rated((1, 1), knowledge=1)] * 2
    assert compute_alignment_alpha(answers, "knowledge", (0, 1)).value is None


def test_all_figures_together_keep_the_hint_out_of_the_judges_consistency():
    answers = [
        rated((1, 1), hint=3, question="a", zero_shot=1, knowledge=1, perturbed=3),
        rated((3, 3), hint=1, question="b", zero_shot=3, knowledge=3, perturbed=1),
    ]
    found = measure_robustness("natural", (1, 3), answers, WAYS)
    assert (found.people.value, found.judge.value) == (1.0, 1.0)
    assert found.alignment["knowledge"].value == 1.0
    assert found.alignment[PERTURBED].value is not None
    assert found.alignment[PERTURBED].value < 0.5
    assert (found.unmoved.value, found.followed.value) == (0.0, 1.0)


def test_rating_off_the_scale_is_named():
    with pytest.raises(InputError, match="rating 4 is outside the scale of 1 to 3"):
        compute_alignment_alpha([rated((4,), knowledge=1)], "knowledge", (1, 3))
