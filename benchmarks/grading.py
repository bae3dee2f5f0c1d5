"""Compare grading time with the ideal: 1,000 passages, 10 test bank items, scripted model.

    python benchmarks/grading.py

The scripted model responds after 0.2 s and runs in a separate process. Ideal: grades * latency /
concurrency, assuming one call per grade. Several items per call need fewer calls, but the ideal is
the same. Each mode uses a new folder. Times include writing the folder and the graded file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import tempfile
import time
from pathlib import Path

from throughput import scripted_process

WORDS = "cells protein disease risk trial pressure sodium patients dose effect outcome".split()


def write_input(folder: Path, n_passages: int, n_items: int) -> tuple[Path, Path]:
    """Write a test bank and passages of about a hundred words for ten queries."""
    drawn = random.Random(0)

    def sentence() -> str:
        return " ".join(drawn.choices(WORDS, k=12)).capitalize() + "."

    passages, bank = folder / "passages.jsonl", folder / "bank.jsonl"
    queries = [f"q{n}" for n in range(10)]
    with passages.open("w") as file:
        for query in queries:
            found = [
                {
                    "paragraph_id": f"{query}-{n}",
                    "text": " ".join([f"Passage {n} of {query}.", *(sentence() for _ in range(8))]),
                    "paragraph_data": {"judgments": [], "rankings": []},
                }
                for n in range(n_passages // len(queries))
            ]
            file.write(json.dumps([query, found]) + "\n")
    with bank.open("w") as file:
        for query in queries:
            items = [{"question_text": f"{sentence()[:-1]} {n}?"} for n in range(n_items)]
            file.write(json.dumps({"query_id": query, "query_text": query, "items": items}) + "\n")
    return passages, bank


async def measure(args: argparse.Namespace) -> None:
    from ragassay.requests import request_grading
    from ragassay.runs.folder import RunFolder
    from ragassay.runs.progress import Presenter
    from ragassay.text.search import PASSAGE_WORDS

    presenter = Presenter()
    with scripted_process(args.latency) as url, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = write_input(folder, args.passages, args.items)
        warm_up = write_input(_made(folder / "warm-up"), 10, 1)
        for mode, (passages, bank), n in (
            ("warm-up", warm_up, 1),
            ("one item a call", files, 1),
            (f"{args.items} items a call", files, args.items),
        ):
            request = request_grading(
                [passages],
                {
                    "testbank": bank,
                    "model": "openai/gpt-4.1-mini",
                    "api_base": url,
                    "concurrency": args.concurrency,
                    "items_per_call": n,
                },
                None,
                presenter,
                words=PASSAGE_WORDS,
                depth=0,
            )
            wall, cpu = time.perf_counter(), time.process_time()
            found = await request.run(RunFolder(folder / mode), presenter)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            n_calls = found.run.summary.usage.n_calls
            ideal = found.n_grades * args.latency / args.concurrency
            row = {
                "way": mode,
                "grades": found.n_grades,
                "unscored": found.n_unscored,
                "calls": n_calls,
                "wall_s": round(wall, 2),
                "ideal_s": round(ideal, 2),
                "share_of_ideal": round(ideal / wall, 3),
                "cpu_ms_a_grade": round(1000 * cpu / found.n_grades, 2),
            }
            if mode != "warm-up":
                print(json.dumps(row), flush=True)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=1000)
    parser.add_argument("--items", type=int, default=10)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--concurrency", type=int, default=64)
    args = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "sk-scripted")
    asyncio.run(measure(args))


if __name__ == "__main__":
    main()
