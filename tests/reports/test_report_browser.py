"""The report in headless Chromium: found by words, opened by clicks and keys, read by everybody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import browse, chromium, expect, overflow, serious_faults, until  # noqa: F401

from ragassay.metrics.stats.summary import summarize
from ragassay.records import Document
from ragassay.reports.html import render_html

pytestmark = pytest.mark.browser
N = 61


@pytest.fixture(scope="module")
def page_file(run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of many answers, every second one with findings."""
    first, second, _ = run.evaluations
    painter = Document(id="PMID 7", text="Nobody but a painter was asked.", title="Painters")
    evaluations = [
        (first, second)[n % 2].model_copy(
            update={
                "record_id": f"q{n}",
                "sources": (*first.sources, painter) if n == 40 else first.sources,
                "system": "alpha" if n % 3 else "beta",
            }
        )
        for n in range(N)
    ]
    summary = summarize(evaluations, N, 0, 0)
    path = tmp_path_factory.mktemp("pages") / "report.html"
    path.write_text(render_html(run.manifest, summary, evaluations), encoding="utf-8")
    return path


@pytest.fixture
def report(page_file: Path, browse: Callable[..., Any]) -> Callable[..., Any]:  # noqa: F811
    """Open the report at a state."""

    def open_at(state: str = "", **options: Any) -> Any:
        page = browse(f"file://{page_file}{state}", **options)
        until(page, "document.body.dataset.shown !== undefined")
        return page

    return open_at


def count(page: Any, words: str) -> None:
    until(page, f"document.getElementById('count').textContent === {words!r}")


def opened(page: Any, record: str) -> None:
    until(page, f"document.querySelector('#reader .kicker bdi')?.textContent === {record!r}")


def test_a_word_of_a_source_finds_its_answer_and_is_marked_in_it(report):
    page = report()
    page.fill("#q", "PAINTER asked")
    count(page, "1 of 61 answers")
    page.click("#list tbody a")
    opened(page, "q40")
    until(page, "CSS.highlights.get('found').size === 3")
    page.fill("#q", "<img src=https://e.x")
    count(page, "61 of 61 answers")
    page.fill("#q", "class=said")
    count(page, "0 of 61 answers")
    page.click("#clear")
    count(page, "")


def test_a_finding_leads_to_its_sentence_beside_its_source(report):
    page = report()
    page.click("#primary .what a")
    opened(page, "q0")
    expect(page.locator("a.s[aria-current]")).to_have_attribute("data-s", "2")
    expect(page.locator(".pane:not([hidden])")).to_have_attribute("data-s", "2")
    page.click("a.s[data-s='1']")
    until(page, "document.querySelector('.pane:not([hidden])').dataset.s === '1'")
    assert "answer=1" in page.url and "s=1" in page.url
    page.click(".pane:not([hidden]) .place")
    expect(page.locator(".source[open]")).to_have_count(1)
    until(page, "CSS.highlights.get('passage').size === 1")


def test_findings_and_answers_are_filtered_and_sorted_together(report):
    page = report()
    expect(page.locator("#primary > li")).to_have_count(10)
    page.click("#primary-more")
    until(page, "document.querySelectorAll('#primary > li').length === 20")
    page.click(".filters summary")
    page.select_option("[name=kind]", "invalid_citation")
    count(page, "31 of 61 answers")
    titles = page.locator("#primary .what b").all_inner_texts()
    assert set(titles) == {"Invalid citation"}
    page.select_option("[name=system]", "beta")
    count(page, "11 of 61 answers")
    page.select_option("[name=kind]", "")
    page.select_option("[name=state]", "none")
    count(page, "10 of 61 answers")
    page.click("#clear")
    page.fill("[name=from]", "3")
    count(page, "31 of 61 answers")
    page.select_option("[name=sort]", "low")
    until(page, "location.hash.includes('sort=low')")
    expect(page.locator("#list th[aria-sort=ascending]")).to_have_text("Rubric mean")


def test_a_state_is_a_link_and_a_strange_one_does_no_harm(report):
    page = report("#system=beta&page=1&answer=1&s=3")
    opened(page, "q0")
    expect(page.locator(".pane:not([hidden])")).to_have_attribute("data-s", "3")
    expect(page.locator("#reader > nav")).to_contain_text("1 of 21")
    page = report("#answer=9999&state=__proto__&sort=constructor&score=x&page=-4")
    expect(page.locator("#list tbody tr")).to_have_count(25)


def test_keys_go_through_answers_and_marks(report):
    page = report()
    page.keyboard.press("j")
    opened(page, "q0")
    page.keyboard.press("j")
    opened(page, "q1")
    page.keyboard.press("k")
    opened(page, "q0")
    page.keyboard.press("p")
    expect(page.locator(".pane:not([hidden])")).to_have_attribute("data-s", "2")
    page.keyboard.press("/")
    page.keyboard.type("j")
    count(page, "61 of 61 answers")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    until(page, "!document.getElementById('list').hidden")


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, {"width": 400}])
@pytest.mark.parametrize("state", ["", "#answer=1"])
def test_everybody_can_read_it_and_it_fits(report, options, state):
    page = report(state, **options)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert serious_faults(page) == []
    assert overflow(page) == 0


def test_printed_it_has_what_was_listed(report):
    page = report("#q=painter")
    count(page, "1 of 61 answers")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    expect(page.locator("#print .answer")).to_have_count(1)
    expect(page.locator("#print .pane")).to_have_count(4)
    expect(page.locator("#print .pane:visible")).to_have_count(4)
    expect(page.locator("#tools")).to_be_hidden()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator("#print .answer")).to_have_count(0)


def test_without_its_script_it_shows_what_is_wrong_and_where_the_rest_is(
    run,
    browse,  # noqa: F811
    tmp_path,
):
    path = tmp_path / "report.html"
    path.write_text(render_html(*run), encoding="utf-8")
    page = browse(f"file://{path}", java_script_enabled=False)
    expect(page.locator("#primary > li")).to_have_count(6)
    expect(page.locator("noscript p")).to_be_visible()
    expect(page.locator("#tools")).to_be_hidden()
