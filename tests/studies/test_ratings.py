"""Judges against systems: means, favourites, self-preference."""

from __future__ import annotations

import itertools
import random
import statistics

import pytest
from case_tables import each_case

from ragassay.errors import InputError
from ragassay.studies.ratings import (
    Rating,
    build_rating_matrix,
    build_rating_table,
    find_favourites,
    find_own_systems,
    measure_self_preferences,
)


def rate(judge, system, question, value, rubric="cohesion", **fields):
    return Rating(judge, system, question, f"{question}/{system}", rubric, value, **fields)


def rated(means, n_questions=4, rubrics=("cohesion", "relevancy")):
    """Every judge rates every system alike on all questions."""
    return [
        rate(judge, system, f"q{i}", value, rubric)
        for (judge, system), value in means.items()
        for i in range(n_questions)
        for rubric in rubrics
    ]


MEANS = {("A", "A"): 5.0, ("A", "b"): 3.0, ("K", "A"): 4.0, ("K", "b"): 3.5}


def test_a_matrix_of_means_by_hand():
    ratings = [
        rate("A", "a", "q1", 5.0),
        rate("A", "a", "q2", 4.0),
        rate("A", "b", "q1", 2.0),
        rate("K", "a", "q1", 3.0),
        rate("K", "b", "q1", None),
    ]
    found = build_rating_matrix(ratings, own={"A": ["a"]})
    assert (found.rows, found.columns, found.own) == (("A", "K"), ("a", "b"), {(0, 0)})
    (aa, ab), (ka, kb) = found.cells
    assert (aa.value, aa.n, aa.n_unscored) == (4.5, 2, 0)
    assert (ab.value, ab.n) == (2.0, 1)
    # K did not rate q2/a: one of two is unscored, between (3 + 1) / 2 and (3 + 5) / 2.
    assert (ka.value, ka.n, ka.n_unscored, ka.worst, ka.best) == (3.0, 1, 1, 2.0, 4.0)
    assert (kb.value, kb.n, kb.n_unscored) == (None, 0, 1)
    assert found.n_questions == 2


def test_a_matrix_of_one_rubric_and_none_of_two_scales():
    ratings = [rate("A", "a", "q", 5.0), rate("A", "a", "q", 1.0, "relevancy")]
    assert build_rating_matrix(ratings, "relevancy").cells[0][0].value == 1.0
    assert build_rating_matrix(ratings).cells[0][0].value == 3.0
    ratings = [ratings[0], rate("A", "a", "q", 1.0, "fluency", scale=(1.0, 3.0))]
    with pytest.raises(InputError, match=r"1 to 5 \(cohesion\), 1 to 3 \(fluency\)"):
        build_rating_matrix(ratings)
    assert build_rating_matrix(ratings, "fluency").cells[0][0].scale == (1.0, 3.0)


def test_the_favourite_and_its_margin_on_shared_questions():
    ratings = [
        rate("A", "a", "q1", 5.0),
        rate("A", "a", "q2", 4.0),
        rate("A", "b", "q1", 2.0),
        rate("A", "b", "q2", None),
        rate("A", "c", "q1", 1.0),
    ]
    (found,) = find_favourites(build_rating_table(ratings))
    assert (found.system, found.second) == ("a", "b")
    # q1 alone was rated for both.
    assert (found.margin.value, found.margin.n, found.margin.n_unscored) == (3.0, 1, 1)


def test_systems_of_equal_means_are_ordered_by_name_and_one_alone_is_no_favourite():
    ratings = [rate("A", name, "q", 4.0) for name in ("z", "b")]
    (found,) = find_favourites(build_rating_table(ratings))
    assert (found.system, found.second, found.margin.value) == ("b", "z", 0.0)
    alone = [rate("A", "a", "q", 4.0), rate("K", "b", "q", 4.0)]
    assert find_favourites(build_rating_table(alone)) == ()


def test_self_preference_by_hand():
    (found,) = measure_self_preferences(build_rating_table(rated(MEANS)), {"A": ("A",)})
    # 5 - 3 by itself, 4 - 3.5 by the other: 1.5 more.
    assert (found.own_gap.value, found.peer_gap.value, found.excess.value) == (2.0, 0.5, 1.5)
    assert (found.excess.low, found.excess.high) == (1.5, 1.5)
    # 4 questions by 2 rubrics.
    assert (found.excess.n, found.excess.n_unscored) == (8, 0)
    assert found.verdict == "prefers_own"
    assert found.against == (("b", found.excess),)
    assert found.seen_against == ("b",)


@each_case(("own", "verdict"), [(3.5, "none_seen"), (2.0, "prefers_others")])
def test_equal_gaps_are_no_preference_and_smaller_ones_the_opposite(own, verdict):
    table = build_rating_table(rated(MEANS | {("A", "A"): own}))
    (found,) = measure_self_preferences(table, {"A": ("A",)})
    assert found.verdict == verdict


def test_without_missing_ratings_it_is_the_difference_of_differences_of_means():
    rng = random.Random(5)
    judges, systems = ("A", "B", "K"), ("A", "B", "c", "d")
    ratings = [
        rate(j, s, f"q{q}", float(rng.randint(1, 5)), r)
        for j, s, q, r in itertools.product(judges, systems, range(6), ("cohesion", "relevancy"))
    ]

    def mean(judge, *of):
        return statistics.fmean(
            v for r in ratings if r.judge == judge and r.system in of
            if (v := r.value) is not None
        )  # fmt: skip

    def gap(judge):
        return mean(judge, "A") - mean(judge, "B", "c", "d")

    found = measure_self_preferences(build_rating_table(ratings), {"A": ("A",), "B": ("B",)})
    assert [f.judge for f in found] == ["A", "B"]
    assert found[0].excess.value == pytest.approx(gap("A") - (gap("B") + gap("K")) / 2, abs=1e-4)
    assert found[0].own_gap.value == pytest.approx(gap("A"), abs=1e-4)
    assert found[0].excess.low is not None
    assert found[0].excess.low < found[0].excess.value < found[0].excess.high


def test_a_missing_rating_leaves_its_question_out_of_both_gaps():
    ratings = [r for r in rated(MEANS) if (r.judge, r.question) != ("K", "q0")]
    (found,) = measure_self_preferences(build_rating_table(ratings), {"A": ("A",)})
    assert (found.excess.n, found.excess.n_unscored) == (6, 2)
    assert found.own_gap.n == found.peer_gap.n == 6


def test_a_harsh_judge_of_one_bad_system_shows_against_that_one_alone():
    # A and K agree on b; A is harder on the broken c.
    means = MEANS | {("A", "A"): 4.5, ("A", "b"): 4.0, ("A", "c"): 2.0, ("K", "c"): 4.0}
    (found,) = measure_self_preferences(build_rating_table(rated(means)), {"A": ("A",)})
    assert found.verdict == "prefers_own"
    assert found.seen_against == ("c",)


def test_without_another_judge_or_system_it_cannot_be_told():
    alone = [r for r in rated(MEANS) if r.judge == "A"]
    only = [r for r in rated(MEANS) if r.system == "A"]
    for ratings in (alone, only):
        (found,) = measure_self_preferences(build_rating_table(ratings), {"A": ("A",)})
        assert (found.excess.value, found.verdict) == (None, "unknown")


def test_a_judge_may_be_several_systems():
    means = {(j, s): 4.0 for j in "AK" for s in ("a1", "a2", "b")} | {("A", "a2"): 5.0}
    (found,) = measure_self_preferences(build_rating_table(rated(means)), {"A": ("a1", "a2")})
    # Against b: 0 for a1 and 1 for a2.
    assert found.excess.value == 0.5


def test_names_are_matched_without_provider_publisher_and_case():
    judges = ["hosted_vllm/Qwen/Qwen2.5-72B-Instruct", "openai/gpt-4.1", "mistral"]
    systems = ["qwen2.5-72b-instruct", "GPT-4.1", "gpt-4.1-mini", "our-rag"]
    assert find_own_systems(judges, systems, [("mistral", "our-rag")]) == {
        judges[0]: ("qwen2.5-72b-instruct",),
        judges[1]: ("GPT-4.1",),
        "mistral": ("our-rag",),
    }


@each_case("pair", [("nobody", "a"), ("J", "nothing")])
def test_a_pair_of_unknown_names_is_refused(pair):
    with pytest.raises(InputError, match=r"unknown (judge|system)"):
        find_own_systems(["J"], ["a"], [pair])


def test_several_answers_to_a_question_are_averaged_in_comparisons():
    first, second = rate("A", "a", "q", 5.0), rate("A", "a", "q", 2.0)
    second = Rating(**{**vars(second), "answer": "again"})
    table = build_rating_table([first, second, rate("A", "b", "q", 3.0)])
    assert table.values.tolist() == [[[3.5], [3.0]]]
