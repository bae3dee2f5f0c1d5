"""Matrices as tables, pages and heatmaps, and the choice of answers."""

from __future__ import annotations

import html
import io
import json
import math
import xml.etree.ElementTree as ElementTree

import pytest
from case_tables import each_case
from rich.console import Console

from ragassay.errors import InputError
from ragassay.metrics.stats.aggregates import Matrix
from ragassay.records import Record, Score
from ragassay.reports.sheets import render_sheet_table
from ragassay.studies.matrix_tables import (
    build_matrix_fields,
    build_matrix_sheet,
    build_self_preference_sheet,
    describe_self_preference,
    describe_verdict,
    draw_matrix,
    render_matrices_csv,
    render_matrices_latex,
    render_matrices_page,
    select_records,
)
from ragassay.studies.ratings import SelfPreference

SCRIPT, MATHEMATICS = "<script>alert(1)</script>", "$\\frac{1}{"
NONE = Score(value=None, n=0, n_unscored=4, scale=(1.0, 5.0))


def score(value, scale=(1.0, 5.0), **fields):
    ends = {"low": value - 0.5, "high": value + 0.5} | fields
    return Score(value=value, n=8, scale=scale, **ends)


def matrix(*cells, names=("a", "b"), **fields):
    found = {
        "key": "all", "title": "Mean rating", "rows": names, "columns": names, "cells": cells,
        "row_title": "judge", "column_title": "system", "unit": "ratings", "n_questions": 4,
        "own": frozenset({(0, 0), (1, 1)}),
    }  # fmt: skip
    return Matrix(**(found | fields))


RATED = matrix((score(4.5), score(3.0)), (score(2.0), NONE))


def shown(table) -> str:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(render_sheet_table(table))
    return console.export_text()


def test_a_cell_shows_its_range_where_no_more_is_known():
    half = Score(value=None, decided=2.5, n=4, n_unscored=4, worst=1.75, best=3.75, scale=(1, 5))
    known = matrix((score(4.5), half), (score(2.0), NONE))
    assert "1.75\u00a0to\u00a03.75" in shown(build_matrix_sheet(known))
    for text in (
        render_matrices_latex([known]),
        render_matrices_page("M", [(known, "")]),
        draw_matrix(known),
    ):
        assert "1.75" in text and "3.75" in text


def test_the_table_shows_mean_interval_and_what_is_unscored():
    text = " ".join(shown(build_matrix_sheet(RATED)).split())
    for part in ("4.50", "4.00\u20135.00", "n/a", "4 unscored", "4 of 28 ratings are unscored"):
        assert part in text


def test_a_mean_has_the_decimals_of_its_scale():
    found = matrix((score(0.25, (0.0, 1.0), low=0.1, high=0.3),), names=("a",))
    assert "0.250" in shown(build_matrix_sheet(found))
    unbounded = matrix((score(2.25, (0.0, math.inf)),), names=("a",))
    assert "2.25" in shown(build_matrix_sheet(unbounded))


def test_csv_has_a_row_for_each_cell():
    lines = render_matrices_csv([RATED, RATED]).splitlines()
    assert len(lines) == 1 + 2 * 4
    assert lines[1] == "all,a,a,yes,4.5,4.0,5.0,,,8,0,ratings"
    assert lines[4] == "all,b,b,yes,,,,,,0,4,ratings"


def test_latex_aligns_numbers_right_of_one_column_of_names():
    text = render_matrices_latex([RATED])
    assert r"\begin{tabular}{lrr}" in text
    assert "4.50 [4.00--5.00]" in text


def test_json_is_finite():
    fields = build_matrix_fields(matrix((score(2.0, (0.0, math.inf)),), names=("a",)))
    assert "Infinity" not in json.dumps(fields)


def test_hostile_names_are_text_in_a_page_that_loads_nothing_and_in_a_heatmap():
    found = matrix((score(4.5), score(3.0)), (score(2.0), NONE), names=(SCRIPT, MATHEMATICS))
    drawing = draw_matrix(found)
    assert "<script" not in drawing and drawing == draw_matrix(found)
    assert "".join(ElementTree.fromstring(drawing).itertext()).count(MATHEMATICS) == 2
    page = render_matrices_page("Title", [(found, drawing)], ["a note"])
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "default-src 'none'" in html.unescape(page)
    assert "http://" not in page and "https://" not in page
    assert "a note." in page


@pytest.mark.parametrize("cells", [((NONE, NONE), (NONE, NONE)), ((score(3.0),) * 2,) * 2])
def test_a_heatmap_of_nothing_and_of_equal_cells_is_drawn(cells):
    assert "Mean rating" in draw_matrix(matrix(*cells))


def white_texts(matrix_of: Matrix) -> list[str | None]:
    root = ElementTree.fromstring(draw_matrix(matrix_of))
    texts = [element for element in root.iter() if element.tag.endswith("}text")]
    return [text.text for text in texts if "#ffffff" in text.get("style", "")]


def test_a_reflexive_matrix_shades_what_is_beside_the_diagonal():
    cells = [[score(value, (0.0, 1.0)) for value in row] for row in ((1.0, 0.2), (0.1, 1.0))]
    # White letters stand on dark cells.
    assert white_texts(matrix(*cells)) == ["1.000", "1.000"]
    assert white_texts(matrix(*cells, is_reflexive=True)) == ["0.200"]
    assert white_texts(matrix(*cells, is_reflexive=True, lower_is_better=True)) == ["0.100"]


def preference(low, high, *against) -> SelfPreference:
    excess = score((low + high) / 2, low=low, high=high)
    return SelfPreference(
        "J", ("a",), score(0.5), score(0.2), excess,
        tuple((name, score(0.0, low=lo, high=hi)) for name, lo, hi in against),
    )  # fmt: skip


@each_case(
    ("found", "words"),
    [
        (preference(0.1, 0.5), "prefers its own answers by 0.30"),
        (preference(-0.5, -0.1), "rates its own answers lower by 0.30"),
        (preference(-0.1, 0.5), "no self-preference found"),
        (
            preference(0.1, 0.5, ("b", 0.1, 0.2), ("c", -0.1, 0.2)),
            "prefers its own answers by 0.30, also when compared only with b",
        ),
        (
            preference(0.1, 0.5, ("b", 0.1, 0.2), ("c", 0.1, 0.2)),
            "prefers its own answers by 0.30, also when compared separately with b and c",
        ),
        (
            preference(0.1, 0.5, ("b", -0.1, 0.2), ("c", -0.1, 0.2)),
            "prefers its own answers by 0.30 on average, "
            "but this is not certain for any single system",
        ),
    ],
)
def test_verdicts_in_words(found, words):
    assert describe_verdict(found) == words
    assert words.split(",")[0] in shown(build_self_preference_sheet([found]))
    assert describe_self_preference(found).startswith(f"J: {words} (it rates a +0.50")


def test_a_verdict_that_cannot_be_had_says_so():
    found = SelfPreference("J", ("a",), NONE, NONE, NONE)
    assert describe_self_preference(found).startswith("J (a): unknown, because")
    assert "n/a" in shown(build_self_preference_sheet([found]))


def record(identifier, system=None, **metadata):
    return Record(id=identifier, question="Q?", answer="A.", system=system, metadata=metadata)


RECORDS = (
    record("a", "x", variant="benign"),
    record("b", "y", variant="subtle"),
    record("c", variant="benign"),
    record("d", "x"),
)


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ((), "abcd"),
        (["variant=benign"], "ac"),
        (["variant=benign", "system=x"], "a"),
        (["variant=benign", "variant=subtle"], "abc"),
        (["id=d"], "d"),
    ],
)
def test_values_of_a_field_are_alternatives_and_fields_must_all_fit(where, kept):
    assert [r.id for r in select_records(RECORDS, where)] == list(kept)


def test_a_value_may_hold_an_equals_sign():
    assert select_records([record("a", formula="x=1")], ["formula=x=1"])


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("variant", "FIELD=VALUE"),
        ("=benign", "FIELD=VALUE"),
        ("colour=red", "no answer has the field 'colour'; use one of id, system, variant"),
        ("variant=wild", "none of 4 answers has variant=wild"),
    ],
)
def test_what_chooses_nothing_is_refused(where, problem):
    with pytest.raises(InputError, match=problem):
        select_records(RECORDS, [where])
