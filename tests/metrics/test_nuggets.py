"""One-to-one alignment of nuggets, against all permutations, and the nuggetizer's scores."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from case_tables import each_case
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ragassay.errors import InputError
from ragassay.metrics.papers.nuggets import (
    align_greedily,
    align_optimally,
    average_credits,
    mask_repeats,
    score_assignments,
)
from ragassay.metrics.stats.intervals import f1_score
from ragassay.records import ASSIGNMENTS, Assignment, NuggetMatch


def matrices() -> st.SearchStrategy[NDArray[np.float64]]:
    def filled(shape: tuple[int, int]) -> st.SearchStrategy[NDArray[np.float64]]:
        n = shape[0] * shape[1]
        # Multiples of 1/16 add up exactly, and give ties.
        cells = st.lists(st.integers(-16, 16), min_size=n, max_size=n)
        return cells.map(lambda values: np.array(values, dtype=float).reshape(shape) / 16)

    return st.tuples(st.integers(0, 4), st.integers(0, 4)).flatmap(filled)


def best_by_force(similarity: NDArray[np.float64], threshold: float) -> float:
    """The largest sum of 1 + similarity over all one-to-one pairings."""
    n_gold, n_answer = similarity.shape
    # Gold nuggets may also stay alone: as many empty places as there are gold nuggets.
    places = [*range(n_answer), *[None] * n_gold]
    return max(
        sum(
            1 + similarity[g, a]
            for g, a in enumerate(chosen)
            if a is not None and similarity[g, a] >= threshold
        )
        for chosen in itertools.permutations(places, n_gold)
    )


def align(similarity: NDArray[np.float64], threshold: float) -> tuple[NuggetMatch, ...]:
    return align_optimally(similarity, similarity >= threshold)


def pairs(matches: tuple[NuggetMatch, ...]) -> list[tuple[int, int]]:
    return [(match.gold, match.nugget) for match in matches]


@given(matrices(), st.sampled_from([-1.0, 0.0, 0.5, 0.625, 1.0]))
def test_no_pairing_is_better(similarity: NDArray[np.float64], threshold: float):
    matches = align(similarity, threshold)
    assert sum(1 + m.similarity_score for m in matches) == pytest.approx(
        best_by_force(similarity, threshold), abs=1e-3
    )
    gold, nuggets = [m.gold for m in matches], [m.nugget for m in matches]
    assert gold == sorted(set(gold))
    assert len(set(nuggets)) == len(nuggets)
    assert all(similarity[g, a] >= threshold for g, a in pairs(matches))


@each_case(
    ("similarity", "aligned"),
    [
        # Weak pairs that count are not given up for a strong one: (0,0) alone is 1.9, the others
        # are 1.61 + 1.62 = 3.23.
        ([[0.9, 0.61], [0.62, 0.1]], [(0, 1), (1, 0)]),
        # A pair at the threshold counts.
        *(([[0.6, 0.0], [0.0, 0.0]], [(0, 0)]), ([[0.6]], [(0, 0)])),
        # Only (0,0) counts; (0,1) and (1,0) together would have the larger plain sum.
        ([[0.7, 0.59], [0.59, 0.0]], [(0, 0)]),
        # A fact told three times is credited once.
        *(([[0.9, 0.9, 0.9]], [(0, 0)]), ([[0.9], [0.9], [0.9]], [(0, 0)])),
        # An empty side has no pair.
        *((np.zeros((0, 0)), []), (np.zeros((0, 3)), []), (np.zeros((3, 0)), [])),
    ],
)
def test_alignment_worked_by_hand(similarity, aligned):
    assert pairs(align(np.array(similarity), 0.6)) == aligned


def test_similarity_is_kept():
    assert align(np.array([[0.123456]]), 0.0)[0].similarity_score == 0.1235


@each_case(
    ("precision", "recall", "expected"),
    [
        # 2 x 0.5 x 1 / 1.5
        *((0.5, 1.0, 2 / 3), (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
        *((None, 1.0, None), (1.0, None, None)),
    ],
)
def test_f1_worked_by_hand(precision: float | None, recall: float | None, expected: float | None):
    assert f1_score(precision, recall) == (None if expected is None else pytest.approx(expected))


@given(st.floats(0, 1), st.floats(0, 1))
def test_f1_lies_between_its_parts(precision: float, recall: float):
    found = f1_score(precision, recall)
    assert found is not None
    assert min(precision, recall) - 1e-9 <= found <= max(precision, recall) + 1e-9
    assert found == pytest.approx(f1_score(recall, precision))


def as_bioace_aligns(similarity: NDArray[np.float64], threshold: float) -> set[tuple[int, int]]:
    """BioACE's alignment as its program describes it: predictions in rows, gold in columns."""
    of_predictions = similarity.T
    cells = [(i, j) for i in range(of_predictions.shape[0]) for j in range(of_predictions.shape[1])]
    rows: set[int] = set()
    columns: set[int] = set()
    aligned: set[tuple[int, int]] = set()
    for i, j in sorted(cells, key=lambda cell: of_predictions[cell], reverse=True):
        if of_predictions[i, j] >= threshold and i not in rows and j not in columns:
            rows.add(i)
            columns.add(j)
            aligned.add((j, i))
    return aligned


@given(matrices(), st.sampled_from([-1.0, 0.0, 0.5, 0.625, 1.0]))
def test_greedy_alignment_is_bioaces(similarity: NDArray[np.float64], threshold: float):
    found = align_greedily(similarity, similarity >= threshold)
    assert set(pairs(found)) == as_bioace_aligns(similarity, threshold)
    assert [m.gold for m in found] == sorted(m.gold for m in found)
    assert len(found) <= len(align(similarity, threshold))


def test_optimal_alignment_finds_more_pairs_than_greedy_in_some_matrices():
    # The most similar pair takes both partners of the others.
    similarity = np.array([[0.9, 0.8], [0.7, 0.1]])
    counts = similarity >= 0.6
    assert pairs(align_greedily(similarity, counts)) == [(0, 0)]
    assert pairs(align_optimally(similarity, counts)) == [(0, 1), (1, 0)]
    assert align_greedily(np.zeros((0, 3)), np.zeros((0, 3), dtype=bool)) == ()


def test_copies_are_told_by_their_words():
    found = mask_repeats(["Pain fell.", "pain  FELL.", "Pain rose.", "Pain fell."])
    assert found.tolist() == [True, False, True, False]
    assert mask_repeats([]).tolist() == []


@given(
    matrices().filter(lambda m: m.size > 0),
    st.sampled_from([-1.0, 0.0, 0.5, 1.0]),
    st.integers(0, 3),
    st.integers(1, 3),
)
def test_precision_and_recall_are_shares_and_a_copy_never_lifts_recall(
    similarity: NDArray[np.float64], threshold: float, which: int, n_copies: int
):
    n_gold, n_answer = similarity.shape
    copied = min(which, n_answer - 1)
    texts = [f"fact {i}" for i in range(n_answer)]
    more = np.column_stack([similarity, *[similarity[:, copied]] * n_copies])
    more_texts = texts + [texts[copied].upper()] * n_copies
    before = align_optimally(similarity, (similarity >= threshold) & mask_repeats(texts))
    after = align_optimally(more, (more >= threshold) & mask_repeats(more_texts))
    assert 0 <= len(after) / n_gold <= 1
    assert 0 <= len(after) / len(more_texts) <= 1
    assert len(after) / n_gold == len(before) / n_gold
    assert len(after) / len(more_texts) <= len(before) / n_answer


def test_a_copy_takes_no_second_gold_nugget():
    # One nugget, close to both gold nuggets, told twice: one of two gold nuggets is stated.
    similarity = np.array([[0.9, 0.9], [0.8, 0.8]])
    assert len(align(similarity, 0.6)) == 2
    counts = (similarity >= 0.6) & mask_repeats(["Pain fell.", "Pain fell."])
    assert pairs(align_optimally(similarity, counts)) == [(0, 0)]


LABELS: list[Assignment | None] = ["support", "partial_support", "not_support", "support"]
VITAL = [True, True, True, False]

labels_and_importance = st.lists(
    st.tuples(st.sampled_from([*ASSIGNMENTS, None]), st.sampled_from(["vital", "okay", None])),
    max_size=12,
)


def published_scores(rows: list[dict[str, str]]) -> dict[str, float | None]:
    """The definitions of section 3.3 of arXiv 2504.15068, summed up term by term."""

    def share(chosen: list[dict[str, str]], partial: float) -> float | None:
        worth = {"support": 1.0, "partial_support": partial, "not_support": 0.0}
        return sum(worth[r["assignment"]] for r in chosen) / len(chosen) if chosen else None

    vital = [row for row in rows if row["importance"] == "vital"]
    return {
        "strict_vital": share(vital, 0.0),
        "strict_all": share(rows, 0.0),
        "vital": share(vital, 0.5),
        "all": share(rows, 0.5),
    }


def test_credits_worked_by_hand():
    # Vital: support, partial, not: 1/3 strict, (1 + 0.5)/3 otherwise.
    # All: two of four in full, and half a credit: 2/4, 2.5/4.
    wanted = {"strict_vital": 1 / 3, "strict_all": 0.5, "vital": 0.5, "all": 0.625}
    assert average_credits(LABELS, VITAL) == pytest.approx(wanted)


def test_unscored_nugget_is_left_out_of_the_score_and_in_its_bounds():
    found = score_assignments(["support", None, "partial_support"], ["vital", "vital", None], "j")
    # One of one vital nugget; had the other come out: 1/2 to 2/2.
    strict = found["nuggets.strict_vital"]
    assert (strict.value, strict.n, strict.n_unscored) == (1.0, 1, 1)
    assert (strict.worst, strict.best) == (0.5, 1.0)
    # (1 + 0.5)/2; (1 + 0 + 0.5)/3 to (1 + 1 + 0.5)/3.
    every = found["nuggets.all"]
    assert (every.value, every.worst, every.best) == (0.75, 0.5, 0.8333)
    assert every.judge == "j"


@pytest.mark.parametrize("labels", [[], [None], [None, None]])
def test_nothing_scored_is_undefined(labels: list[None]):
    assert {*average_credits(labels, [True] * len(labels)).values()} == {None}


def test_without_a_vital_nugget_there_are_no_vital_scores():
    assert average_credits(["support"], [False])["strict_vital"] is None
    assert list(score_assignments(["support"], [None], "")) == ["nuggets.strict_all", "nuggets.all"]
    assert score_assignments([], [], "") == {}


def test_unequal_lengths_are_refused():
    with pytest.raises(InputError, match="2 labels for 1 nuggets"):
        average_credits(["support", "support"], [True])
    with pytest.raises(InputError):
        score_assignments(["support"], [], "")


@given(labels_and_importance)
def test_credits_are_the_published_ones_and_lie_in_order(pairs):
    labels, importance = [p[0] for p in pairs], [p[1] for p in pairs]
    rows = [{"assignment": a, "importance": i or ""} for a, i in pairs if a is not None]
    scores = score_assignments(labels, importance, "")
    for name, wanted in published_scores(rows).items():
        score = scores.get(f"nuggets.{name}")
        found = score.value if score else None
        assert found == (None if wanted is None else pytest.approx(wanted, abs=1e-4))
    for score in scores.values():
        assert score.worst is not None and score.best is not None
        assert 0 <= score.worst <= score.best <= 1
        if score.value is not None:
            assert score.worst <= score.value <= score.best
            assert score.low is not None and score.high is not None
            assert score.low <= score.value <= score.high
    for strict, lenient in (("strict_vital", "vital"), ("strict_all", "all")):
        if f"nuggets.{strict}" in scores:
            low, high = scores[f"nuggets.{strict}"].value, scores[f"nuggets.{lenient}"].value
            assert (low is None and high is None) or low <= high  # type: ignore[operator]
