"""Fixtures for pages in headless Chromium."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WAIT_MS = 20_000


def until(page: Any, condition: str) -> None:
    """Wait for a condition. Playwright's own method is blocked by the page's policy."""
    for _ in range(WAIT_MS // 25):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(25)
    raise AssertionError(f"it never came true: {condition}")


def expect(shown: Any) -> Any:
    """Return Playwright's assertions about a locator, which wait for what they state."""
    from playwright.sync_api import expect as assertions

    assertions.set_options(timeout=WAIT_MS)
    return assertions(shown)


def serious_faults(page: Any) -> list[str]:
    """Return axe-core violations with impact "serious" or higher, with their elements."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    return [
        f"{fault['id']}: {[node['html'][:90] for node in fault['nodes'][:3]]}"
        for fault in axe.Axe().run(page).response["violations"]
        if fault["impact"] in ("serious", "critical")
    ]


def overflow(page: Any) -> int:
    """Return how many pixels a page is wider than its window."""
    root = "document.documentElement"
    return page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Return the browser, or skip the test if it is not installed."""
    if CHROMIUM is None:
        pytest.skip("no chromium is installed")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as library:
        browser = library.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture
def browse(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Open an address in a new browser context, and fail on page errors.

    Errors that contain `expected` are ignored.
    """
    problems: list[str] = []
    contexts = []

    def open_at(
        url: str, width: int = 1400, height: int = 1000, expected: str = "\n", **options: Any
    ) -> Any:
        size = {"width": width, "height": height}
        context = chromium.new_context(viewport=size, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("pageerror", lambda error: problems.append(str(error)))

        def meet(shown: Any) -> None:
            if shown.type != "beforeunload":
                problems.append(f"a dialog: {shown.message}")
            shown.accept()

        def note(said: Any) -> None:
            if said.type == "error" and expected not in said.text:
                problems.append(said.text)

        page.on("console", note)
        page.on("dialog", meet)
        page.goto(url)
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert problems == [], problems
