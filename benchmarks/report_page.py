"""How large the report of many answers is, and how it opens, in headless Chromium.

python benchmarks/report_page.py RUN [--answers 1000]

RUN is a folder that `ragassay evaluate` wrote. Its answers are repeated with other words in place
of their own, drawn from its sources, so that no two share a text: real answers pack better. Without
Chromium only the size and the time to write are measured.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ragassay.metrics.stats.summary import summarize
from ragassay.records import Evaluation
from ragassay.reports.html import render_html
from ragassay.runs.folder import RunFolder

TEXTS = ("text", "question", "answer", "title", "nugget")
WORD = re.compile(r"[a-z]{4,}")


def reworded(given: object, word: Callable[[str], str]) -> object:
    """Return a record with other words in its texts."""
    if isinstance(given, list):
        return [reworded(one, word) for one in given]
    if not isinstance(given, dict):
        return given
    return {
        name: WORD.sub(lambda found: word(found[0]), value)
        if name in TEXTS and isinstance(value, str)
        else reworded(value, word)
        for name, value in given.items()
    }


def many(evaluations: list[Evaluation], n: int, seed: int = 1) -> list[Evaluation]:
    """Return `n` evaluations that share no text."""
    rng = random.Random(seed)
    words = [w for e in evaluations for source in e.sources for w in WORD.findall(source.text)]
    given = [json.loads(e.model_dump_json()) for e in evaluations]
    found = []
    for number in range(n):
        others: dict[str, str] = {}

        def word(own: str, others: dict[str, str] = others) -> str:
            return others.setdefault(own, rng.choice(words) + rng.choice(("", "s", "ed", "ing")))

        one = reworded(given[number % len(given)], word)
        assert isinstance(one, dict)
        found.append(Evaluation.model_validate(one | {"record_id": f"answer {number}"}))
    return found


def opened(page: Path) -> dict[str, float]:
    """Return seconds until the page is shown, finds a word, finds another, and opens an answer."""
    from playwright.sync_api import sync_playwright

    took: dict[str, float] = {}
    with sync_playwright() as library:
        browser = library.chromium.launch(executable_path=shutil.which("chromium"))
        tab = browser.new_page(viewport={"width": 1400, "height": 1000})

        def timed(name: str, act: Callable[[], object]) -> None:
            turn = "document.body?.dataset.shown ?? '0'"
            before = tab.evaluate(turn)
            start = time.perf_counter()
            act()
            while tab.evaluate(turn) == before:
                tab.wait_for_timeout(10)
            took[name] = time.perf_counter() - start

        timed("shown", lambda: tab.goto(page.as_uri()))
        timed("first search", lambda: tab.fill("#q", "placebo"))
        timed("next search", lambda: tab.fill("#q", "placebo reduced"))
        timed("an answer", lambda: tab.click("#list tbody a"))
        browser.close()
    return took


def main() -> None:
    """Print the size of the page, and the seconds of each step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--answers", type=int, default=1000)
    asked = parser.parse_args()
    folder = RunFolder(asked.run)
    evaluations = many(folder.evaluations(), asked.answers)
    summary = summarize(evaluations, len(evaluations), 0, 0)
    start = time.perf_counter()
    text = render_html(folder.manifest(), summary, evaluations)
    print(f"written in {time.perf_counter() - start:.1f} s")
    print(
        f"{len(text) / 1e6:.1f} MB, {len(text) / len(evaluations) / 1e3:.2f} MB per 1,000 answers"
    )
    if shutil.which("chromium"):
        with tempfile.TemporaryDirectory() as made:
            page = Path(made) / "report.html"
            page.write_text(text, encoding="utf-8")
            for name, seconds in opened(page).items():
                print(f"{name}: {seconds:.2f} s")


if __name__ == "__main__":
    main()
