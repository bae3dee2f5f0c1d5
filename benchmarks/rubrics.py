"""Compare three ways to rate nine rubrics per answer, in one run.

    python benchmarks/rubrics.py

The ways are signals alone, the fine-tuned judge with signals (the default of a run), and the bare
language model. The input is the sample's answers with five abstracts each. An uncounted first
answer loads the models. No answer's sources were processed before.
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
"""Model and whether signals are used, by name."""


def seconds(record: ragassay.Record, model: str, signals: bool) -> float:
    settings = load_settings(model=model, only=("rubrics",), signals=signals)
    start = time.perf_counter()
    result = ragassay.evaluate([record], corpus=SAMPLE / "abstracts.jsonl", settings=settings)
    elapsed = time.perf_counter() - start
    n_scored = sum(judgment.rating is not None for judgment in result[0].judgments)
    if n_scored != 9:
        raise SystemExit(f"{record.id}: {n_scored} of nine rubrics were scored")
    return elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=4, help="number of timed answers")
    args = parser.parse_args()
    first, *records = read_records(SAMPLE / "answers.jsonl").records[: args.answers + 1]
    times: dict[str, list[float]] = {}
    for name, way in WAYS.items():
        seconds(first, *way)
        times[name] = [seconds(record, *way) for record in records]
    slowest = times["language_model"]
    for name, seconds_taken in times.items():
        ratios = [s / t for s, t in zip(slowest, seconds_taken, strict=True)]
        figures = {
            "median_s": round(statistics.median(seconds_taken), 2),
            "most_s": round(max(seconds_taken), 2),
            "times_faster_than_language_model": round(statistics.median(ratios), 2),
            "answers": len(records),
        }
        print(json.dumps({"by": name, **figures}), flush=True)


if __name__ == "__main__":
    main()
