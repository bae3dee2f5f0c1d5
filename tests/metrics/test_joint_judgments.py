"""What several judges come to together, how far they agree, and how alike they are."""

from __future__ import annotations

import random

import krippendorff
import pytest
from answers import answer
from lazy import LazyModule

from ragassay.metrics.papers.answer_scores import score_rubrics
from ragassay.metrics.stats.joint_judgments import (
    choose_final_judgment,
    compute_panel_bounds,
    is_disputed,
    join_judgments,
    list_single_judgments,
    merge_judgments,
)
from ragassay.metrics.stats.panel_agreement import (
    collect_lone_ratings,
    correlate_errors,
    correlate_pair_errors,
    estimate_effective_judges,
    measure_pair_agreement,
    measure_panel_agreement,
)
from ragassay.metrics.stats.summary import summarize
from ragassay.records import Evaluation, Failure, Judgment, PanelPair, Score, Usage

TIMEOUT = Failure(reason="timeout", detail="no reply")


def said(rating: int | None, judge: str = "a", **more: object) -> Judgment:
    score = None if rating is None else float(rating)
    failure = TIMEOUT if rating is None else None
    given = {"rubric": "cohesion", "judge": judge, "rating": rating, "score": score}
    return Judgment.model_validate(given | {"failure": failure} | more)


def panels(*rows: tuple[int | None, ...]) -> list[Evaluation]:
    """One answer a row, to a question of its own, with a rating of each judge."""
    return [
        answer(
            f"r{n}",
            f"t{n}",
            judgments=(merge_judgments([said(r, j) for r, j in zip(row, "abc", strict=False)]),),
        )
        for n, row in enumerate(rows)
    ]


def test_score_and_rating_are_the_mean_and_the_whole_number_next_to_it():
    # (2 + 4.5 + 4.6) / 3 = 3.7, next to 4.
    members = [said(2, "a"), said(4, "b", score=4.5), said(5, "c", score=4.6)]
    found = merge_judgments(members)
    assert (found.score, found.rating, found.members) == (3.7, 4, tuple(members))
    assert (found.judge, found.failure) == ("", None)
    # A mean in the middle counts as the upper rating.
    assert merge_judgments([said(2), said(3, "b")]).rating == 3
    assert merge_judgments([said(3), said(4, "b")]).rating == 4


def test_the_distribution_is_the_mean_where_all_have_one():
    one, other = (0.0, 0.0, 0.0, 0.5, 0.5), (0.1, 0.2, 0.3, 0.4, 0.0)
    both = [said(4, distribution=one), said(3, "b", distribution=other)]
    assert merge_judgments(both).distribution == (0.05, 0.1, 0.15, 0.45, 0.25)
    assert merge_judgments([*both, said(4, "c")]).distribution is None


def test_the_reason_is_of_the_member_nearest_to_the_score_and_the_sentences_of_all():
    members = [
        said(1, "a", rationale="low", sentences=(4, 2)),
        said(3, "b", rationale="middle", sentences=(2, 3)),
        said(4, "c", rationale="high"),
    ]
    found = merge_judgments(members)
    assert (found.rationale, found.sentences) == ("middle", (2, 3, 4))


def test_a_member_without_a_rating_is_left_out_of_the_score_and_kept():
    found = merge_judgments([said(2), said(None, "b"), said(4, "c")])
    assert (found.score, found.rating, found.failure) == (3.0, 3, None)
    assert found.members[1].failure == TIMEOUT
    # Had b given 1: (2 + 1 + 4) / 3; had it given 5: (2 + 5 + 4) / 3.
    assert compute_panel_bounds(found) == (2.3333, 3.6667)
    score = score_rubrics([found], "a panel")["rubric.cohesion"]
    assert (score.value, score.n, score.n_unscored) == (3.0, 2, 1)
    assert (score.worst, score.best) == (2.3333, 3.6667)


def test_a_panel_is_unscored_where_every_member_is():
    found = merge_judgments([said(None), said(None, "b")])
    assert (found.rating, found.score) == (None, None)
    assert found.failure is not None
    assert found.failure.reason == "timeout"
    assert "a: timeout; b: timeout" in found.failure.detail
    score = score_rubrics([found], "a panel")["rubric.cohesion"]
    assert (score.n, score.n_unscored, score.worst, score.best) == (0, 2, 1.0, 5.0)


def test_what_a_member_said_first_counts_where_it_could_not_be_heard_again():
    lost = said(None, "b", first=said(1, "b"))
    assert choose_final_judgment(lost).rating == 1
    found = merge_judgments([said(3, first=said(5)), lost])
    assert found.score == 2.0
    assert [m.failure for m in found.members] == [None, TIMEOUT]


def test_the_usage_of_every_call_is_added_up():
    one = Usage(n_calls=1, n_prompt_tokens=10, cost_usd=0.5)
    again = said(3, usage=one, first=said(5, usage=one))
    found = merge_judgments([again, said(3, "b", usage=one)])
    assert found.usage == Usage(n_calls=3, n_prompt_tokens=30, cost_usd=1.5)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        *(((), False), ((3,), False), ((2, 3.99), False), ((2, 4), True)),
        *(((1, 2, 3), True), ((3, None), False), ((1, None, 3), True)),
    ],
)
def test_two_points_between_any_two_scores_are_a_dispute(scores, expected):
    members = [said(s if s is None else round(s), score=s) for s in scores]
    assert is_disputed(members) is expected


def test_single_judgments_are_the_members_and_those_of_single_judges():
    members = [said(1), said(2, "b")]
    assert list_single_judgments([merge_judgments(members), said(5, "")]) == [*members, said(5, "")]


def test_agreement_by_hand():
    # Two judges, four answers: 1 1, 2 2, 4 4, 4 5: three of four exact.
    # Ordinal alpha, counts of the 8 ratings: 1:2, 2:2, 4:3, 5:1. Squared distance of two ranks:
    # (sum of the counts between them, each end counted half)^2.
    # 1-2: (1 + 1)^2 = 4;  1-4: (1 + 2 + 1.5)^2 = 20.25;  1-5: (1 + 2 + 3 + .5)^2 = 42.25
    # 2-4: (1 + 1.5)^2 = 6.25;  2-5: (1 + 3 + .5)^2 = 20.25;  4-5: (1.5 + .5)^2 = 4
    # Observed: the one pair 4-5, counted both ways, over 8 ratings: 2 * 4 / 8 = 1.
    # Expected: 2 * (2*2*4 + 2*3*20.25 + 2*1*42.25 + 2*3*6.25 + 2*1*20.25 + 3*1*4) / (8 * 7)
    #   = 2 * (16 + 121.5 + 84.5 + 37.5 + 40.5 + 12) / 56 = 624 / 56
    # alpha = 1 - 56 / 624
    found = measure_panel_agreement(panels((1, 1), (2, 2), (4, 4), (4, 5)))
    assert found is not None
    assert found.alpha.value == pytest.approx(1 - 56 / 624)
    assert (found.exact.value, found.exact.n) == (0.75, 4)
    assert found.alpha_alone == found.alpha
    members = [(m.judge, m.score.value, m.score.n) for m in found.members]
    assert members == [("a", 2.75, 4), ("b", 3.0, 4)]
    assert (found.n_disputed, found.n_heard_again, found.n_moved) == (0, 0, 0)


def test_alpha_is_that_of_the_package_also_with_missing_ratings():
    rows = [(1, 2, 3), (4, None, 5), (2, 2, 2), (None, 3, 3), (5, 1, 4), (None, None, 2)]
    by_judge = [[float("nan") if r is None else r for r in ratings] for ratings in zip(*rows)]  # noqa: B905
    expected = krippendorff.alpha(by_judge, level_of_measurement="ordinal")
    found = measure_panel_agreement(panels(*rows))
    assert found is not None
    assert found.alpha.value == pytest.approx(expected)
    assert (found.alpha.n, found.alpha.n_unscored) == (5, 1)
    assert (found.exact.value, found.exact.n, found.exact.n_unscored) == (0.4, 5, 1)
    assert [(m.score.n, m.score.n_unscored) for m in found.members] == [(4, 2), (4, 2), (6, 0)]
    assert found.n_disputed == 2


def test_ratings_given_alone_are_kept_apart_from_those_after_hearing_the_others():
    settled = [said(3, first=said(1)), said(3, "b", first=said(5, "b"))]
    stubborn = [said(1, first=said(1)), said(4, "b", first=said(5, "b"))]
    lost = [said(None, first=said(2)), said(2, "b", first=said(4, "b"))]
    evaluations = [
        answer(f"r{n}", f"t{n}", judgments=(merge_judgments(members),))
        for n, members in enumerate((settled, stubborn, lost, [said(3), said(3, "b")]))
    ]
    found = measure_panel_agreement(evaluations)
    assert found is not None
    assert (found.exact_alone.value, found.exact.value) == (0.25, 0.75)
    assert (found.alpha_alone.value or 0) < (found.alpha.value or 0)
    assert (found.n_disputed, found.n_resolved) == (3, 2)
    # a: heard in two (its third call failed), moved in one; b: heard in three, moved in all.
    assert [(m.n_heard_again, m.n_moved) for m in found.members] == [(2, 1), (3, 3)]
    assert (found.n_heard_again, found.n_moved) == (5, 4)


def test_without_a_panel_there_is_no_agreement():
    single = answer("r", judgments=(said(3, ""),))
    assert measure_panel_agreement([]) is None
    assert measure_panel_agreement([single]) is None
    assert summarize([single], 1, 0, 0).panel is None


def test_one_answer_and_equal_ratings_have_no_alpha():
    found = summarize(panels((3, 3)), 1, 0, 0).panel
    assert found is not None
    assert (found.alpha.value, found.alpha.low) == (None, None)
    assert (found.exact.value, found.exact.n) == (1.0, 1)
    silent = measure_panel_agreement(panels((None, None)))
    assert silent is not None
    assert (silent.alpha.value, silent.exact.value, silent.exact.n) == (None, None, 0)
    assert [(m.score.value, m.score.n_unscored) for m in silent.members] == [(None, 1)] * 2


scipy_stats = LazyModule("scipy.stats")


def test_judges_that_always_agree_count_as_one_and_unrelated_ones_as_two():
    (alike,) = measure_pair_agreement(collect_lone_ratings(panels((1, 1), (3, 3), (5, 5), (2, 2))))
    assert (alike.first, alike.second, alike.alike.value, alike.alike.n) == ("a", "b", 1.0, 4)
    assert estimate_effective_judges([alike]) == 1.0
    found = measure_panel_agreement(panels((1, 5), (5, 1), (1, 5), (5, 1)))
    assert found is not None
    assert found.n_effective == 2.0, "disagreement is not worth more than independence"


def test_ratings_given_alone_are_compared_and_lost_ones_left_out():
    deliberate = merge_judgments([said(4, first=said(1)), said(4, "b", first=said(5, "b"))])
    evaluations = [answer("r", "t", judgments=(deliberate,)), *panels((3, None), (2, 2))]
    alone = collect_lone_ratings(evaluations)
    assert [one.rating for one in alone["a"].values()] == [1, 3, 2]
    assert [one.rating for one in alone["b"].values()] == [5, 2]
    assert measure_pair_agreement(alone)[0].alike.n == 2


def test_a_panel_without_a_common_rating_has_no_figure():
    found = measure_panel_agreement(panels((3, None), (None, 2)))
    assert found is not None
    assert found.n_effective is None
    assert measure_pair_agreement({}) == () and estimate_effective_judges([]) is None


def test_three_judges_count_by_their_mean():
    # n / (1 + (n - 1) r) = 3 / (1 + 2 * (.9 + .3 + .3) / 3) = 1.5
    pairs = [
        PanelPair(first=one, second=two, alike=Score(value=value, n=9))
        for one, two, value in (("a", "b", 0.9), ("a", "c", 0.3), ("b", "c", 0.3))
    ]
    assert estimate_effective_judges(pairs) == pytest.approx(1.5)


def test_errors_are_differences_from_peoples_ratings():
    # People say 3, 3, 3, 4. Errors of a: 1, -1, 0, 1; of b: 1, -1, 0, 1; of c: -1, 1, 0, -1.
    evaluations = panels((4, 4, 2), (2, 2, 4), (3, 3, 3), (5, 5, 3), (1, 5, 1))
    truth = {(f"r{n}", "cohesion"): value for n, value in enumerate((3.0, 3.0, 3.0, 4.0))}
    pairs = correlate_pair_errors(collect_lone_ratings(evaluations), truth)
    found = {(pair.first, pair.second): pair for pair in pairs}
    assert all(pair.is_of_errors and pair.alike.n == 4 for pair in found.values())
    assert found["a", "b"].alike.value == pytest.approx(1.0)
    assert found["a", "c"].alike.value == pytest.approx(-1.0)


def test_the_correlation_is_pearsons():
    draw = random.Random(3)
    first = [draw.gauss(0, 1) for _ in range(40)]
    second = [x + draw.gauss(0, 1) for x in first]
    found = correlate_errors(first, second, [str(n) for n in range(40)])
    assert found.value == pytest.approx(scipy_stats.pearsonr(first, second)[0], abs=1e-6)
    assert found.low is not None and found.high is not None and found.value is not None
    assert -1 <= found.low < found.value < found.high <= 1


@pytest.mark.parametrize(
    ("first", "second"), [([], []), ([1.0], [0.0]), ([1.0, 1.0, 1.0], [0.0, 1.0, 2.0])]
)
def test_without_a_spread_there_is_no_correlation(first, second):
    found = correlate_errors(first, second, [str(n) for n in range(len(first))])
    assert (found.value, found.low, found.n) == (None, None, len(first))


def spread(score: float, reason: str, sentences: tuple[int, ...] = ()) -> Judgment:
    """A rating whose distribution lies on the two whole numbers next to its score."""
    shares = [max(0.0, 1 - abs(rating - score)) for rating in range(1, 6)]
    given = {"score": score, "distribution": tuple(shares), "sentences": sentences}
    return said(round(score), rationale=reason, **given)


def test_the_score_is_the_expectation_of_the_mixture() -> None:
    # (2 + 4.5) / 2 = 3.25; half of [0, 1, 0, 0, 0] and half of [0, 0, 0, .5, .5]
    found = join_judgments(spread(2, "a"), spread(4.5, "b"), share=0.5)
    assert found.score == 3.25 and found.rating == 3
    assert found.distribution == (0, 0.5, 0, 0.25, 0.25)
    assert sum((n + 1) * p for n, p in enumerate(found.distribution)) == pytest.approx(found.score)


def test_the_share_is_that_of_the_tuned_judge() -> None:
    assert join_judgments(spread(1, "a"), spread(5, "b"), share=0.25).score == 4.0


def test_who_saw_something_gives_the_reason() -> None:
    low, high = spread(1, "Sentence 2 is off.", (2,)), spread(5, "All is well.")
    for pair in ((low, high), (high, low)):
        found = join_judgments(*pair)
        assert (found.rationale, found.sentences) == ("Sentence 2 is off.", (2,))
    near = join_judgments(spread(2, "One.", (1, 2)), spread(2.2, "Two.", (2, 3)))
    assert near.rationale == "One. Two." and near.sentences == (1, 2, 3)


def test_where_one_is_unscored_the_other_stands() -> None:
    there, missing = spread(4, "a"), said(None)
    assert join_judgments(there, missing) == there
    assert join_judgments(missing, there) == there
    assert join_judgments(missing, missing).failure is not None
