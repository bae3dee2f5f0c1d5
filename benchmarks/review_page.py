"""Measure the speed of the review page in headless Chromium, with 5,000 items.

    python benchmarks/review_page.py

Measures the first contentful paint of the page in a new browser context, and the time from a key
press to the frame that shows the next item. Keys are pressed at human speed (with the next item
prefetched), held down, and as ratings that are saved at the same time. Prints medians and maxima.
The answers are invented.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ragassay.records import (
    AnswerSentence,
    Citation,
    CitationVerdict,
    Evaluation,
    EvidenceSpan,
    FileFingerprint,
    Judgment,
    Manifest,
    SentenceLabel,
)
from ragassay.runs.folder import RunFolder, write_atomically, write_lines

N_SENTENCES = 12
RUBRICS = ("cohesion", "coherence", "conciseness", "informativeness")

NEXT_ITEM = """(key) => new Promise((done) => {
  const item = document.getElementById("item"), before = item.firstElementChild;
  const start = performance.now();
  const watch = new MutationObserver(() => {
    if (item.firstElementChild === before) return;
    watch.disconnect();
    // Wait two frames: the first is drawn before the second begins.
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
  });
  watch.observe(item, {childList: true});
  document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
})"""


def evaluation(n: int) -> Evaluation:
    """Return an answer with ratings, and a label and a citation for each sentence."""
    texts = [
        f"Sentence {i} of answer {n} says what a trial of {n + i} adults found."
        for i in range(1, N_SENTENCES + 1)
    ]
    span = EvidenceSpan(
        document="31452104", start=0, end=1, text="A passage. " * 40, title="A trial"
    )
    cite = Citation(marker="1", document="31452104")
    return Evaluation(
        record_id=f"answer-{n}",
        question=f"What did the trial find, asked for the {n}th time?",
        answer=" ".join(texts),
        system=f"system-{n % 7}",
        sentences=tuple(
            AnswerSentence(index=i, text=text, start=0, end=1, citations=(cite,))
            for i, text in enumerate(texts, 1)
        ),
        verdicts=(
            *(
                Judgment(rubric=r, rating=1 + n % 5, score=1.0 + n % 5, rationale="It is so. " * 9)
                for r in RUBRICS
            ),
            *(
                SentenceLabel(sentence=i, label="required", confidence=(n * i % 97) / 97)
                for i in range(1, N_SENTENCES + 1)
            ),
            *(
                CitationVerdict(
                    sentence=i,
                    citation=cite,
                    verdict="supports",
                    evidence=span,
                    confidence=(n * i % 89) / 89,
                )
                for i in range(1, N_SENTENCES + 1)
            ),
        ),
    )


def written_run(folder: Path, n_items: int) -> None:
    """Write a run with at least `n_items` items."""
    n_answers = -(-n_items // (len(RUBRICS) + 2 * N_SENTENCES))
    fingerprint = FileFingerprint(name="answers.jsonl", sha256="0" * 64, n_items=n_answers)
    run = RunFolder(folder)
    folder.mkdir()
    write_atomically(
        run.manifest_file, Manifest(ragassay="0", judge="j", answers=fingerprint).model_dump_json()
    )
    write_lines(run.evaluations_file, [evaluation(n) for n in range(n_answers)])


def first_paint_ms(browser: Any, url: str) -> float:
    """Open the page in a new browser context, and return its first contentful paint."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.goto(url)
    page.wait_for_timeout(300)
    expression = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    found = page.evaluate(expression)
    context.close()
    return found


def next_ms(page: Any, key: str, n: int, pause_ms: float) -> list[float]:
    """Press a key `n` times, and return the time until each next item is shown."""
    times = []
    for _ in range(n):
        times.append(page.evaluate(NEXT_ITEM, key))
        page.wait_for_timeout(pause_ms)
    return times


def print_times(name: str, values: list[float]) -> None:
    print(
        f"{name:<46}{statistics.median(values):8.0f} ms  worst {max(values):6.0f}  n {len(values)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--items", type=int, default=5_000)
    parser.add_argument("--times", type=int, default=50)
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        written_run(run, args.items)
        start = time.perf_counter()
        server = subprocess.Popen(
            [sys.executable, "-m", "ragassay", "review", str(run), "--no-open", "--who", "ann"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        print(
            f"server started after {time.perf_counter() - start:.1f} s, "
            f"with {args.items:,} items or a few more"
        )
        with sync_playwright() as library:
            browser = library.chromium.launch(executable_path=shutil.which("chromium"))
            print_times("first paint", [first_paint_ms(browser, url) for _ in range(9)])
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.goto(url)
            page.wait_for_timeout(1_000)
            print_times("next item by key, at human speed", next_ms(page, "j", args.times, 400))
            print_times("next item by key, held down", next_ms(page, "j", args.times, 0))
            print_times("next item by a label that is saved", next_ms(page, "1", args.times, 100))
            page.wait_for_timeout(1_500)
            browser.close()
        n_kept = len((run / "reviews.jsonl").read_text().splitlines())
        print(f"{n_kept} of {args.times} labels are on disk")
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
