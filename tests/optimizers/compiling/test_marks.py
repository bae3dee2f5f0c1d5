"""Marks of replies, and what many of them come to."""

from __future__ import annotations

import random

import numpy as np
import pytest
from case_tables import each_case
from lazy import LazyModule

from ragassay.optimizers.compiling.items import CompileItem
from ragassay.optimizers.compiling.metrics import (
    ItemOutcome,
    build_detection_figure,
    build_macro_f1_figure,
    build_mean_figure,
    compare,
    mark_hits,
    mark_label,
    mark_nuggets,
    mark_rating,
    mark_unusable,
)
from ragassay.optimizers.compiling.student import can_be_chance, is_better
from ragassay.prompts.compiled import PromptComparison

sklearn_metrics = LazyModule("sklearn.metrics")

LABELS = ("supports", "contradicts", "neutral")


def labelled(pairs, group=lambda n: str(n)) -> list[ItemOutcome]:
    """Outcomes of (right, said); said None is unscored."""
    return [
        ItemOutcome(
            CompileItem(str(n), group(n), (), right=right),
            None if said is None else mark_label(right, said),
        )
        for n, (right, said) in enumerate(pairs)
    ]


def rated(desired: float, score: float, whole: str = "", key: str = "a", group: str = "q"):
    item = CompileItem(key, group, (), right=desired, unperturbed=whole)
    return ItemOutcome(item, mark_rating(item, score, (1, 5)))


def test_a_label_is_right_or_wrong_and_the_words_say_which():
    right, wrong = mark_label("supports", "supports"), mark_label("neutral", "supports")
    assert (right.value, wrong.value) == (1.0, 0.0)
    assert "Right: supports." in right.feedback
    assert all(w in wrong.feedback for w in ("said supports", "neutral is right", "neither"))


@each_case(
    ("desired", "score", "whole", "value", "words"),
    [
        # |3 - 4| / 4 = 0.25
        (4.0, 3.0, "", 0.75, ["1.0 off"]),
        (4.0, 4.0, "", 1.0, ["Right: 4."]),
        (1.0, 5.0, "", 0.0, ["4.0 off"]),
        # A perturbed answer wants 3 at most: 1 is as good, 4 is one too many.
        (3.0, 1.0, "w", 1.0, ["Right"]),
        (3.0, 4.0, "w", 0.75, ["3 at most", "perturbed on purpose"]),
    ],
)
def test_a_rating_is_worth_its_closeness_and_the_words_say_why(desired, score, whole, value, words):
    mark = rated(desired, score, whole).mark
    assert mark.value == pytest.approx(value)
    assert all(one in mark.feedback for one in words), mark.feedback


def test_nuggets_are_worth_their_f1_one_to_one():
    # One of two reference facts met by one of three: P 1/3, R 1/2, F1 = 2/5.
    similarity = np.array([[0.9, 0.8, 0.1], [0.1, 0.2, 0.3]])
    mark = mark_nuggets(["A.", "B."], ["a", "a again", "c"], similarity, 0.6)
    assert mark.value == pytest.approx(0.4)
    assert "missing: B." in mark.feedback and "a again | c" in mark.feedback
    assert mark_nuggets(["A."], ["a"], np.array([[1.0]]), 0.6).value == 1.0
    assert mark_nuggets(["A."], ["b"], np.array([[0.0]]), 0.6).value == 0.0


def test_a_query_is_worth_its_recall():
    assert mark_hits(["1", "2"], ["2", "9"]).value == 0.5
    assert mark_hits(["1"], []).value == 0.0
    assert "1 of the 2" in mark_hits(["1", "2"], ["2", "9"]).feedback


def test_an_unusable_reply_is_worth_nothing_inside_an_optimizer_and_says_why():
    assert mark_unusable("broken JSON").value == 0.0
    assert "broken JSON" in mark_unusable("broken JSON").feedback


def compare_accuracy(before: list[ItemOutcome], after: list[ItemOutcome]) -> PromptComparison:
    return compare(before, after, lambda outcomes: build_mean_figure("accuracy"))


def value_of(figure, outcomes) -> float:
    return float(figure.value(figure.rows(outcomes).sum(axis=0)))


def test_macro_f1_by_hand():
    # supports: P 1/2, R 1/1, F1 2/3; contradicts: F1 0; neutral: 1; mean 5/9.
    pairs = [("supports", "supports"), ("contradicts", "supports"), ("neutral", "neutral")]
    assert value_of(build_macro_f1_figure(LABELS), labelled(pairs)) == pytest.approx(5 / 9)


@pytest.mark.parametrize("seed", range(5))
def test_macro_f1_is_that_of_scikit_learn(seed):
    rng = random.Random(seed)
    pairs = [(rng.choice(LABELS), rng.choice(LABELS[: seed + 1])) for _ in range(20)]
    expected = sklearn_metrics.f1_score(
        [r for r, _ in pairs], [s for _, s in pairs], average="macro"
    )
    assert value_of(build_macro_f1_figure(LABELS), labelled(pairs)) == pytest.approx(expected)


def test_detection_counts_pairs_and_a_tie_is_none():
    outcomes = [
        rated(4, 4.0, key="a"),
        rated(3, 3.0, whole="a", key="a~1"),
        rated(1, 4.0, whole="a", key="a~2"),
        rated(1, 5.0, whole="a", key="a~3"),
        rated(1, 1.0, whole="gone", key="b~1"),
    ]
    # One of three pairs: 3 < 4; a tie and a rise are none, and without its whole one is no pair.
    assert value_of(build_detection_figure(outcomes), outcomes) == pytest.approx(1 / 3)


def test_a_gain_is_over_what_both_scored_and_unscored_is_counted_not_zero():
    right = ["supports"] * 4
    before = labelled(zip(right, ["neutral", "supports", None, "neutral"], strict=True))
    after = labelled(zip(right, ["supports", "supports", "supports", None], strict=True))
    found = compare_accuracy(before, after)
    assert (found.before.value, found.before.n, found.before.n_unscored) == (0.3333, 3, 1)
    assert (found.after.value, found.after.n, found.after.n_unscored) == (1.0, 3, 1)
    # Both scored the first two: 1/2 before, 1 after.
    assert (found.gain.value, found.gain.n, found.gain.n_unscored) == (0.5, 2, 2)


def test_interval_of_a_gain_draws_groups_of_both_together():
    before = labelled([("supports", s) for s in ("neutral", "supports", "neutral")])
    after = labelled([("supports", s) for s in ("supports", "supports", "neutral")])
    found = compare_accuracy(before, after)
    # Gains 1, 0, 0. Three draws of three: all of gain 0 with (2/3)^3 = 0.30, all of gain 1 with
    # 1/27 = 0.037; both are more than 0.025. Drawn apart, it would reach down to -1.
    assert (found.gain.low, found.gain.high) == (0.0, 1.0)


def test_items_of_one_group_are_drawn_together_so_one_group_has_no_interval():
    outcomes = labelled([("supports", "supports"), ("supports", "neutral")], lambda n: "q")
    found = compare_accuracy(outcomes, outcomes)
    assert (found.gain.value, found.gain.low) == (0.0, None)


@pytest.mark.parametrize("outcomes", [[], labelled([("supports", None)])])
def test_nothing_scored_has_no_value_and_is_no_better(outcomes):
    found = compare_accuracy(outcomes, outcomes)
    assert (found.before.value, found.gain.value) == (None, None)
    assert not is_better(found)


def test_better_is_a_gain_without_more_unscored_replies():
    before = labelled([("supports", "neutral"), ("supports", "supports")])
    risen = labelled([("supports", "supports"), ("supports", "supports")])
    gap = labelled([("supports", "supports"), ("supports", None)])
    assert is_better(compare_accuracy(before, risen))
    for first, second in ((before, before), (risen, before), (before, gap)):
        assert not is_better(compare_accuracy(first, second))
    assert can_be_chance(compare_accuracy(before, risen))
    wrong, right = (labelled([("supports", one)] * 3) for one in ("neutral", "supports"))
    assert not can_be_chance(compare_accuracy(wrong, right))
