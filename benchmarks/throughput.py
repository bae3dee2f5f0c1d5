"""Measure throughput and processor time: 60 answers, scripted model, 1 s latency.

    python benchmarks/throughput.py

The scripted model runs in its own process, so its work is not counted. The run is repeated with the
same embedding model. Embeddings are cached the second time, so only the orchestration is left
(LangGraph with checkpoints and cache, DSPy, LiteLLM, our own code).
Ideal: calls * latency / concurrency.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

SAMPLE = Path(__file__).parent.parent / "examples" / "sample"


@contextmanager
def scripted_process(latency_s: float) -> Iterator[str]:
    """Start a scripted model in its own process, and yield its base URL."""
    command = [sys.executable, "-m", "ragassay.testing", "--port", "0", "--latency", str(latency_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def measure(n_answers: int, latency_s: float, concurrency: int) -> list[dict[str, float]]:
    from ragassay.evaluators.build_run import build_run
    from ragassay.runs.evaluate import build_job, read_job, run_job
    from ragassay.runs.folder import RunFolder
    from ragassay.settings import load_settings

    sample = read_job(SAMPLE / "answers.jsonl", SAMPLE / "abstracts.jsonl")
    # Use distinct questions, because a repeated question and answer would come from the cache.
    records = [
        record.model_copy(update={"id": f"answer-{i}", "question": f"{record.question} ({i})"})
        for i, record in enumerate(itertools.islice(itertools.cycle(sample.records), n_answers))
    ]
    rows: list[dict[str, float]] = []
    with scripted_process(latency_s) as url, tempfile.TemporaryDirectory() as folder:
        settings = load_settings(model="openai/scripted", api_base=url, concurrency=concurrency)
        run = build_run(settings, sample.corpus)
        await run_job(build_job(records[:1], sample.corpus), run, None)
        for attempt in ("first", "embeddings known"):
            out = RunFolder(Path(folder) / attempt)
            wall, cpu = time.perf_counter(), time.process_time()
            result = await run_job(build_job(records, sample.corpus), replace(run), out)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            n_calls = result.summary.usage.n_calls
            ideal = n_calls * latency_s / concurrency
            rows.append(
                {
                    "run": attempt,
                    "answers": n_answers,
                    "calls": n_calls,
                    "wall_s": round(wall, 2),
                    "ideal_s": round(ideal, 2),
                    "share_of_ideal": round(ideal / wall, 3),
                    "cpu_ms_a_call": round(1000 * cpu / n_calls, 2),
                }
            )
            print(json.dumps(rows[-1]), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=60)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--concurrency", type=int, default=64)
    args = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "sk-scripted")
    asyncio.run(measure(args.answers, args.latency, args.concurrency))


if __name__ == "__main__":
    main()
