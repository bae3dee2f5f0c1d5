"""Nine rubrics an answer, rated three ways, side by side in one run.

    python benchmarks/rubrics.py

By signals alone; by the fine-tuned judge with signals, as a run rates without further options; and
by the bare language model. The answers are the sample's, each with its five abstracts; the models
are loaded by a first answer that is not counted. Every answer's sources are new to the process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import ragassay
from ragassay.formats import read_records
from ragassay.model_names import EMBEDDED_BASE, TUNED_JUDGE
from ragassay.settings import load_settings

SAMPLE = Path(__file__).parent.parent / "examples" / "sample"


WAYS = {
    "signals": (EMBEDDED_BASE, True),
    "judge_with_signals": (TUNED_JUDGE, True),
    "language_model": (EMBEDDED_BASE, False),
}
"""A model, and whether answers are measured."""


def seconds(record: ragassay.Record, model: str, signals: bool) -> float:
    settings = load_settings(model=model, only=("rubrics",), signals=signals)
    start = time.perf_counter()
    result = ragassay.evaluate([record], corpus=SAMPLE / "abstracts.jsonl", settings=settings)
    found = time.perf_counter() - start
    n_scored = sum(judgment.rating is not None for judgment in result[0].judgments)
    if n_scored != 9:
        raise SystemExit(f"{record.id}: {n_scored} of nine rubrics were scored")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=4, help="answers that are counted")
    given = parser.parse_args()
    first, *records = read_records(SAMPLE / "answers.jsonl").records[: given.answers + 1]
    times: dict[str, list[float]] = {}
    for name, way in WAYS.items():
        seconds(first, *way)
        times[name] = [seconds(record, *way) for record in records]
    slowest = times["language_model"]
    for name, taken in times.items():
        ratios = [s / t for s, t in zip(slowest, taken, strict=True)]
        figures = {
            "median_s": round(statistics.median(taken), 2),
            "most_s": round(max(taken), 2),
            "times_faster_than_language_model": round(statistics.median(ratios), 2),
            "answers": len(records),
        }
        print(json.dumps({"by": name, **figures}), flush=True)


if __name__ == "__main__":
    main()
