"""The perturbed rating of equation 1."""

from __future__ import annotations

import statistics

import pytest
from case_tables import each_case
from hypothesis import example, given
from hypothesis import strategies as st

from ragassay.errors import InputError
from ragassay.perturbations import find_mode_rating, invert_rating

RATINGS = st.lists(st.integers(1, 5), min_size=1, max_size=7)


@given(RATINGS)
@example([4])
@example([2, 2, 5])
@example([1, 3, 4])  # All differ: the highest, as in the paper.
@example([5, 1, 1, 3, 3])  # The highest of the modes, not of all.
def test_the_mode_is_the_highest_of_the_modes(ratings: list[int]):
    assert find_mode_rating(ratings) == max(statistics.multimode(ratings))


@each_case(
    ("ratings", "low", "high", "extreme", "mirror"),
    [
        # The mirror is low + high - mode: 1 + 5 - 1, 1 + 5 - 2.
        ([1, 1, 2], 1, 5, 5, 5),
        ([2, 2, 5], 1, 5, 5, 4),
        # 3 is the middle of 1 to 5, and counts as low.
        ([3, 3, 3], 1, 5, 5, 3),
        ([4, 4, 1], 1, 5, 1, 2),
        ([5, 5, 5], 1, 5, 1, 1),
        # The scales of USR: 0 to 1 and 1 to 3.
        ([0, 0, 1], 0, 1, 1, 1),
        ([1, 1, 0], 0, 1, 0, 0),
        ([2, 2, 3], 1, 3, 3, 2),
        ([3, 3, 1], 1, 3, 1, 1),
        # All differ: the mode is 3, which is high.
        ([1, 2, 3], 1, 3, 1, 1),
    ],
)
def test_the_mode_is_turned_over_or_mirrored(
    ratings: list[int], low: int, high: int, extreme: int, mirror: int
):
    assert invert_rating(ratings, low, high) == extreme
    assert invert_rating(ratings, low, high, "mirror") == mirror


@given(RATINGS)
def test_it_is_an_end_of_the_scale_far_from_the_mode_or_its_mirror_image(ratings: list[int]):
    mode, perturbed = find_mode_rating(ratings), invert_rating(ratings, 1, 5)
    assert perturbed in (1, 5)
    assert abs(perturbed - mode) >= 2
    mirrored = invert_rating(ratings, 1, 5, "mirror")
    assert invert_rating([mirrored], 1, 5, "mirror") == mode
    # Both readings agree at the ends of a scale.
    assert mode not in (1, 5) or mirrored == perturbed


def test_ratings_that_cannot_be_are_named():
    with pytest.raises(InputError, match="at least one rating"):
        find_mode_rating([])
    with pytest.raises(InputError, match="Rating 6 is outside the scale of 1 to 5"):
        invert_rating([3, 6], 1, 5)
    with pytest.raises(InputError, match="Invalid scale of 5 to 1"):
        invert_rating([3], 5, 1)
