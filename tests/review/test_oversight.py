"""The oversight page: the same tables as on the terminal, linked to the queue."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from graded import direct, extracted, passage, query, rated
from reviewing import HOSTILE, number, say

from ragassay.formats import BankItem, RubricBank, write_graded_paragraphs, write_test_banks
from ragassay.formats.workbench.grades import GradeFilter
from ragassay.metrics.bank_oversight import item_uses, missing_passages
from ragassay.metrics.exam_graders import grader_agreement
from ragassay.metrics.oversight import Relevance, checked_items, grids
from ragassay.reports.exam_oversight import (
    grader_sheets,
    grid_sheet,
    missing_sheet,
    spurious_sheet,
    verify_sheets,
)
from ragassay.reports.sheets import Sheet, shown_text
from ragassay.review.oversight import N_KEPT, Asked
from ragassay.review.queue import Filter, queue

PASSAGES = (
    passage("p1", rated({"a": 5, "b": 0}), extracted({"a": "in 1950"}, ["b"]), judged=3),
    passage("p2", rated({"a": 1, "b": 0}, ["c"]), extracted({"a": "once"}, ["a", "b"]), judged=2),
    passage("p3", rated({"a": 4, "b": 2}), judged=0),
)


class Page(HTMLParser):
    """What a page shows: its rows of cells, its links, its tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.events: list[str] = []
        self._is_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.events += [name for name, _ in attrs if name.startswith("on")]
        self.links += [value or "" for name, value in attrs if name == "href" and tag == "a"]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self._is_cell = True
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_cell = self._is_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._is_cell:
            self.rows[-1][-1] += data


def written(path: Path, *queries: Any) -> Path:
    """A graded file."""
    write_graded_paragraphs(queries or [query("q", *PASSAGES)], path)
    return path


@pytest.fixture
def grades(tmp_path: Path) -> Path:
    return written(tmp_path / "graded.jsonl")


def part(text: str, key: str) -> str:
    """Return one part of the page."""
    (found,) = re.findall(rf'<section id="{key}".*?</section>', text, re.DOTALL)
    return found


def shown_rows(sheet: Sheet, *hidden: str) -> list[list[str]]:
    """Return what the page shows of a sheet."""
    columns = [(i, c) for i, c in enumerate(sheet.columns) if c.title and c.key not in hidden]
    return [[shown_text(row[i], column) for i, column in columns] for row in sheet.rows]


def test_the_tables_are_those_of_the_command(grades, make_client):
    client = make_client(grades)
    text = client.get("/oversight?rating=4&relevant=2").text
    tables = client.desk.source.oversight()
    asked = tables.asked({"rating": "4", "relevant": "2"})
    found = tables.found(asked)
    queries, relevance = client.desk.source.file.queries, Relevance(2)
    checked = checked_items(queries, found.grader, None, 4, {}, relevance)
    uses = item_uses(queries, found.grader, relevance, 4, {})
    missing = missing_passages(queries, found.grader, relevance, 4)
    assert [one.paragraph_id for one in missing] == ["p2"]
    named = {"a": "Item a", "b": "Item b", "c": "Item c"}
    for key, sheets in (
        ("verify", verify_sheets(checked)),
        ("grid", [grid_sheet(one) for one in grids(checked)]),
        ("missing", [missing_sheet(missing)]),
        ("spurious", [spurious_sheet(uses)]),
        ("agreement", grader_sheets(grader_agreement(queries, GradeFilter(), 4))),
    ):
        rows = [[cell.strip() for cell in row] for row in Page(part(text, key)).rows]
        for sheet in sheets:
            for row in shown_rows(sheet, "query_id"):
                wanted = [named.get(cell, cell) for cell in row]
                assert wanted in [one[: len(wanted)] for one in rows], (key, wanted)


def test_every_part_says_what_to_do(grades, make_client):
    text = make_client(grades).get("/oversight?rating=4&relevant=2").text
    for key, words in {
        "verify": "change the prompt or the model",
        "grid": "stands out",
        "missing": "Add an item to the test bank",
        "spurious": "Reword or remove",
        "agreement": "grade by hand",
    }.items():
        assert words in part(text, key)


def test_every_link_leads_to_what_it_names(grades, make_client):
    client = make_client(grades)
    text = client.get("/oversight?rating=4&relevant=2").text
    links = [one for one in Page(text).links if one.startswith("/?")]
    assert len(links) > 10
    for link in links:
        asked = parse_qs(urlsplit(link).query)
        shown = client.get(link)
        assert shown.status_code == 200
        if "n" in asked:
            assert f'data-first="{asked["n"][0]}"' in shown.text
        else:
            wanted = Filter.of({name: values[0] for name, values in asked.items()})
            assert queue(client.desk, wanted, "ann"), link
            assert html.escape(asked.get("text", [""])[0]) in shown.text
    cell = number(client.desk, "exam_grade", "rating/b", "q/p3")
    assert f'<a href="/?n={cell}">2</a>' in part(text, "grid")
    assert "/?text=b" in links
    # Nobody can grade what has no grade: it leads nowhere.
    assert '<td class="number open"><span>?</span></td>' in re.sub(
        r' title="[^"]*"', "", part(text, "grid")
    )


def test_a_person_s_rating_stands_beside_the_grader_s(grades, make_client):
    client = make_client(grades)
    n = number(client.desk, "exam_grade", "rating/a", "q/p1")
    say(client, n, 2, why="It is about another year.")
    agreed = number(client.desk, "exam_grade", "rating/b", "q/p1")
    say(client, agreed, 0, id="agreed-0001")
    out = number(client.desk, "exam_grade", "rating/a", "q/p3")
    say(client, out, True, "removed", id="removed-0001")
    text = client.get("/oversight").text
    cells = {cell for row in Page(part(text, "grid")).rows for cell in row}
    assert {"5 a person: 2", "0 ✓ a person agrees", "4 a person: ✕"} <= cells
    assert "<s>5</s>" in part(text, "verify")
    assert "ann: 2 (It is about another year.)" in text
    # Another grader said something else of the same item: a person agrees with one of them.
    name = next(one for one in client.desk.source.oversight().graders if "Extraction" in one)
    other = client.get("/oversight", params={"grader": name}).text
    assert "a person" not in part(other, "grid")


def test_everything_is_escaped(tmp_path, make_client):
    grade = rated({HOSTILE: 4}, model=HOSTILE, prompt=HOSTILE)
    one = passage(HOSTILE, grade, extracted({HOSTILE: HOSTILE}), judged=0, query=HOSTILE)
    path = written(tmp_path / "graded.jsonl", query(HOSTILE, one))
    bank = tmp_path / "bank.jsonl"
    items = (BankItem(HOSTILE, HOSTILE),)
    write_test_banks([RubricBank(HOSTILE, HOSTILE, "questions", items)], bank)
    client = make_client(path, banks=[bank], who=HOSTILE[:70])
    say(client, 0, 1, who=HOSTILE[:60], why=HOSTILE)
    for asked in ({}, {"query": ""}, {"query": HOSTILE, "grader": HOSTILE, "rating": HOSTILE}):
        text = client.get("/oversight", params=asked).text
        page = Page(text)
        assert (page.tags.count("script"), page.tags.count("img"), page.events) == (1, 0, [])
        assert "60481729" not in text
        assert all(one.startswith(("/", "#")) for one in page.links)


def test_the_policy_allows_its_own_form_alone(grades, make_client, run):
    client = make_client(grades)
    reply = client.get("/oversight")
    policy = reply.headers["content-security-policy"]
    assert "form-action 'self'" in policy and "default-src 'none'" in policy
    nonce = re.search(r"script-src 'nonce-([^']+)'", policy)
    assert nonce and f'<script nonce="{nonce[1]}">' in reply.text
    assert "form-action 'none'" in client.get("/").headers["content-security-policy"]
    client.cookies.clear()
    assert client.get("/oversight").status_code == 403


def test_what_has_no_grades_has_no_oversight(make_client, run, grades):
    client = make_client(run)
    assert client.get("/oversight").status_code == 404
    assert 'id="oversight"' not in client.get("/").text
    assert 'id="oversight"' in make_client(grades).get("/").text


def test_direct_grades_alone(tmp_path, make_client):
    some = [passage(f"p{n}", direct(n), judged=n) for n in range(3)]
    client = make_client(written(tmp_path / "graded.jsonl", query("q", *some)))
    text = client.get("/oversight?rating=2").text
    rows = [[cell.strip() for cell in row] for row in Page(text).rows]
    assert ["p2", "2", "2"] in rows and ["1", "the passage as a whole"] in rows
    assert [row[:2] for row in rows if row[:1] == ["p1"]] == [["p1", "1"], ["p1", "1"]]
    n = number(client.desk, "relevance_grade", "Thomas", "q/p2")
    assert f'<a href="/?n={n}">2</a>' in part(text, "grid")
    assert "There is a single grader" in part(text, "agreement")
    for link in Page(text).links:
        assert not link.startswith("/?") or client.get(link).status_code == 200


def test_without_judgments_nothing_is_called_missing(tmp_path, make_client):
    bare = [passage("p1", rated({"a": 3})), passage("p2", rated({"a": 0}))]
    client = make_client(written(tmp_path / "bare.jsonl", query("q", *bare)))
    text = client.get("/oversight").text
    assert "what is missing or spurious is not known" in text
    assert "No graded passage is known to be relevant." in part(text, "missing")
    both = [passage("p1", rated({"a": 0}), direct(2)), passage("p2", rated({"a": 5}), direct(0))]
    client = make_client(written(tmp_path / "both.jsonl", query("q", *both)))
    text = client.get("/oversight?rating=1").text
    assert "in place of judgments, direct Thomas by m grades count" in text
    assert "p1" in part(text, "missing") and "spurious" in part(text, "spurious")


def test_a_minimum_that_the_grader_cannot_have_is_told(grades, make_client):
    client = make_client(grades)
    name = next(one for one in client.desk.source.oversight().graders if "Extraction" in one)
    text = client.get("/oversight", params={"grader": name, "rating": "4"}).text
    assert "This grader gives no ratings" in text
    assert "in 1950" in part(text, "verify")


def test_all_queries_at_once_show_what_needs_none(tmp_path, make_client):
    path = written(tmp_path / "two.jsonl", query("q", *PASSAGES), query("r", *PASSAGES[:2]))
    client = make_client(path)
    text = client.get("/oversight?query=&rating=4").text
    assert "Choose a query." in part(text, "verify") and "Choose a query." in part(text, "grid")
    assert [row[:2] for row in Page(part(text, "missing")).rows[1:]] == [["q", "p2"], ["r", "p2"]]
    assert Page(part(client.get("/oversight?query=r").text, "grid")).rows


def test_long_tables_are_cut_with_a_note(tmp_path, make_client):
    many = [passage(f"p{n}", rated({"a": n % 6}), judged=1) for n in range(150)]
    client = make_client(written(tmp_path / "many.jsonl", query("q", *many)))
    text = client.get("/oversight?rating=5").text
    assert "10 of 150 rows, the surest first" in part(text, "verify")
    assert "100 of 150 rows, the best first" in part(text, "grid")
    assert "100 of 125 rows" in part(text, "missing")
    assert part(text, "grid").count("<a href") == 101


def test_tables_are_computed_once_for_what_is_asked(grades, make_client, monkeypatch):
    import ragassay.review.oversight as module

    calls = []
    real = module.item_uses
    monkeypatch.setattr(module, "item_uses", lambda *given: calls.append(1) or real(*given))
    tables = make_client(grades).desk.source.oversight()
    name = next(iter(tables.graders))
    assert tables.found(Asked("q", name)) is tables.found(Asked("q", name))
    tables.found(Asked("q", name, 4))
    assert len(calls) == 2 and N_KEPT > 2


def test_an_address_shows_its_part_of_the_queue(grades, make_client):
    client = make_client(grades)
    text = client.get("/?evaluator=exam_grade&text=p2&state=todo&order=file").text
    assert 'value="p2"' in text and '<option value="todo" selected>' in text
    assert '<option value="file" selected>' in text
    everything = client.get("/?text=nothing+has+this").text
    assert 'value="nothing has this"' not in everything and "Item a" in everything
    assert client.get("/?n=99999").status_code == 200


def test_the_released_grades(shared, tmp_path, make_client):
    path = tmp_path / "graded.jsonl.gz"
    path.write_bytes((shared / "oracles" / "workbench" / "graded.jsonl.gz").read_bytes())
    client = make_client(path)
    text = client.get("/oversight?query=&rating=4").text
    assert "28 passages" in part(text, "missing")
    first = client.get("/oversight").text
    assert "60 passages by 10 items" in part(first, "grid") and "--testbank BANK" in first
    assert part(first, "grid").count('href="/?n=') == 600
