"""Area under the ROC curve, plain and paired by question."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lazy import LazyModule

from ragassay.errors import InputError
from ragassay.metrics.stats.agreement import measure_discrimination

sklearn_metrics = LazyModule("sklearn.metrics")

Rows = st.lists(
    st.tuples(st.integers(0, 4), st.booleans(), st.sampled_from("xyz")), min_size=1, max_size=20
)


def test_worked_by_hand():
    # Question x: good .9 and .4, bad .5: one of two pairs won, 1/2. Question y: good .2, bad .2: a
    # tie, 1/2. Question z has no bad answer. Paired: (1/2 + 1/2) / 2.
    # Plain: good .9 .4 .2 .8 against bad .5 .2: wins 1+1, 0+1, 0+.5, 1+1 = 5.5 of 8.
    values, good = [0.9, 0.4, 0.5, 0.2, 0.2, 0.8], [True, True, False, True, False, True]
    found = measure_discrimination(values, good, list("xxxyyz"))
    assert found.auroc.value == pytest.approx(5.5 / 8)
    assert (found.paired_auroc.value, found.paired_auroc.n, found.auroc.n) == (0.5, 2, 6)


@given(Rows)
@settings(max_examples=50)
def test_agrees_with_scikit_learn_and_brute_force(rows):
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


def test_less_is_better_turns_it():
    found = measure_discrimination([0.1, 0.9], [True, False], lower_is_better=True)
    assert found.auroc.value == 1.0


def test_missing_scores_are_left_out_and_counted():
    found = measure_discrimination([0.9, None, 0.1], [True, False, False])
    assert (found.auroc.value, found.auroc.n, found.auroc.n_unscored) == (1.0, 2, 1)


@pytest.mark.parametrize("values", [[], [0.5], [None, None]])
def test_one_kind_only_is_undefined(values):
    found = measure_discrimination(values, [True] * len(values))
    assert (found.auroc.value, found.paired_auroc.value) == (None, None)


def test_intervals_resample_questions():
    # x is told apart perfectly, y the wrong way round: xx 1, yy 0.
    found = measure_discrimination([0.9, 0.1, 0.1, 0.9], [True, False, True, False], list("xxyy"))
    assert (found.auroc.low, found.auroc.high) == (0.0, 1.0)
    assert (found.paired_auroc.low, found.paired_auroc.high) == (0.0, 1.0)
    assert measure_discrimination([0.9, 0.1], [True, False], ["x", "x"]).auroc.low is None


def test_lengths_must_be_equal():
    with pytest.raises(InputError):
        measure_discrimination([0.5], [])
