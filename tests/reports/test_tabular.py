"""CSV and LaTeX of untrusted names."""

from __future__ import annotations

import csv
import io

from case_tables import each_case

from ragassay.reports.sheets import (
    Sheet,
    build_text_columns,
    escape_latex,
    render_csv,
    render_sheet_latex,
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
    text = render_sheet_latex(
        Sheet("C_d", build_text_columns("A%", "B"), (("\\input{x}", "1 & 2"),)), "tab:\\x y"
    )
    assert r"\input" not in text
    assert r"A\% & B \\" in text
    assert r"\textbackslash{}input\{x\} & 1 \& 2 \\" in text
    assert r"\caption{C\_d.}" in text
    assert r"\label{tab:-x-y}" in text
    assert text.count("\\\\") == 2


def test_an_empty_table_is_written():
    assert r"\toprule" in render_sheet_latex(
        Sheet("Nothing", build_text_columns("A", "B"), ()), "tab:none"
    )
