"""Agreement of labels, and the area under the ROC curve, plain and paired by question."""

from __future__ import annotations

import functools
import random

import numpy as np
import pytest
from case_tables import each_case
from hypothesis import given, settings
from hypothesis import strategies as st
from lazy import LazyModule

from ragassay.errors import InputError
from ragassay.metrics.stats.agreement import (
    AlphaLevel,
    krippendorff_alpha,
    measure_agreement,
    measure_discrimination,
)
from ragassay.metrics.stats.intervals import SEED, bootstrap_interval

krippendorff = LazyModule("krippendorff")

LIKERT = ("1", "2", "3", "4", "5")
Pairs = st.lists(st.tuples(st.sampled_from(LIKERT), st.sampled_from(LIKERT)), min_size=1)


def test_worked_by_hand():
    # people a a a b b, judge a a b b a: 3 of 5 agree.
    # Expected: a 3/5 * 3/5 + b 2/5 * 2/5 = .52; kappa = (.6 - .52) / .48 = 1/6.
    # F1 of a: 2*2 / (3+3) = 2/3, of b: 2*1 / (2+2) = 1/2; macro 7/12.
    found = measure_agreement(list("aaabb"), list("aabba"), ["a", "b"])
    assert found.accuracy.value == 0.6
    assert found.kappa.value == pytest.approx(1 / 6)
    assert found.averages["macro"].f1.value == pytest.approx(7 / 12)
    # Weighted: people gave a three times, b twice. Precision of a 2/3, of b 1/2.
    assert found.averages["weighted"].precision.value == pytest.approx((3 * 2 / 3 + 2 * 1 / 2) / 5)
    assert found.confusion == ((2, 1), (1, 1))
    assert [c.f1.value for c in found.classes] == pytest.approx([2 / 3, 1 / 2])
    assert [c.precision.value for c in found.classes] == pytest.approx([2 / 3, 1 / 2])
    assert [(c.n_truth, c.n_predicted) for c in found.classes] == [(3, 3), (2, 2)]
    assert found.linear_kappa is None


def test_weighted_kappa_worked_by_hand():
    # people 1 2 3, judge 1 3 3. Quadratic: observed (0 + 1 + 0) / 3 = 1/3. Expected over the nine
    # pairings of marginals (1/3 each; 1: 1/3, 3: 2/3): (0 + 2*4 + 1 + 2*1 + 4 + 0) / 9 = 15/9.
    # 1 - (1/3) / (15/9) = .8. Linear: observed 1/3, expected (2*2 + 1 + 2*1 + 2) / 9 = 1; 2/3.
    found = measure_agreement(list("123"), list("133"), ["1", "2", "3"], is_ordered=True)
    assert found.quadratic_kappa is not None and found.linear_kappa is not None
    assert found.quadratic_kappa.value == pytest.approx(0.8)
    assert found.linear_kappa.value == pytest.approx(2 / 3)


@given(Pairs)
@settings(max_examples=20)
def test_values_are_those_of_scikit_learn(pairs):
    truth, predicted = [t for t, _ in pairs], [p for _, p in pairs]
    found = measure_agreement(truth, predicted, LIKERT, is_ordered=True)
    assert found.accuracy.value == sum(t == p for t, p in pairs) / len(pairs)
    for average, scores in found.averages.items():
        p, r, f1, _ = sklearn_metrics.precision_recall_fscore_support(
            truth, predicted, average=average, zero_division=0.0
        )
        values = scores.precision.value, scores.recall.value, scores.f1.value
        assert values == pytest.approx((p, r, f1))
    if len({*truth, *predicted}) > 1:
        kappa = functools.partial(sklearn_metrics.cohen_kappa_score, truth, predicted)
        assert found.kappa.value == pytest.approx(kappa())
        assert found.quadratic_kappa is not None
        quadratic = kappa(labels=list(LIKERT), weights="quadratic")
        assert found.quadratic_kappa.value == pytest.approx(quadratic)
    _, _, f1, support = sklearn_metrics.precision_recall_fscore_support(
        truth, predicted, labels=list(LIKERT), zero_division=0.0
    )
    assert [c.n_truth for c in found.classes] == list(support)
    assert [c.f1.value or 0.0 for c in found.classes] == pytest.approx(list(f1))
    assert sum(map(sum, found.confusion)) == len(pairs)


def test_intervals_are_those_of_every_resample_of_two_questions():
    # Question x: a/a, b/b (kappa 1); question y: a/b, b/a (kappa -1); both: kappa 0.
    # xx, xy, yx, yy are equally likely: the ends are -1 and 1. So for accuracy: 0 and 1.
    found = measure_agreement(list("abab"), list("abba"), ["a", "b"], list("xxyy"))
    assert found.kappa.value == pytest.approx(0.0)
    assert (found.kappa.low, found.kappa.high) == pytest.approx((-1.0, 1.0))
    assert (found.accuracy.low, found.accuracy.high) == (0.0, 1.0)
    macro, recall = found.averages["macro"].f1, found.averages["weighted"].recall
    assert (macro.low, macro.high) == (recall.low, recall.high) == (0.0, 1.0)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_draws_of_kappa_are_kappas_of_draws(weights):
    draw = random.Random(5)
    items = [(draw.randrange(3), draw.randrange(3), "wxyz"[i % 4]) for i in range(40)]

    @functools.cache
    def kappa_of(*counts: int) -> float:
        drawn = [(t, p) for t, p, q in items for _ in range(counts["wxyz".index(q)])]
        truth, predicted = zip(*drawn, strict=True)
        return sklearn_metrics.cohen_kappa_score(truth, predicted, weights=weights)

    expected = bootstrap_interval(lambda draws: np.array([kappa_of(*row) for row in draws]), 4)
    truth, predicted, questions = zip(*((str(t), str(p), q) for t, p, q in items), strict=True)
    found = measure_agreement(truth, predicted, ["0", "1", "2"], questions, is_ordered=True)
    kappas = {None: found.kappa, "linear": found.linear_kappa, "quadratic": found.quadratic_kappa}
    assert (kappas[weights].low, kappas[weights].high) == pytest.approx(expected)


@each_case(
    ("predicted", "value", "n", "bounds"),
    [(["a", None, "b"], 1.0, 2, (2 / 3, 1.0)), ([None] * 3, None, 0, (0.0, 1.0))],
)
def test_unscored_is_left_out_counted_and_bounds_the_accuracy(predicted, value, n, bounds):
    found = measure_agreement(list("aab"), predicted, ["a", "b"])
    accuracy = found.accuracy
    assert (accuracy.value, accuracy.n, accuracy.n_unscored) == (value, n, 3 - n)
    assert (accuracy.worst, accuracy.best) == pytest.approx(bounds)
    assert found.kappa.n_unscored == 3 - n


@pytest.mark.parametrize("n", [0, 1, 3])
def test_one_label_only_has_no_kappa(n):
    found = measure_agreement(["a"] * n, ["a"] * n, ["a", "b"], is_ordered=True)
    assert found.kappa.value is None
    assert found.quadratic_kappa is not None and found.quadratic_kappa.value is None
    assert found.accuracy.value == (1.0 if n else None)
    assert found.averages["macro"].f1.value == (1.0 if n else None)
    assert found.classes[1].f1.value is None


@pytest.mark.parametrize(
    "arguments",
    [
        *((["a"], [], ["a"]), (["a"], ["c"], ["a", "b"])),
        *((["c"], [None], ["a", "b"]), (["a"], ["a"], ["a"], ["q", "r"])),
    ],
)
def test_labels_that_do_not_fit_are_refused(arguments):
    with pytest.raises(InputError):
        measure_agreement(*arguments)


def test_alpha_worked_by_hand():
    # Units aa, ab, bb: n = 6 values, a 3, b 3. Observed disagreement: one unit of two values
    # gives o_ab = o_ba = 1. Expected e_ab = e_ba = 3 * 3 / 5. alpha = 1 - 2 / (18/5) = 4/9.
    found = krippendorff_alpha(["aa", "ab", "bb"], ["a", "b"], "nominal")
    assert found.value == pytest.approx(4 / 9)
    assert (found.n, found.n_unscored) == (3, 0)


def test_alpha_of_krippendorffs_own_example():
    # Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", C: four observers, missing
    # values: nominal .743, ordinal .815, interval .849.
    rows = (
        (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
        (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
        (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
        (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
    )
    units = [[str(v) for v in unit if v is not None] for unit in zip(*rows, strict=True)]
    levels = ("nominal", "ordinal", "interval")
    values = [krippendorff_alpha(units, LIKERT, level).value for level in levels]
    assert values == pytest.approx([0.743, 0.815, 0.849], abs=5e-4)
    assert krippendorff_alpha(units, LIKERT, "nominal").n_unscored == 1


@given(st.lists(st.lists(st.sampled_from(LIKERT), max_size=3), min_size=1, max_size=12))
@settings(max_examples=30)
def test_alpha_is_that_of_the_package(units):
    found = krippendorff_alpha(units, LIKERT, "interval")
    paired = [unit for unit in units if len(unit) > 1]
    if len({label for unit in paired for label in unit}) < 2:
        assert found.value is None
        return
    rows = [[float(u[i]) if i < len(u) else float("nan") for u in units] for i in range(3)]
    expected = krippendorff.alpha(reliability_data=rows, level_of_measurement="interval")
    assert found.value == pytest.approx(expected)
    assert found.n == len(paired)


def test_alpha_is_undefined_without_two_labels_of_an_item():
    assert krippendorff_alpha([], ["a"], "nominal").value is None
    assert krippendorff_alpha([["a"], ["b"]], ["a", "b"], "nominal").value is None
    assert krippendorff_alpha([["a", "a"]], ["a", "b"], "nominal").value is None


def test_alpha_interval_resamples_questions():
    # x agrees in full, y never does.
    units = ["aa", "bb", "ab", "ba"]
    found = krippendorff_alpha(units, ["a", "b"], "nominal", list("xxyy"))
    assert found.high == 1.0
    # yy: o_ab + o_ba = 8, e = 2 * 4 * 4 / 7; 1 - 8 / (32/7) = -.75.
    assert found.low == pytest.approx(-0.75)


def test_alpha_refuses_an_unknown_label():
    with pytest.raises(InputError, match="'z'"):
        krippendorff_alpha([["a", "z"]], ["a", "b"], "nominal")


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alphas_interval_is_that_of_the_package_draw_by_draw(level: AlphaLevel) -> None:
    units = ["12", "223", "5", "455", "3344", "11", "15", "525"]
    questions = list("aabbccdd")
    found = krippendorff_alpha(units, LIKERT, level, questions)
    rng = np.random.default_rng(SEED)
    rows = np.array([[unit.count(label) for label in LIKERT] for unit in units])
    values = []
    for counts in rng.multinomial(4, np.full(4, 1 / 4), size=1000):
        drawn = np.repeat(rows, np.repeat(counts, 2), axis=0)
        drawn = drawn[drawn.sum(axis=1) > 1]
        if (drawn.sum(axis=0) > 0).sum() > 1:
            given = {"value_domain": [*map(float, LIKERT)], "level_of_measurement": level}
            values.append(krippendorff.alpha(value_counts=drawn, **given))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))


sklearn_metrics = LazyModule("sklearn.metrics")

Row = st.tuples(st.integers(0, 4), st.booleans(), st.sampled_from("xyz"))
Rows = st.lists(Row, min_size=1, max_size=20)


def test_auroc_worked_by_hand():
    # Question x: good .9 and .4, bad .5: one of two pairs won, 1/2. Question y: good .2, bad .2: a
    # tie, 1/2. Question z has no bad answer. Paired: (1/2 + 1/2) / 2.
    # Plain: good .9 .4 .2 .8 against bad .5 .2: wins 1+1, 0+1, 0+.5, 1+1 = 5.5 of 8.
    values, good = [0.9, 0.4, 0.5, 0.2, 0.2, 0.8], [True, True, False, True, False, True]
    found = measure_discrimination(values, good, list("xxxyyz"))
    assert found.auroc.value == pytest.approx(5.5 / 8)
    assert (found.paired_auroc.value, found.paired_auroc.n, found.auroc.n) == (0.5, 2, 6)


@given(Rows)
@settings(max_examples=50)
def test_auroc_agrees_with_scikit_learn_and_brute_force(rows):
    values, good, questions = map(list, zip(*rows, strict=True))
    found = measure_discrimination(values, good, questions)
    if len(set(good)) < 2:
        assert found.auroc.value is None
    else:
        assert found.auroc.value == pytest.approx(sklearn_metrics.roc_auc_score(good, values))
    areas = []
    for name in sorted(set(questions)):
        own = [(v, g) for v, g, q in rows if q == name]
        pairs = [(a, b) for a, g in own if g for b, h in own if not h]
        if pairs:
            areas.append(sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs))
    expected = sum(areas) / len(areas) if areas else None
    assert found.paired_auroc.value == (None if expected is None else pytest.approx(expected))


@each_case(
    ("values", "good", "lower_is_better", "auroc"),
    [
        ([0.1, 0.9], [True, False], True, (1.0, 2, 0)),
        ([0.9, None, 0.1], [True, False, False], False, (1.0, 2, 1)),
        # One kind alone cannot be told from another.
        *(([], [], False, (None, 0, 0)), ([0.5], [True], False, (None, 1, 0))),
        ([None, None], [True, True], False, (None, 0, 2)),
    ],
)
def test_auroc_leaves_out_and_counts_missing_scores(values, good, lower_is_better, auroc):
    found = measure_discrimination(values, good, lower_is_better=lower_is_better)
    assert (found.auroc.value, found.auroc.n, found.auroc.n_unscored) == auroc
    assert auroc[0] is not None or found.paired_auroc.value is None


def test_auroc_interval_resamples_questions():
    # x is told apart perfectly, y the wrong way round: xx 1, yy 0.
    found = measure_discrimination([0.9, 0.1, 0.1, 0.9], [True, False, True, False], list("xxyy"))
    assert (found.auroc.low, found.auroc.high) == (0.0, 1.0)
    assert (found.paired_auroc.low, found.paired_auroc.high) == (0.0, 1.0)
    assert measure_discrimination([0.9, 0.1], [True, False], ["x", "x"]).auroc.low is None


def test_scores_and_labels_must_be_as_many():
    with pytest.raises(InputError):
        measure_discrimination([0.5], [])
