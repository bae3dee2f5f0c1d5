"""Plots: the same bytes each time, names as text."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ElementTree

import pytest
from answers import answer

from ragassay.metrics.stats.calibration import measure_calibration
from ragassay.metrics.stats.leaderboard import Leaderboard, LeaderboardRow, rank_systems
from ragassay.records import Score
from ragassay.reports.figures import (
    plot_confusion,
    plot_curves,
    plot_intervals,
    plot_ranking,
    plot_reliability,
)

SCRIPT, MATHEMATICS = "<script>alert(1)</script>", "$\\frac{1}{"
NAMES = (SCRIPT, MATHEMATICS, "\u4e2d\u6587 \u0639", "a\x1bb\ufffe", "n" * 200)
OPEN = Score(value=None, decided=0.5, n=4, n_unscored=4, worst=0.25, best=0.75)
POINTS = {1: Score(value=0.2, n=3, low=0.1, high=0.4), 2: Score(value=None, n=0)}
TIMES_NAMED = {"interval": 1, "reliability": 0, "confusion": 2, "ranking": 1, "curve": 1}


def plots(*names: str) -> dict[str, str]:
    run = [answer(topic=t, scores={"nuggets.recall": 0.5}) for t in "ab"]
    systems = dict.fromkeys(names, run)
    return {
        "interval": plot_intervals(rank_systems(systems, "nuggets.recall")),
        "reliability": plot_reliability(
            names[0], measure_calibration([0.3, 0.9], [False, True]).bins
        ),
        "confusion": plot_confusion(names[0], names, [[1] * len(names)] * len(names)),
        "ranking": plot_ranking(names[0], dict.fromkeys(names, 0.5), dict.fromkeys(names, 0.2)),
        "curve": plot_curves(names[0], "k", "share", {name: POINTS for name in names}),
    }


@pytest.mark.parametrize("kind", TIMES_NAMED)
def test_hostile_names_are_text_in_well_formed_svg(kind):
    text = plots(*NAMES)[kind]
    root = ElementTree.fromstring(text)
    assert "<script" not in text
    assert "".join(root.itertext()).count(MATHEMATICS) == TIMES_NAMED[kind]


def test_the_same_input_gives_the_same_bytes_without_a_date():
    first, again = plots("a", "b"), plots("a", "b")
    assert first == again
    assert all("<dc:date>" not in text for text in first.values())


def test_long_names_are_cut():
    assert "n" * 41 not in plots(*NAMES)["interval"]


def test_a_leaderboard_shows_the_range_of_a_mean_that_is_not_known():
    row = LeaderboardRow("open", OPEN, 4, None, None, None, ())
    text = plot_intervals(Leaderboard("citations.support", False, (row,), (), 4, 4))
    assert ">open<" in text and "stroke-dasharray" in text and "dashed: range of a mean" in text
    known = dataclasses.replace(row, score=POINTS[1])
    assert "dashed" not in plot_intervals(Leaderboard("n", False, (known,), (), 4, 4))


def test_nothing_to_plot_is_an_empty_plot():
    for text in (
        plot_intervals(rank_systems({"a": []}, "nuggets.recall")),
        plot_reliability("t", measure_calibration([], []).bins),
        plot_confusion("t", ["a", "b"], [[0, 0], [0, 0]]),
        plot_ranking("t", {}, {}),
        plot_curves("t", "k", "share", {}),
    ):
        assert ElementTree.fromstring(text).tag.endswith("svg")
