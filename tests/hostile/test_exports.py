"""What is written for others to open does nothing that a text in it asks for."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from browsing import chromium  # noqa: F401
from calls import run
from hostile.poison import MARK, MARKUP, hostile
from lxml import etree

from ragassay.metrics.stats.aggregates import Matrix
from ragassay.qa.report import (
    render_pairs_csv,
    render_papers_csv,
    render_qa_html,
    render_qa_markdown,
)
from ragassay.qa.view import QAReport
from ragassay.records import Audit, Score
from ragassay.reports.audit_report import (
    render_audit_html,
    render_audit_markdown,
    render_figures_csv,
)
from ragassay.studies.matrix_tables import (
    draw_matrix,
    render_matrices_csv,
    render_matrices_latex,
    render_matrices_page,
)

PAGES = ("report.html", "audit.html", "changes.html", "matrices.html", "qa.html")
SPY = "window.nOwned = 0; window.owned = () => { window.nOwned += 1 };"
CLICKABLE = "summary, button, tbody a, a[href^='#'], main a[href^='?']"
MOST_CLICKS = 25
ACTIVE = (
    "img:not([src^='data:image/svg+xml']), iframe, object, embed, base, "
    "[onerror], [onload], [onmouseover]"
)


def matrix() -> Matrix:
    def score(value: float) -> Score:
        return Score(value=value, n=8, scale=(1.0, 5.0), low=value - 0.5, high=value + 0.5)

    names = (hostile("a"), hostile("b"))
    cells = ((score(4.5), score(3.0)), (score(2.0), score(4.0)))
    titles = ("key", "title", "row_title", "column_title", "unit")
    texts = {name: hostile(name) for name in titles}
    own = frozenset({(0, 0)})
    return Matrix(rows=names, columns=names, cells=cells, n_questions=4, own=own, **texts)


def qa_report() -> QAReport:
    from qa.conftest import build_report

    texts = SimpleNamespace(right_to_left=hostile("r"), long=hostile("l"), markdown=hostile("m"))
    return build_report(hostile("q"), texts)


@pytest.fixture(scope="module")
def exports(hostile_runs: Path) -> Path:
    """Everything that is written of hostile runs."""
    out = hostile_runs / "exports"
    run("report", hostile_runs / "new")
    run("compare", hostile_runs / "new", "--out", out)
    run("compare", hostile_runs / "old", hostile_runs / "new", "--html", out / "changes.html")
    audit = Audit.model_validate_json((hostile_runs / "new" / "audit.json").read_text())
    qa, found = qa_report(), matrix()
    plot = draw_matrix(found)
    texts = {
        "report.html": (hostile_runs / "new" / "report.html").read_text(),
        "report.md": (hostile_runs / "new" / "report.md").read_text(),
        "audit.html": render_audit_html(audit),
        "audit.md": render_audit_markdown(audit),
        "audit.csv": render_figures_csv(audit),
        "matrices.html": render_matrices_page(hostile("title"), [(found, plot)], [hostile("line")]),
        "matrices.csv": render_matrices_csv([found]),
        "matrices.tex": render_matrices_latex([found]),
        "matrices.svg": plot,
        "qa.html": render_qa_html(qa),
        "qa.md": render_qa_markdown(qa),
        "qa-pairs.csv": render_pairs_csv(qa),
        "qa-papers.csv": render_papers_csv(qa),
    }
    for name, text in texts.items():
        (out / name).write_text(text, encoding="utf-8")
    return out


def files(folder: Path, ending: str) -> list[Path]:
    found = sorted(folder.glob(f"*.{ending}"))
    assert found
    assert any(MARK in path.read_text(encoding="utf-8") for path in found)
    return found


def test_no_cell_of_a_table_is_a_formula(exports):
    for path in files(exports, "csv"):
        rows = list(csv.reader(path.read_text(encoding="utf-8").split("\n")))
        cells = [cell for row in rows for cell in row]
        active = [cell for cell in cells if re.match(r"\s*[=+@\t\r]|\s*-(?![0-9.])", cell)]
        assert active == [], path.name


def test_latex_has_no_command_but_a_tables_own(exports):
    known = {"begin", "end", "caption", "label", "toprule", "midrule", "bottomrule"}
    known |= {
        *("textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater"),
        "usepackage",
    }
    for path in files(exports, "tex"):
        text = path.read_text(encoding="utf-8").replace("% Needs \\usepackage{booktabs}.\n", "")
        commands = set(re.findall(r"\\([A-Za-z]+)", text))
        assert commands <= known, path.name
        bare = re.sub(r"\\[\\&%$#_{}]", "", text)
        assert not re.search(r"[#$%]", bare), path.name


def test_a_drawing_holds_shapes_and_words_alone(exports):
    for path in files(exports, "svg"):
        tree = etree.fromstring(path.read_bytes(), etree.XMLParser(resolve_entities=False))
        tags = {etree.QName(node).localname for node in tree.iter(etree.Element)}
        found = [pair for node in tree.iter(etree.Element) for pair in node.attrib.items()]
        assert not tags & {"script", "foreignObject", "a", "iframe", "animate", "set"}
        assert not [name for name, _ in found if name.startswith("on")]
        links = {value for name, value in found if name.endswith("href")}
        assert all(link.startswith(("#", "data:image/png;base64,")) for link in links)


def test_markdown_has_no_element_image_or_link_of_a_text(exports):
    markdown_it = pytest.importorskip("markdown_it")
    for path in files(exports, "md"):
        page = markdown_it.MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(
            path.read_text(encoding="utf-8")
        )
        assert not re.search(r"<(?:script|img|svg|iframe|a href=\"(?!#))", page), path.name
        assert "owned()" in page, path.name


@pytest.fixture
def opened(chromium: Any) -> Iterator[Callable[[str], Any]]:  # noqa: F811
    """Open an address; what was asked for, run or refused is kept on the page object."""
    contexts = []

    def open_at(url: str) -> tuple[Any, list[str]]:
        context = chromium.new_context()
        contexts.append(context)
        context.add_init_script(SPY)
        page = context.new_page()
        seen: list[str] = []
        page.on("request", lambda request: seen.append(request.url))
        page.on("pageerror", lambda error: seen.append(f"error: {error}"))
        page.on("dialog", lambda shown: seen.append(f"dialog: {shown.message}"))
        page.on("console", lambda message: message.type == "error" and seen.append(message.text))
        page.goto(url)
        page.wait_for_load_state("networkidle")
        return page, seen

    yield open_at
    for context in contexts:
        context.close()


def click_around(page: Any) -> None:
    """Click what can be clicked, so that what a script unpacks is shown, too."""
    for place in range(min(page.locator(CLICKABLE).count(), MOST_CLICKS)):
        one = page.locator(CLICKABLE).nth(place)
        if one.is_visible():
            one.dispatch_event("click")
    page.wait_for_timeout(50)


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_and_asks_for_nothing(exports, opened, name):
    url = (exports / name).as_uri()
    page, seen = opened(url)
    assert page.locator("meta[http-equiv=Content-Security-Policy]").count() == 1
    assert "default-src 'none'" in page.content()
    assert MARK in page.locator("body").inner_text()
    click_around(page)
    assert page.evaluate("window.nOwned") == 0
    assert page.locator(ACTIVE).count() == 0
    assert [one for one in seen if one.split("#")[0] != url and not one.startswith("data:")] == []


@pytest.mark.browser
def test_a_drawing_on_its_own_runs_and_asks_for_nothing(exports, opened):
    for path in files(exports, "svg"):
        page, seen = opened(path.as_uri())
        assert page.evaluate("window.nOwned") == 0
        assert seen == [path.as_uri()]


@pytest.mark.browser
def test_what_is_not_escaped_is_caught(tmp_path, opened):
    path = tmp_path / "page.html"
    path.write_text(f"<p>{MARKUP}<img src=x onerror=owned()>")
    page, seen = opened(path.as_uri())
    assert page.evaluate("window.nOwned") > 0
    assert len(seen) > 1
