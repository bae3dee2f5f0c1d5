"""Geometry of the plots of pairs: right places, little of it, and nothing silently left out."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.qa import plots
from ragassay.qa.pair_view import MarkedPart, mark_parts
from ragassay.qa.plots import (
    CELL,
    GUTTER,
    N_SHADES,
    ROW,
    draw_closest_places,
    draw_histogram,
    draw_question_heatmap,
    draw_sentence_heatmap,
)
from ragassay.records.qa import AnswerNumber, ContextMark

CELLS = re.compile(r"M(\S+) (\S+)h(\S+)v")


def cells(heatmap: plots.Heatmap) -> dict[tuple[float, float], tuple[int, float]]:
    """Return the shade and the width of each run of cells, by its place."""
    return {
        (float(x), float(y)): (shade.level, float(width))
        for shade in heatmap.shades
        for x, y, width in CELLS.findall(shade.path)
    }


class TestQuestions:
    def test_each_two_questions_have_a_cell_and_the_diagonal_none(self) -> None:
        heatmap = draw_question_heatmap([[1, 0.2, None], [0.2, 1, 0.99], [None, 0.99, 1]])
        assert heatmap is not None
        assert cells(heatmap) == {
            (GUTTER + CELL, 0): (1, CELL),
            (GUTTER, CELL): (1, CELL),
            (GUTTER + 2 * CELL, CELL): (7, CELL),
            (GUTTER + CELL, 2 * CELL): (7, CELL),
        }
        numbers = [(one.text, one.kind) for one in heatmap.labels if "." in one.text]
        assert numbers == [(".20", "cell"), (".20", "cell"), (".99", "dark"), (".99", "dark")]

    def test_one_question_has_no_map_and_many_are_cut_and_it_says_so(self) -> None:
        assert draw_question_heatmap([]) is draw_question_heatmap([[1.0]]) is None
        heatmap = draw_question_heatmap([[0.5] * 60 for _ in range(60)])
        assert heatmap is not None
        assert heatmap.note == "The first 40 of 60 questions."
        assert not [one for one in heatmap.labels if "." in one.text]


class TestSentences:
    def test_equal_neighbours_are_one_run(self) -> None:
        heatmap = draw_sentence_heatmap([[0.0, 0.0, 1.0, 0.0], []])
        assert heatmap is not None
        step = (plots.WIDTH - GUTTER) / 4
        assert cells(heatmap) == {
            (GUTTER, 0): (0, 2 * step),
            (GUTTER + 2 * step, 0): (N_SHADES - 1, step),
            (GUTTER + 3 * step, 0): (0, step),
        }
        assert (heatmap.low, heatmap.high, heatmap.note) == (0, 1, "")

    def test_a_long_paper_shows_the_most_similar_of_neighbours_and_says_so(self) -> None:
        row = [0.0] * 900
        row[450] = 1.0
        heatmap = draw_sentence_heatmap([row])
        assert heatmap is not None
        (dark,) = [place for place, (level, _) in cells(heatmap).items() if level]
        assert dark[0] == pytest.approx(GUTTER + (plots.WIDTH - GUTTER) / 2, abs=0.1)
        assert heatmap.note.startswith("900 sentences in 300 columns")

    def test_many_answers_are_cut_and_it_says_so(self) -> None:
        heatmap = draw_sentence_heatmap([[0.1, 0.2]] * 50)
        places = draw_closest_places([(0,)] * 50, 2)
        assert heatmap is not None and places is not None
        assert heatmap.note == "The first 40 of 50 answers."
        assert heatmap.height == places.height == 40 * ROW + 18
        # Without a sentence there is no map.
        assert draw_sentence_heatmap([]) is draw_sentence_heatmap([(), ()]) is None
        assert draw_closest_places([(), ()], 10) is draw_closest_places([], 0) is None

    @given(st.lists(st.lists(st.floats(-1, 1), min_size=7, max_size=7), min_size=1, max_size=4))
    def test_every_cell_is_drawn_once(self, rows: list[list[float]]) -> None:
        heatmap = draw_sentence_heatmap(rows)
        assert heatmap is not None
        widths = dict.fromkeys(range(len(rows)), 0.0)
        for (_, y), (level, width) in cells(heatmap).items():
            assert 0 <= level < N_SHADES
            widths[int(y // ROW)] += width
        assert list(widths.values()) == pytest.approx([plots.WIDTH - GUTTER] * len(rows), abs=0.5)


class TestPlaces:
    def test_a_dot_for_each_sentence_at_its_place(self) -> None:
        found = draw_closest_places([(9, 0), (), (4,)], 10)
        assert found is not None
        step = (plots.WIDTH - GUTTER) / 10
        dots = [(float(x), float(y)) for x, y in re.findall(r"M(\S+) (\S+)h0", found.path)]
        expected = [(0.5, 0.5), (9.5, 0.5), (4.5, 2.5)]
        assert dots == [(pytest.approx(GUTTER + step * x, abs=0.1), ROW * y) for x, y in expected]
        assert len(found.lines) == 9


class TestHistogram:
    def test_bars_count_and_the_last_has_both_ends(self) -> None:
        found = draw_histogram([-0.2, 0.0, 0.1, 0.3, 0.95, 1.0])
        assert found is not None
        counts = [int(bar.title.rpartition(" ")[2]) for bar in found.bars]
        assert counts == [2, 1, 0, 1, 0, 0, 0, 0, 0, 2]
        assert max(bar.height for bar in found.bars) == plots.BAR_HEIGHT
        assert found.bars[1].height == plots.BAR_HEIGHT / 2
        assert draw_histogram([]) is None


def mark(start: int, end: int) -> ContextMark:
    return ContextMark(part="answer", text="x", start=start, end=end, kind="paper")


class TestMarking:
    def test_parts_joined_are_the_text(self) -> None:
        numbers = [
            AnswerNumber(text="7", start=12, end=13, is_found=False),
            AnswerNumber(text="5", start=0, end=1, is_found=True, is_near=True),
            AnswerNumber(text="9", start=21, end=22, is_found=True),
        ]
        parts = mark_parts("5 here, but 7 there, 9.", "answer", [mark(2, 6)], numbers)
        assert [(part.text, part.kind) for part in parts] == [
            *(("5 ", ""), ("here", "context"), (", but ", ""), ("7", "number")),
            *((" there, ", ""), ("9", "look"), (".", "")),
        ]

    def test_marks_of_the_question_are_not_the_answers(self) -> None:
        assert mark_parts("this study", "question", [mark(0, 4)]) == (MarkedPart("this study"),)

    @settings(max_examples=40)
    @given(st.text(max_size=20), st.lists(st.tuples(st.integers(0, 25), st.integers(0, 25))))
    def test_places_outside_or_overlapping_lose_no_text(
        self, text: str, places: list[tuple[int, int]]
    ) -> None:
        parts = mark_parts(text, "answer", [mark(*place) for place in places])
        assert "".join(part.text for part in parts) == text
