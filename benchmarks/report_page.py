"""Measure the size of a large report and how fast it opens in headless Chromium.

python benchmarks/report_page.py RUN [--answers 1000]

RUN is a folder written by `ragassay evaluate`. Its answers are repeated with their words replaced
by random words from the sources, so that no two share text. Real answers compress better. Without
Chromium the script measures only the size and the time to write the page.
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


def reworded(record: object, word: Callable[[str], str]) -> object:
    """Return a record with the words of its texts replaced."""
    if isinstance(record, list):
        return [reworded(one, word) for one in record]
    if not isinstance(record, dict):
        return record
    return {
        name: WORD.sub(lambda match: word(match[0]), value)
        if name in TEXTS and isinstance(value, str)
        else reworded(value, word)
        for name, value in record.items()
    }


def many(evaluations: list[Evaluation], n: int, seed: int = 1) -> list[Evaluation]:
    """Return `n` evaluations without common text."""
    rng = random.Random(seed)
    words = [w for e in evaluations for source in e.sources for w in WORD.findall(source.text)]
    originals = [json.loads(e.model_dump_json()) for e in evaluations]
    found = []
    for number in range(n):
        others: dict[str, str] = {}

        def word(own: str, others: dict[str, str] = others) -> str:
            return others.setdefault(own, rng.choice(words) + rng.choice(("", "s", "ed", "ing")))

        one = reworded(originals[number % len(originals)], word)
        assert isinstance(one, dict)
        found.append(Evaluation.model_validate(one | {"record_id": f"answer {number}"}))
    return found


def opened(page: Path) -> dict[str, float]:
    """Return the seconds needed to show the page, search twice, and open an answer."""
    from playwright.sync_api import sync_playwright

    seconds: dict[str, float] = {}
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
            seconds[name] = time.perf_counter() - start

        timed("shown", lambda: tab.goto(page.as_uri()))
        timed("first search", lambda: tab.fill("#q", "placebo"))
        timed("next search", lambda: tab.fill("#q", "placebo reduced"))
        timed("an answer", lambda: tab.click("#list tbody a"))
        browser.close()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--answers", type=int, default=1000)
    args = parser.parse_args()
    folder = RunFolder(args.run)
    evaluations = many(folder.read_evaluations(), args.answers)
    summary = summarize(evaluations, len(evaluations), 0, 0)
    start = time.perf_counter()
    text = render_html(folder.read_manifest(), summary, evaluations)
    print(f"written in {time.perf_counter() - start:.1f} s")
    print(
        f"{len(text) / 1e6:.1f} MB, {len(text) / len(evaluations) / 1e3:.2f} MB per 1,000 answers"
    )
    if shutil.which("chromium"):
        with tempfile.TemporaryDirectory() as temporary:
            page = Path(temporary) / "report.html"
            page.write_text(text, encoding="utf-8")
            for name, seconds in opened(page).items():
                print(f"{name}: {seconds:.2f} s")


if __name__ == "__main__":
    main()
