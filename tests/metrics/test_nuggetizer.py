"""The nuggetizer's four scores: by hand, against its own arithmetic, and their bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.errors import InputError
from ragassay.metrics.papers.nuggets import average_credits, score_assignments
from ragassay.records import ASSIGNMENTS, Assignment, Importance

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


def test_scores_worked_by_hand() -> None:
    # Vital: support, partial, not: 1/3 strict, (1 + 0.5)/3 otherwise.
    # All: two of four in full, and half a credit: 2/4, 2.5/4.
    wanted = {"strict_vital": 1 / 3, "strict_all": 0.5, "vital": 0.5, "all": 0.625}
    assert average_credits(LABELS, VITAL) == pytest.approx(wanted)


def test_unscored_nugget_is_left_out_of_the_score_and_in_its_bounds() -> None:
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
def test_nothing_scored_is_undefined(labels: list[None]) -> None:
    assert {*average_credits(labels, [True] * len(labels)).values()} == {None}


def test_without_a_vital_nugget_there_are_no_vital_scores() -> None:
    assert average_credits(["support"], [False])["strict_vital"] is None
    assert list(score_assignments(["support"], [None], "")) == ["nuggets.strict_all", "nuggets.all"]
    assert score_assignments([], [], "") == {}


def test_unequal_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="2 labels for 1 nuggets"):
        average_credits(["support", "support"], [True])
    with pytest.raises(InputError):
        score_assignments(["support"], [], "")


@given(labels_and_importance)
def test_scores_are_the_published_ones_and_lie_in_order(
    pairs: list[tuple[Assignment | None, Importance | None]],
) -> None:
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
