"""Nine rubrics an answer: by signals, against the bare language model, side by side in one run.

    python benchmarks/rubrics.py

The answers are the sample's, each with its five abstracts; the models are loaded by a first answer
that is not counted. Every answer's sources are new to the process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import ragassay
from ragassay.formats import read_records
from ragassay.settings import load_settings

SAMPLE = Path(__file__).parent.parent / "examples" / "sample"


def seconds(record: ragassay.Record, signals: bool) -> float:
    settings = load_settings(only=("rubrics",), signals=signals)
    start = time.perf_counter()
    result = ragassay.evaluate([record], settings=settings)
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
    by_signals, by_model = [], []
    for name, times in ((True, by_signals), (False, by_model)):
        seconds(first, name)
        times += [seconds(record, name) for record in records]
    ratios = [m / s for m, s in zip(by_model, by_signals, strict=True)]
    print(
        json.dumps(
            {
                "signals_s": round(statistics.median(by_signals), 2),
                "signals_most_s": round(max(by_signals), 2),
                "language_model_s": round(statistics.median(by_model), 2),
                "ratio_median": round(statistics.median(ratios), 2),
                "answers": len(records),
            }
        )
    )


if __name__ == "__main__":
    main()
