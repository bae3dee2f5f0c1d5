"""Leaderboards by labels of passages."""

from __future__ import annotations

import dataclasses
import io

import pytest
from rich.console import Console

from ragassay.errors import InputError
from ragassay.metrics.papers.retrieval import alpha_ndcg, run_values
from ragassay.metrics.stats.correlation import kendall_tau, spearman_rho
from ragassay.records import Score
from ragassay.reports.sheets import list_sheet_rows, render_sheet_table
from ragassay.workbench.evaluation_tables import build_board_sheet
from ragassay.workbench.leaderboards import build_board, build_rubric_boards

LABELS = {"q": {"a": 5, "b": 4, "c": 0}, "r": {"x": 4}, "s": {"y": 3}}
RANKINGS = {
    "good": {"q": {"a": 1, "b": 2}, "r": {"x": 1}},
    "bad": {"q": {"c": 1, "new": 2, "b": 3}, "r": {"x": 1}},
    "half": {"q": {"a": 1}},
}


def test_worked_by_hand() -> None:
    (found,) = build_rubric_boards(LABELS, RANKINGS, ["RR"], level=4, skips_empty=True)
    # s has no label of 4 or more. good: 1 and 1; bad: 1/3 and 1; half: 1 and, for r, 0.
    rows = {row.system: row for row in found.rows}
    assert [(row.system, row.rank) for row in found.rows] == [("good", 1), ("bad", 2), ("half", 3)]
    assert rows["bad"].score.value == pytest.approx((1 / 3 + 1) / 2)
    assert rows["half"].score.value == 0.5
    assert {row.score.n for row in found.rows} == {2}
    # Deviation of (1/3, 1) is sqrt(2)/3, by sqrt(2): 1/3.
    assert rows["bad"].score_se == pytest.approx(1 / 3)
    assert {name: row.n_unlabelled for name, row in rows.items()} == {
        "good": 0,
        "bad": 1,
        "half": 0,
    }
    assert found.correlation is None


def test_the_level_says_what_is_relevant_unless_the_measure_does() -> None:
    measures = ["P@2", "P(rel=5)@2", "nDCG@5"]
    boards = build_rubric_boards(LABELS, RANKINGS, measures, level=4, skips_empty=True)
    values = {one.measure: {row.system: row.score for row in one.rows} for one in boards}
    # P@2 of good: q 2 of 2, r 1 of 2.
    assert values["P@2"]["good"].value == pytest.approx(0.75)
    # Only q has a label of 5.
    assert (values["P(rel=5)@2"]["good"].value, values["P(rel=5)@2"]["good"].n) == (0.5, 1)
    # nDCG takes gains, whatever the level: s, which good does not rank, counts as 0.
    assert values["nDCG@5"]["good"].value == pytest.approx(2 / 3)


def test_equal_means_share_a_rank_whatever_they_were_summed_from() -> None:
    values = {"a": {"q": 0.1, "r": 0.2, "s": 0.3}, "b": {"q": 0.3, "r": 0.2, "s": 0.1}, "c": {}}
    found = build_board("RR", values)
    assert [(row.system, row.rank) for row in found.rows] == [("a", 1), ("b", 1), ("c", None)]


def test_correlation_with_an_official_leaderboard() -> None:
    values = {name: {"q": value} for name, value in zip("abcd", (0.9, 0.5, 0.5, 0.1), strict=True)}
    official = {"a": -1.0, "b": -2.0, "c": -3.0, "elsewhere": -4.0}
    found = build_board("RR", values, official)
    assert found.only_official == ("elsewhere",)
    assert found.correlation is not None
    # d has no official rank. tau-b of (.9, .5, .5) and (-1, -2, -3): of three pairs two agree and
    # one is tied in the first: 2 / sqrt(2 * 3).
    kendall = found.correlation.kendall
    assert kendall.value == pytest.approx(2 / 6**0.5)
    assert (kendall.n, kendall.n_unscored) == (3, 2)
    assert kendall.value == kendall_tau([0.9, 0.5, 0.5], [-1, -2, -3])
    assert found.correlation.spearman.value == spearman_rho([0.9, 0.5, 0.5], [-1, -2, -3])
    assert {row.system: row.official for row in found.rows}["d"] is None


def test_items_are_subtopics_of_alpha_ndcg() -> None:
    subtopics = {"q": {"a": {"1", "2"}, "b": {"3"}, "c": set[str]()}, "r": {"x": set[str]()}}
    (found,) = build_rubric_boards(LABELS, RANKINGS, ["alpha_nDCG@2"], level=4, subtopics=subtopics)
    rows = {row.system: row.score for row in found.rows}
    assert rows["bad"].value == alpha_ndcg(["c", "new", "b"], subtopics["q"], 2) == 0.0
    assert (rows["good"].value, rows["good"].n) == (1.0, 1)
    # Without items a relevant passage has one subtopic, its query.
    (plain,) = build_rubric_boards(LABELS, RANKINGS, ["alpha_nDCG(alpha=0.5)@2"], level=4)
    assert {row.score.n for row in plain.rows} == {2}


@pytest.mark.parametrize("name", ["nope@3", "nDCG@x", "ERR_IA@20", "P", "RR(foo=2)"])
def test_a_measure_that_cannot_be_computed_is_the_users_mistake(name: str) -> None:
    with pytest.raises(InputError, match="measure"):
        build_rubric_boards(LABELS, RANKINGS, [name])


def test_no_relevant_passage_is_no_mean() -> None:
    labels = {"q": {"a": 0}}
    (found,) = build_rubric_boards(labels, RANKINGS, ["RR"], skips_empty=True)
    assert {row.score.value for row in found.rows} == {None}
    # Unless it counts as 0, as in trec_eval.
    (found,) = build_rubric_boards(labels, RANKINGS, ["RR"])
    assert {(row.score.value, row.score.n) for row in found.rows} == {(0.0, 1)}
    assert build_rubric_boards(LABELS, {}, ["RR"])[0].rows == ()


def test_values_of_several_runs_are_those_of_each() -> None:
    runs = {name: {q: {p: -float(r) for p, r in ranks.items()} for q, ranks in of.items()}
            for name, of in RANKINGS.items()}  # fmt: skip
    together = run_values(LABELS, runs, ["AP", "RR"], 4)
    for name, run in runs.items():
        alone = run_values(LABELS, {name: run}, ["AP", "RR"], 4)
        for measure, by_run in alone.items():
            assert together[measure][name] == by_run[name]


def test_two_names_of_one_measure_have_its_values() -> None:
    runs = {"good": {"q": {"a": 1.0}}}
    found = run_values(LABELS, runs, ["RR", "RR(rel=4)"], 4)
    assert found["RR"] == found["RR(rel=4)"] == {"good": {"q": 1.0, "r": 0.0, "s": 0.0}}


def test_a_mean_of_which_only_the_range_is_known_shows_that_on_the_terminal() -> None:
    (found,) = build_rubric_boards(LABELS, RANKINGS, ["RR"], level=4, skips_empty=True)
    half = Score(value=None, decided=0.5, n=4, n_unscored=4, worst=0.25, best=0.75)
    rows = (dataclasses.replace(found.rows[0], score=half), *found.rows[1:])
    sheet = build_board_sheet(dataclasses.replace(found, rows=rows))
    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(render_sheet_table(sheet))
    assert "0.250\u00a0to\u00a00.750" in console.file.getvalue()
    # A file has both ends in columns of their own.
    row = list_sheet_rows(sheet)[0]
    assert (row["score"], row["score_worst"], row["score_best"]) == (None, 0.25, 0.75)
