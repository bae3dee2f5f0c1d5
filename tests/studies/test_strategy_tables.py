"""The four tables of a judge asked in several ways."""

from __future__ import annotations

import csv
import io

import pytest
from rich.console import Console

from ragassay.metrics.papers.strategies import (
    RubricRobustness,
    StrategyAnswer,
    StrategyReply,
    measure_robustness,
)
from ragassay.reports.sheets import render_sheet_table
from ragassay.studies.strategy_tables import (
    build_strategy_sheets,
    build_strategy_views,
    build_study_headline,
    render_ratings_csv,
    render_strategies_csv,
    render_strategies_latex,
    render_strategies_markdown,
)

EVIL = "=cmd|<b>$x$\n[red]"
WAYS = ("zero_shot", "knowledge")


def answers() -> list[StrategyAnswer]:
    def one(question: str, people: tuple[int, ...], hint: int, *ratings: int | None):
        ways = zip((*WAYS, "perturbed"), ratings, strict=True)
        replies = {way: StrategyReply(r, EVIL if r else "") for way, r in ways}
        return StrategyAnswer(EVIL, question, people, replies, hint)

    return [
        one("a", (1, 1), 3, 1, 1, 3),
        one("b", (3, 2), 1, 3, 2, 2),
        one("c", (2,), 1, 2, 1, None),
    ]


@pytest.fixture(scope="module")
def rubrics() -> list[RubricRobustness]:
    return [
        measure_robustness("maintains_context", (1, 3), answers(), WAYS),
        measure_robustness("overall", (1, 5), [], WAYS),
    ]


def test_tables_are_those_of_the_paper(rubrics):
    views = build_strategy_views(rubrics)
    assert [sheet.title[:2] for sheet in build_strategy_sheets(rubrics)] == ["1.", "2.", "3.", "4."]
    assert views[0].columns == ("zero shot", "knowledge", "perturbed")
    assert all(len(scores) == len(view.columns) for view in views for _, scores in view.rows)
    assert [score.value for score in views[2].rows[0][1]] == [0.5, 0.5]
    assert build_strategy_views([])[0].rows == ()


def test_csv_has_every_figure_with_its_counts(rubrics):
    rows = list(csv.DictReader(io.StringIO(render_strategies_csv(rubrics, EVIL))))
    # Three alphas, two consistencies, two shares, two sentiments and one of each of two strategies.
    assert len(rows) == 2 * (3 + 2 + 2 + 2 + 2)
    unmoved = next(row for row in rows if row["column"] == "Unmoved")
    assert (unmoved["rubric"], float(unmoved["value"])) == ("maintains_context", 0.5)
    assert (unmoved["n"], unmoved["n_unscored"]) == ("2", "1")
    assert {row["value"] for row in rows if row["rubric"] == "overall"} == {""}
    assert {row["judge"][:2] for row in rows} == {"'="}


def test_csv_of_ratings_has_each_rating_with_its_reason():
    rows = list(csv.DictReader(io.StringIO(render_ratings_csv({"overall": answers()}))))
    assert len(rows) == 9
    assert [row["rating"] for row in rows] == ["1", "1", "3", "3", "2", "2", "2", "1", ""]
    assert [row["hint"] for row in rows][:3] == ["", "", "3"]
    assert rows[0]["people"] == "1 1"
    assert rows[0]["reason"].startswith("'=")
    assert (rows[8]["polarity"], rows[8]["reason"]) == ("", "")


def test_markdown_escapes_names_and_says_what_is_undefined(rubrics):
    page = render_strategies_markdown(rubrics, EVIL, 3, 5, [EVIL])
    assert "<b>" not in page and "\n[red]" not in page
    assert page.count("\n## ") == 4
    assert "| overall | 1 to 5 | n/a (n 0) |" in page
    assert ", 1 unscored" in page
    table = [line for line in page.splitlines() if line.startswith("| maintains context")]
    assert len(table) == 4
    assert page.endswith("\n")


def test_latex_is_escaped_and_has_four_tables(rubrics):
    text = render_strategies_latex(rubrics, EVIL)
    assert text.count(r"\begin{table}") == 4
    assert r"\$x\$" in text and "$x$" not in text
    assert "tab:strategies-3" in text


def test_terminal_shows_value_interval_and_n(rubrics):
    console = Console(width=80, record=True, file=io.StringIO())
    for table in build_strategy_sheets(rubrics):
        console.print(render_sheet_table(table))
    shown = console.export_text()
    assert "maintains context" in shown and "1 to 3" in shown
    assert "n/a" in shown
    assert "n 2, 1 unscored" in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 80


def test_headline_says_who_rated_how_much():
    assert build_study_headline("m", 1, 0) == "m on 1 answer with 0 human ratings"
