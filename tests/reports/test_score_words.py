"""Differences of scores in words."""

from __future__ import annotations

import pytest

from ragassay.reports.display import difference_text
from ragassay.reports.text import score_name

LIKERT = (1.0, 5.0)


@pytest.mark.parametrize(
    ("difference", "scale", "text"),
    [
        (0.124, (0.0, 1.0), "+12\u00a0points"),
        (-0.5, (0.0, 1.0), "\u221250\u00a0points"),
        (-0.004, (0.0, 1.0), "0\u00a0points"),
        (-0.004, LIKERT, "0.00"),
        (-0.25, LIKERT, "\u22120.25"),
        (None, LIKERT, "n/a"),
    ],
)
def test_a_difference_has_a_sign_unless_it_is_shown_as_nothing(difference, scale, text):
    assert difference_text(difference, scale) == text


def test_what_is_compared_like_a_score_has_a_title():
    assert score_name("findings.serious") == "Answers with a serious finding"
    assert score_name("rubric.mean") == "Rubric mean"
    assert score_name("nuggets.recall") == "Nugget recall"
