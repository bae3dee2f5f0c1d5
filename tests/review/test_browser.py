"""The page in headless Chromium, by keys and clicks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from answers import answer, written_run
from browsing import browse, chromium, expect, until  # noqa: F401
from reviewing import PageServer, Server, hostile_run

from ragassay.runs.journal import open_journal

pytestmark = pytest.mark.integration


@pytest.fixture
def open_page(browse) -> Callable[..., Any]:  # noqa: F811
    """Open an address in a browser of its own, and wait until its queue and item are shown."""

    def open_at(url: str, *size: int, **options: Any) -> Any:
        page = browse(url, *size, **options)
        wait_for_item(page)
        return page

    return open_at


@pytest.fixture
def server(run: Path) -> Iterator[PageServer]:
    with PageServer(run, "ann") as started:
        yield started


def title(page: Any) -> str:
    """What the page shows."""
    return page.locator("article").get_attribute("data-title")


def saved(page: Any) -> None:
    """Wait until the page says that all is saved."""
    until(page, "document.getElementById('saved').textContent === 'saved'")


def wait_for_item(page: Any) -> None:
    """Wait until the chosen item is shown; until then, the page takes no review."""
    page.locator("#item[aria-busy=false] article[data-title]").wait_for()


def press(page: Any, key: str) -> None:
    """Press a key when the chosen item is shown."""
    wait_for_item(page)
    page.keyboard.press(key)


def said(run: Path) -> list[tuple[str, str, object]]:
    """What stands in the journal."""
    return [(one.evaluator, one.field, one.value) for one in open_journal(run).read()]


def test_keys_go_through_the_queue(server, open_page):
    page = open_page(server.url)
    assert "token" not in page.url
    first = title(page)
    assert first.startswith("Citation verdict, sentence 2")
    page.keyboard.press("j")
    until(page, f"document.querySelector('article').dataset.title !== {first!r}")
    assert title(page) == "Evidence verdict, sentence 1 · for 1: undecided"
    expect(page.locator("#live")).to_contain_text("Item 2 of 8")
    shown = page.locator("article").get_attribute("data-n")
    expect(page.locator('.row[aria-selected="true"]')).to_have_attribute("data-n", shown)
    page.keyboard.press("k")
    page.keyboard.press("k")
    until(page, f"document.querySelector('article').dataset.title === {first!r}")


def test_a_digit_says_a_label_shows_the_next_item_and_u_takes_it_back(server, open_page, run):
    page = open_page(server.url)
    first = title(page)
    press(page, "3")
    saved(page)
    assert said(run) == [("citation", "label", "neutral")]
    until(page, f"document.querySelector('article').dataset.title !== {first!r}")
    until(page, "document.getElementById('count').textContent.startsWith('1 of 8')")
    press(page, "u")
    until(page, f"document.querySelector('article').dataset.title === {first!r}")
    until(page, "document.getElementById('count').textContent.startsWith('0 of 8')")
    assert [one.undoes != "" for one in open_journal(run).read()] == [False, True]


def test_accept_and_reject(server, open_page, run):
    page = open_page(server.url)
    press(page, "a")
    saved(page)
    press(page, "a")  # of an undecided verdict, what it leans to
    until(page, "document.getElementById('count').textContent.startsWith('2 of 8')")
    saved(page)
    press(page, "x")
    until(page, "document.getElementById('count').textContent.startsWith('3 of 8')")
    saved(page)
    assert said(run) == [
        ("citation", "label", "contradicts"),
        ("evidence", "label", "supports"),
        ("rubric", "removed", True),
    ]


def test_a_rating_by_its_digit(server, open_page, run):
    page = open_page(server.url)
    page.locator('select[name="evaluator"]').select_option("rubric")
    until(page, "document.querySelectorAll('.row').length === 2")
    until(page, "document.querySelector('article').dataset.kind === 'Rubric rating'")
    page.keyboard.press("Escape")
    press(page, "5")
    saved(page)
    assert said(run) == [("rubric", "rating", 5)]


def test_edit_says_another_label_and_why(server, open_page, run):
    page = open_page(server.url)
    press(page, "e")
    page.locator("#edit select").select_option(label="not relevant")
    page.locator("#why").fill("It is about another drug.")
    page.keyboard.press("Control+Enter")
    saved(page)
    (review,) = open_journal(run).read()
    assert (review.value, review.why) == ("not_relevant", "It is about another drug.")
    page.keyboard.press("k")
    page.get_by_text("It is about another drug.").wait_for()
    expect(page.locator(".people .mine")).to_have_count(1)


def test_clicks_do_the_same(server, open_page, run):
    page = open_page(server.url)
    page.locator(".row").nth(2).click()
    until(page, "document.querySelector('article').dataset.title.startsWith('Rubric rating')")
    page.locator(".choice", has_text="4").click()
    saved(page)
    assert said(run) == [("rubric", "rating", 4)]
    page.locator(".row").first.click()
    page.locator(".rows button.link", has_text="Sentence label").first.click()
    until(page, "document.querySelector('article').dataset.title.startsWith('Sentence label')")


def test_search_narrows_the_queue_and_escape_goes_back_to_the_keys(server, open_page):
    page = open_page(server.url)
    page.keyboard.press("/")
    page.keyboard.type("gold")
    until(page, "document.querySelectorAll('.row').length === 1")
    # The item is fetched after the queue is drawn.
    page.locator("article[data-title^='Nugget assignment']").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    page.locator("#text").fill("nothing has this")
    page.get_by_text("No items match these filters.").wait_for()


def test_without_a_name_the_page_asks_once(run, open_page):
    with PageServer(run) as server:
        page = open_page(server.url)
        expect(page.locator("#ask")).to_be_visible()
        page.keyboard.type("Zoë Ångström")
        page.keyboard.press("Enter")
        until(page, "document.getElementById('who').textContent === 'Zoë Ångström'")
        press(page, "1")
        saved(page)
        page.reload()
        wait_for_item(page)
        expect(page.locator("#ask")).to_be_hidden()
        page.close()
    assert open_journal(run).read()[0].who == "Zoë Ångström"


def test_two_people_see_what_the_other_said(server, open_page, run):
    ann = open_page(server.url)
    with PageServer(run, "bob") as other:
        bob = open_page(other.url)
        press(ann, "1")
        saved(ann)
        bob.get_by_text("ann", exact=True).first.wait_for()
        press(bob, "3")
        saved(bob)
        ann.locator(".row .others.differ").first.wait_for()
        bob.close()
    assert {(one.who, one.value) for one in open_journal(run).read()} == {
        ("ann", "supports"),
        ("bob", "neutral"),
    }


def test_what_the_server_could_not_save_is_kept_and_sent_when_it_is_back(run, open_page):
    server = Server(run, "--who", "ann")
    page = open_page(server.url, expected="Failed to load resource")
    page.wait_for_load_state("networkidle")  # The next item is fetched too.
    server.kill()
    press(page, "3")
    until(page, "document.getElementById('saved').classList.contains('wait')")
    expect(page.locator("#saved")).to_contain_text("1 not saved")
    # It was fetched before it was asked for.
    expect(page.locator("article[data-title^='Evidence verdict']")).to_be_visible()
    assert not open_journal(run).read()
    with Server(run, "--who", "ann", "--port", str(server.port)) as again:
        page.goto(again.url)
        until(page, "localStorage.length === 0")
    assert said(run) == [("citation", "label", "neutral")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_page_fits_and_keeps_the_choices_in_sight(server, open_page, run, scheme):
    page = open_page(server.url, 400, 900, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    box = page.locator(".choices").bounding_box()
    assert box["y"] > 450 and box["y"] + box["height"] <= 900
    expect(page.locator("#list")).to_be_hidden()
    page.locator("#open-queue").click()
    page.locator(".row").nth(1).click()
    expect(page.locator("#list")).to_be_hidden()
    wait_for_item(page)
    page.locator(".choice").first.click()
    saved(page)
    assert len(said(run)) == 1
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (max(map(int, background[4:-1].split(","))) < 60) == (scheme == "dark")


def test_the_focus_is_seen_and_every_control_has_a_name(server, open_page):
    page = open_page(server.url)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    width = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert width == "2px"
    nameless = page.evaluate(
        "[...document.querySelectorAll('button,input,select,textarea')].filter((one) =>"
        " !one.textContent.trim() && !one.labels?.length && !one.getAttribute('aria-label'))"
        ".map((one) => one.outerHTML)"
    )
    assert nameless == []


def test_a_long_queue_keeps_few_rows_in_the_document(tmp_path, open_page):
    many = [answer(f"r{n}", labels=[("A sentence.", "required")] * 50) for n in range(100)]
    with PageServer(written_run(tmp_path / "run", many), "ann") as server:
        page = open_page(server.url)
        assert page.locator(".row").count() < 80
        page.locator("#list").evaluate("(list) => { list.scrollTop = list.scrollHeight; }")
        page.locator("#row-4999 .kind").wait_for()
        assert page.locator(".row").count() < 80
        page.locator("#row-4999").click()
        until(page, "document.querySelector('article').dataset.n === '4999'")
        page.close()  # It asks the server what is new as long as it is open.


def test_hostile_texts_run_nothing(tmp_path, open_page):
    with PageServer(hostile_run(tmp_path / "run"), "<b>eve</b>") as server:
        page = open_page(server.url)
        for _ in range(3):
            press(page, "a")
            saved(page)
        wait_for_item(page)
        expect(page.locator("main img, main script, main b b, #list img")).to_have_count(0)
        assert page.evaluate("typeof window.a") == "undefined"
        page.close()
