"""Tables as CSV, as LaTeX and on the terminal, whatever untrusted text is in them."""

from __future__ import annotations

import csv
import io

import pytest
from case_tables import each_case
from rich.console import Console

from ragassay.records import Evaluation, Score, Summary
from ragassay.reports.run_sheets import (
    build_answer_sheet,
    build_run_score_sheet,
    build_system_sheet,
)
from ragassay.reports.sheets import (
    Sheet,
    build_text_columns,
    escape_latex,
    render_csv,
    render_sheet_latex,
    render_sheet_table,
)


@each_case("text", ["=1+1", "+1", "-1", "@x", "  =1", "\t=1", "\r=1", "=\n1"])
def test_text_never_becomes_a_formula(text):
    (cell,) = list(csv.reader(io.StringIO(render_csv(["c"], [[text]]))))[1]
    assert cell.startswith("'")
    assert "\n" not in cell


def test_numbers_stay_numbers():
    row = [-0.5, -3, 1 / 3, None, True, False, "a,\"b'"]
    (cells,) = list(csv.reader(io.StringIO(render_csv(list("abcdefg"), [row]))))[1:]
    assert cells == ["-0.5", "-3", "0.333333", "", "yes", "no", "a,\"b'"]


def test_no_row_is_a_header():
    assert render_csv(["a", "b"], []) == "a,b\n"


def test_latex_is_escaped_character_by_character():
    assert escape_latex("a_b & 50\u00a0% ~^\\{}#$<") == (
        r"a\_b \& 50~\% \textasciitilde{}\textasciicircum{}\textbackslash{}\{\}\#\$\textless{}"
    )
    assert escape_latex("x\n\\end{table}\x1b") == "x \\textbackslash{}end\\{table\\}\ufffd"


def test_a_table_is_a_table_whatever_is_in_it():
    sheet = Sheet("C_d", build_text_columns("A%", "B"), (("\\input{x}", "1 & 2"),))
    text = render_sheet_latex(sheet, "tab:\\x y")
    assert r"\input" not in text
    assert r"A\% & B \\" in text
    assert r"\textbackslash{}input\{x\} & 1 \& 2 \\" in text
    assert r"\caption{C\_d.}" in text
    assert r"\label{tab:-x-y}" in text
    assert text.count("\\\\") == 2


def test_an_empty_table_is_written():
    sheet = Sheet("Nothing", build_text_columns("A", "B"), ())
    assert r"\toprule" in render_sheet_latex(sheet, "tab:none")


EMPTY = Summary(n_records=0, n_evaluated=0, n_failed=0, n_rejected=0)


def lines_of(sheet, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(render_sheet_table(sheet))
    return console.file.getvalue().splitlines()


def test_tables_fit_into_eighty_columns(run):
    systems = build_system_sheet(run.summary.systems, has_intervals=False)
    for table in (build_run_score_sheet(run.summary), systems):
        assert max(map(len, lines_of(table))) <= 80


def test_scores_show_value_interval_and_counts(run):
    lines = lines_of(build_run_score_sheet(run.summary))
    (row,) = [line.split() for line in lines if "Cohesion" in line]
    assert row == ["Cohesion", "3.40", "2.90\u20133.90", "3", "none"]
    (row,) = [line.replace("\u00a0", " ") for line in lines if "Citations support" in line]
    assert row.split()[2:] == ["53", "to", "64", "%", "n/a", "8", "1"]
    assert any("lower is better" in line for line in lines)


def test_systems_stand_in_rows(run):
    sheet = build_system_sheet(run.summary.systems, has_intervals=False)
    text = "\n".join(lines_of(sheet, width=120))
    assert "alpha" in text
    assert "3.35 (8 of 9)" in text


def test_answers_show_unscored_with_its_reason(run):
    text = "\n".join(lines_of(build_answer_sheet(run.evaluations), width=200))
    counts = {words: text.count(words) for words in ("unscored", "(1 of 1", "missing)", "(not")}
    assert counts == {"unscored": 5, "(1 of 1": 2, "missing)": 2, "(not": 2}


def test_numbers_and_ids_are_whole_in_eighty_columns(run):
    ranged = run.evaluations[0].model_copy(update={"record_id": "alpha-t1", "system": "alpha-rag"})
    lines = lines_of(build_answer_sheet([ranged, *run.evaluations]), width=80)
    assert max(map(len, lines)) <= 80
    assert any("alpha-t1" in line and "alpha-rag" in line for line in lines)


def test_markup_and_escape_sequences_of_an_id_stay_text():
    evil = Evaluation(record_id="[red]x[/red]\x1b[2J\n\u202ey", question="", answer="")
    text = "\n".join(lines_of(build_answer_sheet([evil]), width=200))
    assert "[red]x[/red]\ufffd[2J \ufffdy" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    "table", [build_run_score_sheet(EMPTY), build_system_sheet({}), build_answer_sheet([])]
)
def test_empty_input_gives_an_empty_table(table):
    assert render_sheet_table(table).row_count == 0


def test_a_range_is_not_wrapped():
    half = Score(value=None, decided=0.6, n=8, n_unscored=3, worst=0.43, best=0.71)
    keys = ("nuggets.recall", "citations.support", "correctness.score")
    long = Evaluation(
        record_id="a-long-name-" * 5,
        system="another-long-name-" * 3,
        question="",
        answer="",
        scores=dict.fromkeys(keys, half),
    )
    lines = lines_of(build_answer_sheet([long]))
    assert sum(line.count("43\u00a0to\u00a071\u00a0%") for line in lines) == 3
    assert max(map(len, lines)) <= 80
