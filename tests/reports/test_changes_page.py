"""The page of what changed: its words, its safety, and itself in headless Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from answers import answer
from browsing import browse, chromium, expect, overflow, serious_faults, until  # noqa: F401
from lxml import html
from pages import check_well_formed, unpacked

from ragassay.metrics.stats.changes import Change, find_changes
from ragassay.records import AnswerSentence, Evaluation, Finding
from ragassay.reports.answer_changes import view_answer_change
from ragassay.reports.changes import describe_outcome, render_changes_html, view_change

RECALL, COHESION = "nuggets.recall", "rubric.cohesion"


def said(
    number: int, recall: float, *texts: str, findings: tuple[Finding, ...] = (), **fields: Any
) -> Evaluation:
    sentences = tuple(
        AnswerSentence(index=i, text=text, start=0, end=1) for i, text in enumerate(texts, 1)
    )
    given = {"sentences": sentences, "findings": findings, "scores": {RECALL: recall}}
    return answer(f"r{number}", f"t{number}", **given | fields)


def change_of(
    old: list[Evaluation], new: list[Evaluation], names: tuple[str, str] = ("old", "new")
) -> Change:
    (change,) = find_changes(
        (names[0], old),
        [(names[1], new)],
        ("findings.serious", RECALL),
        lambda finding: finding.kind == "contradicted_citation",
    )
    return change


def contradicted(sentence: int = 1) -> Finding:
    message = f"Sentence {sentence} is contradicted."
    return Finding(kind="contradicted_citation", message=message, sentence=sentence)


def many(n: int) -> Change:
    """Every third answer is worse by a finding, every third better by its score."""
    old = [said(i, 0.5, f"Drug {i} lowers pressure by 5 mm.", "It is safe.") for i in range(n)]
    new = [
        said(
            i,
            0.5 if i % 3 else 0.9,
            f"Drug {i} lowers pressure by {6 if i % 3 == 1 else 5} mm.",
            "It is safe.",
            findings=(contradicted(),) if i % 3 == 1 else (),
        )
        for i in range(n)
    ]
    return change_of(old, new)


def rows_of(page: str) -> list[str]:
    """The packed rows of a page."""
    return unpacked(page)["answers"]


def words_of(markup: str) -> str:
    return " ".join(html.document_fromstring(markup).text_content().split())


def test_the_outcome_is_said_in_a_sentence():
    falls = [said(i, 0.9) for i in range(8)], [said(i, 0.4) for i in range(8)]
    assert describe_outcome(change_of(*falls)) == (
        "new is worse than old on 1 of 2 scores and better on none; 8 of 8 answers got worse and "
        "none got better."
    )
    assert describe_outcome(change_of(*reversed(falls))) == (
        "new is better than old on 1 of 2 scores and worse on none; none of 8 answers got worse "
        "and 8 got better."
    )
    assert describe_outcome(many(3)).startswith(
        "new and old differ significantly on none of 2 scores; 1"
    )
    assert describe_outcome(change_of([said(1, 0.5)], [said(2, 0.5)])) == (
        "There is no question that both new and old answer."
    )


def test_a_score_is_drawn_with_better_on_the_right():
    findings, recall = view_change(change_of(*_worse_and_lower())).lines
    assert (recall.old, recall.new) == ("90\u00a0%", "40\u00a0%")
    assert recall.x is not None
    assert findings.x is not None
    assert recall.x < 120
    # More answers with findings are worse: to the left too, though the number rises.
    assert findings.x < 120
    assert findings.difference == "+100\u00a0points"


def _worse_and_lower() -> tuple[list[Evaluation], list[Evaluation]]:
    new = [said(i, 0.4, "A.", findings=(contradicted(),)) for i in range(8)]
    return [said(i, 0.9, "A.") for i in range(8)], new


def test_few_questions_are_said_to_be_too_few():
    assert view_change(many(3)).notes == (
        "With 3 questions and 2 scores, no difference can be significant.",
    )


def test_answers_are_shown_side_by_side_with_the_words_that_changed():
    change = many(2)
    view = view_answer_change(change.answers[0], change)
    (first, second) = view.new.sentences
    assert [(text, mark) for text, mark in first.parts] == [
        ("Drug 1 lowers pressure by", ""),
        ("6", "ins"),
        ("mm.", ""),
    ]
    assert (first.state, first.is_same) == ("new", False)
    assert ("5", "del") in view.old.sentences[0].parts
    assert second.is_same
    (card,) = view.appeared
    assert "".join(piece.text for piece in card.pieces) == "Drug 1 lowers pressure by 6 mm."


def test_an_answer_that_was_not_cut_is_shown_whole():
    old, new = answer("r", "t", answer="One. Two."), answer("r", "t", answer="One. Three.")
    change = change_of([old], [new])
    view = view_answer_change(change.answers[0], change)
    assert [text for text, _ in view.old.sentences[0].parts] == ["One. Two."]


def test_the_worst_change_is_the_first_row():
    rows = rows_of(render_changes_html([many(90)]))
    assert len(rows) == 90
    assert "worse" in words_of(rows[0])
    assert "better" in words_of(rows[-1])
    check_well_formed("".join(rows))


def test_the_page_loads_nothing_and_starts_nothing_from_data(texts):
    evil = said(
        0,
        0.5,
        texts.hostile,
        findings=(Finding(kind="unscored", message=texts.hostile, sentence=1),),
        question=texts.hostile,
        system=texts.hostile,
    )
    change = change_of([evil], [evil, said(1, 0.5)], (texts.hostile, texts.script))
    page = render_changes_html([change], [texts.hostile])
    tree = html.document_fromstring(page)
    assert not tree.xpath("//img | //*[@style] | //*[@onload] | //script[@src]")
    assert {script.get("type") for script in tree.xpath("//script")} == {
        "application/json",
        "text/plain",
        None,
    }
    assert len(tree.xpath("//script[not(@type)]")) == 1
    (row,) = rows_of(page)
    assert not html.document_fromstring(row).xpath("//img | //script | //*[@onload]")
    assert " ".join(texts.hostile.split()) in words_of(row)
    (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert page == render_changes_html([change], [texts.hostile])


def test_several_systems_share_a_page():
    old = [said(i, 0.9) for i in range(3)]
    changes = find_changes(("a", old), [("b", old), ("c", old)], (RECALL,), lambda finding: False)
    tree = html.document_fromstring(render_changes_html(changes))
    assert words_of(html.tostring(tree.xpath("//h1")[0], encoding="unicode")) == (
        "What changed from a"
    )
    assert tree.xpath("//select[@id='of']/option/text()") == ["all", "b", "c"]


def test_a_thousand_answers_of_random_words_stay_below_ten_megabytes():
    import random

    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(3, 11))) for _ in range(20_000)]

    def text() -> list[str]:
        return [" ".join(rng.choices(words, k=20)) + "." for _ in range(10)]

    old, new = ([said(i, 0.5, *text()) for i in range(100)] for _ in range(2))
    assert len(render_changes_html([change_of(old, new)])) < 1_000_000


@pytest.fixture(scope="module")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of 130 answers."""
    path = tmp_path_factory.mktemp("pages") / "changes.html"
    path.write_text(render_changes_html([many(130)]), encoding="utf-8")
    return path


@pytest.fixture
def open_page(browse: Callable[..., Any], long_page: Path) -> Callable[..., Any]:  # noqa: F811
    """Open the page of 130 answers at a state."""

    def open_at(state: str = "", **options: Any) -> Any:
        page = browse(f"file://{long_page}{state}", **options)
        page.wait_for_selector("#pairs > li")
        return page

    return open_at


def status(page: Any, words: str) -> None:
    until(page, f"document.getElementById('shown').textContent === {words!r}")


@pytest.mark.browser
def test_the_list_is_filtered_searched_and_turned(open_page):
    page = open_page()
    status(page, "130 answers")
    expect(page.locator("#pairs > li")).to_have_count(50)
    page.click("#on")
    until(page, "document.getElementById('page').textContent === '51 to 100 of 130'")
    page.click("[data-name=worse]")
    status(page, "43 of 130 answers")
    page.click("[data-name=new-findings]")
    status(page, "43 of 130 answers")
    page.fill("#find", "drug 43  PRESSURE")
    status(page, "1 of 130 answers")
    assert page.url.endswith("#show=new-findings&find=drug+43++PRESSURE")
    page.fill("#find", "<b>&")
    status(page, "0 of 130 answers")


@pytest.mark.browser
def test_keys_open_one_answer_after_another_across_pages(open_page):
    page = open_page()
    page.keyboard.press("j")
    until(page, "location.hash === '#open=1'")
    page.keyboard.press("j")
    until(page, "location.hash === '#open=2'")
    expect(page.locator("details.pair[open]")).to_have_count(1)
    until(page, "document.activeElement.parentElement.id === 'p2'")
    page.keyboard.press("k")
    until(page, "location.hash === '#open=1'")
    page.keyboard.press("/")
    page.keyboard.type("jk")
    until(page, "document.getElementById('find').value === 'jk'")
    page = open_page("#open=50")
    page.keyboard.press("j")
    until(page, "document.querySelector('#p51')?.open")


@pytest.mark.browser
def test_a_state_is_a_link(open_page):
    page = open_page("#show=worse&open=3")
    status(page, "43 of 130 answers")
    expect(page.locator("details.pair[open]")).to_have_attribute("id", "p3")
    page = open_page("#show=__proto__&open=1e9&page=-4&of=7")
    status(page, "130 answers")


@pytest.mark.browser
@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, {"width": 400}])
def test_the_page_is_accessible_and_fits(open_page, options):
    page = open_page("#open=1", **options)
    assert serious_faults(page) == []
    assert overflow(page) <= 0


def test_the_style_names_no_address():
    page = render_changes_html([many(3)])
    assert not re.search(r"https?://|url\(", page)
