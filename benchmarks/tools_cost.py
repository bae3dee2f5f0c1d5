"""Measure the cost of the pytest plugin and of tracing, used and unused.

python benchmarks/tools_cost.py

Plugin: processor time of pytest on 200 empty tests, alternating without and with the plugin.
Tracing: processor time per answer of a scripted local judge (12 calls), with tracing off, on, and
on with content, with a collector in the same process that discards its input. The script also times
one untraced call of a traced function.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from ragassay.evaluators.build_run import build_run
from ragassay.process import run_sync
from ragassay.records import Document, Record
from ragassay.retrievers.literature import Corpus
from ragassay.runs.evaluate import build_job, run_job
from ragassay.settings import load_settings
from ragassay.testing import ScriptedModel
from ragassay.tracing import call_span

N_RUNS = 9
N_ANSWERS = 20


def main() -> None:
    plugin()
    untraced_call()
    tracing()


def spent_s(whose: int) -> float:
    """Return the processor time used so far, in seconds."""
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


def print_samples(what: str, samples: list[float], unit: str) -> None:
    found = {"median": statistics.median(samples), "min": min(samples), "max": max(samples)}
    print(json.dumps({"what": what, **{k: round(v, 3) for k, v in found.items()}, "unit": unit}))


def plugin() -> None:
    """Time pytest in a folder of empty tests."""
    variants = {
        "pytest without the plugin": (),
        "pytest with it, unused": ("-p", "ragassay.pytest_plugin"),
        "pytest --ragassay, unused": ("-p", "ragassay.pytest_plugin", "--ragassay"),
    }
    env = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    env["PYTHONPATH"] = str(Path(__file__).parent.parent)
    samples: dict[str, list[float]] = {name: [] for name in variants}
    with tempfile.TemporaryDirectory() as folder:
        tests = "".join(f"def test_{n}(): pass\n" for n in range(200))
        Path(folder, "test_empty.py").write_text(tests)
        for i in range(N_RUNS + 1):
            for name, options in variants.items():
                command = [sys.executable, "-m", "pytest", "-q", *options]
                start = spent_s(resource.RUSAGE_CHILDREN)
                subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)
                if i:
                    samples[name].append(1000 * (spent_s(resource.RUSAGE_CHILDREN) - start))
    for name, found in samples.items():
        print_samples(name, found, "ms")


def untraced_call() -> None:
    """Time a function that does nothing, with and without disabled tracing."""

    async def bare(model: str) -> None:
        return None

    async def untraced(model: str) -> None:
        with call_span(model, (), {}):
            return None

    async def timed(call: Callable[..., Any]) -> float:
        start = time.perf_counter()
        for _ in range(100_000):
            await call(model="a/b")
        return (time.perf_counter() - start) * 10  # microseconds a call

    for name, call in {"bare call": bare, "untraced call": untraced}.items():
        print_samples(name, [asyncio.run(timed(call)) for _ in range(N_RUNS)], "us")


class Sink(BaseHTTPRequestHandler):
    """Handler that discards spans."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Suppress logging."""


def tracing() -> None:
    """Time runs in which a scripted judge evaluates answers."""
    server = HTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{server.server_port}"
    os.environ.setdefault("OPENAI_API_KEY", "none")
    source = Document(id="1", text="Aspirin lowers the risk of stroke.")
    answer = "Aspirin lowers the risk [1]. It is cheap. It is old."
    records = [
        Record(id=str(n), question=f"Why {n}?", answer=answer, sources=(source,))
        for n in range(N_ANSWERS)
    ]
    variants = {
        "answer, tracing off": {},
        "answer, tracing on": {"tracing": True},
        "answer, tracing on with content": {"tracing": True, "tracing_content": True},
    }
    samples: dict[str, list[float]] = {name: [] for name in variants}
    with ScriptedModel(keep_requests=False) as model:
        for i in range(N_RUNS + 1):
            for name, options in variants.items():
                settings = load_settings(
                    model=model.model_name,
                    api_base=model.base_url,
                    only=("rubrics", "sentences"),
                    signals=False,
                    **options,
                )
                job = build_job(records, Corpus())
                run = build_run(settings, job.corpus)
                start = spent_s(resource.RUSAGE_SELF)
                run_sync(run_job(job, run, None))
                if i:
                    spent = spent_s(resource.RUSAGE_SELF) - start
                    samples[name].append(1000 * spent / N_ANSWERS)
        print(json.dumps({"calls": model.n_requests // (3 * (N_RUNS + 1) * N_ANSWERS)}))
    for name, found in samples.items():
        print_samples(name, found, "ms")


if __name__ == "__main__":
    main()
