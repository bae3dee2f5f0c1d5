"""The Markdown report keeps its shape whatever an answer contains."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from ragassay.records import Evaluation, Score, Summary
from ragassay.reports.markdown import render_markdown
from ragassay.reports.sheets import escape


@pytest.fixture(scope="module")
def page(run) -> str:
    return render_markdown(*run)


def n_cells(row: str) -> int:
    return len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) - 1


def tables_of(page: str) -> list[list[str]]:
    blocks = re.findall(r"(?:^\|.*\n?)+", page, flags=re.MULTILINE)
    return [block.splitlines() for block in blocks]


def test_every_row_has_as_many_cells_as_its_header(page):
    tables = tables_of(page)
    assert len(tables) >= 8
    for table in tables:
        assert re.fullmatch(r"\|(---:?\|)+", table[1])
        assert {n_cells(row) for row in table} == {n_cells(table[0])}


def test_untrusted_text_is_neither_html_nor_a_template_nor_an_image(page):
    tokens = MarkdownIt("commonmark").enable("table").parse(page)
    kinds = {token.type for block in tokens for token in (block, *(block.children or ()))}
    assert {"table_open", "strong_open"} <= kinds
    assert not kinds & {"html_block", "html_inline", "image", "link_open", "code_inline", "fence"}
    assert "{{" not in page


def test_headings_are_the_reports_own(page):
    own = ("ragassay: ", "Main findings", "Scores", "Systems", "Judges and models", "Answers")
    own += ("1. ", "2. ", "3. ", "Excluded input", "Models and settings of this run")
    headings = re.findall(r"^#+ (.*)$", page, flags=re.MULTILINE)
    assert len(headings) == len(own)
    assert all(heading.startswith(start) for heading, start in zip(headings, own, strict=True))


@pytest.mark.parametrize("name", ["hostile", "long", "markdown", "right_to_left"])
def test_untrusted_text_is_there(page, texts, name):
    assert escape(getattr(texts, name)) in page


def test_every_finding_is_there_twice(page, run):
    for evaluation in run.evaluations:
        for finding in evaluation.findings:
            assert page.count(escape(finding.message)) == 2


def test_unscored_has_its_reason(page):
    assert "| Informativeness | no reply in 60 s &lt;b&gt; | unscored (time-out) |" in page
    assert "| 4 | Nobody cites anything here. | unscored (time-out) |" in page
    assert "Nugget recall unscored (1 of 1 missing)" in page


def test_no_cell_is_blank_but_where_nothing_was_said(page):
    blank = [row for table in tables_of(page) for row in table if re.search(r"\|\s*\|", row)]
    assert not blank


def test_is_the_same_bytes_for_the_same_run(run, page):
    assert render_markdown(*run) == page


def test_line_breaks_controls_and_reordering_do_not_survive():
    assert escape("a\nb\r\x1b[1m\u202ec") == "a b \ufffd\\[1m\ufffdc"


def test_escapes_every_character_of_markup():
    assert escape("\\`*_{}[]|~$#<>&") == r"\\\`\*\_\{\}\[\]\|\~\$\#&lt;&gt;&amp;"


def test_an_empty_run_is_still_a_report(run):
    empty = Summary(n_records=0, n_evaluated=0, n_failed=0, n_rejected=0)
    page = render_markdown(run.manifest, empty, ())
    assert "No answers were evaluated" in page
    assert page.endswith("|\n")


def test_a_bare_evaluation_needs_nothing(run):
    bare = Evaluation(record_id="q", question="", answer="")
    assert "Not judged for this answer: rubrics." in render_markdown(*run[:2], [bare])


def test_shares_that_are_nearly_nothing_open_no_tag(run):
    score = Score(value=0.5, n=10, n_unscored=1, worst=0.0003, best=0.6)
    summary = run.summary.model_copy(update={"scores": {"citations.support": score}})
    text = render_markdown(run.manifest, summary, ())
    assert "1 (worst\xa0&lt;0.1\xa0%, best\xa060\xa0%)" in text
