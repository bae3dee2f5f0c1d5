"""The local engine and Ray side by side, on a scripted model: speed, memory, losses, limits.

    python benchmarks/engines.py --answers 1000 10000        # both engines, nine rubrics each
    python benchmarks/engines.py --kill-every 20 --for 300   # workers killed while they judge
    python benchmarks/engines.py --rpm 3000                  # three workers, 50 calls a second

The answers are the sample's, each with a question of its own. Each run of the first has a process
of its own, and so has the scripted model of the first two. Ideal: calls * latency / width.
The second has the replies name their request, and reads the folder's verdicts before each kill:
`asked_again_on_disk` counts the requests that came later than a reading that found their verdict.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from named_model import OnDisk, named_model
from throughput import SAMPLE, scripted_process

SAME = ("evaluations.jsonl", "summary.json", "run.json", "report.md", "report.html")


def job_of_many(n: int) -> Any:
    from ragassay.runs.evaluate import job_of, read_job

    sample = read_job(SAMPLE / "answers.jsonl", SAMPLE / "abstracts.jsonl")
    repeated = itertools.islice(itertools.cycle(sample.records), n)
    records = [
        record.model_copy(
            update={"id": f"answer-{i}", "question": f"{record.question} ({i})", "topic": None}
        )
        for i, record in enumerate(repeated)
    ]
    return job_of(records, sample.corpus)


def one(given: argparse.Namespace) -> None:
    """Run one engine in this process; print what it took."""
    import psutil

    start = time.perf_counter()
    options = {"engine": given.engine, "workers": given.workers}
    result = evaluated_by(given, options)
    wall = time.perf_counter() - start
    n_calls = result.summary.usage.n_calls
    ideal = n_calls * given.latency / given.width
    busy = psutil.Process().cpu_times()
    row = {
        "engine": given.engine,
        "answers": given.answers[0],
        "calls": n_calls,
        "wall_s": round(wall, 1),
        "ideal_s": round(ideal, 1),
        "share_of_ideal": round(ideal / wall, 3),
        "driver_cpu_ms_a_call": round(1000 * (busy.user + busy.system) / n_calls, 2),
        "driver_peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    print(json.dumps(row), flush=True)


def evaluated_by(given: argparse.Namespace, options: dict[str, Any]) -> Any:
    from ragassay.evaluators.build_run import build_run
    from ragassay.process import run_sync
    from ragassay.runs.evaluate import run
    from ragassay.runs.folder import RunFolder
    from ragassay.settings import load_settings

    job = job_of_many(given.answers[0])
    settings = load_settings(
        model="openai/scripted",
        api_base=given.url,
        concurrency=given.width,
        only=("rubrics",),
        signals=False,
        **options,
    )
    return run_sync(run(job, build_run(settings, job.corpus), RunFolder(Path(given.out))))


def side_by_side(given: argparse.Namespace) -> None:
    """Run both engines, each in a process of its own, and compare their files."""
    for n in given.answers:
        with scripted_process(given.latency) as url, tempfile.TemporaryDirectory() as folder:
            for engine in ("local", "ray"):
                passed = ("latency", "width", "workers")
                options = [f"--{name}={getattr(given, name)}" for name in passed]
                out = Path(folder) / engine
                command = [sys.executable, __file__, f"--answers={n}", *options]
                command += [f"--engine={engine}", f"--url={url}", f"--out={out}"]
                subprocess.run(command, check=True)
            same = [
                (Path(folder) / "local" / name).read_bytes()
                == (Path(folder) / "ray" / name).read_bytes()
                for name in SAME
            ]
            page = (Path(folder) / "ray" / "report.html").stat().st_size
            print(json.dumps({"answers": n, "same_files": all(same), "report_mb": page / 1e6}))


@dataclass
class Killer:
    """Kills a worker again and again, and notes before each kill what is on disk.

    Attributes:
        for_s: How long it kills from when the first worker judges.
        on_disk: When a reading first found a request's verdict on disk, by the request's key.
    """

    every_s: float
    for_s: float
    disk: OnDisk
    n_kills: int = 0
    on_disk: dict[str, float] = field(default_factory=dict)
    ended: threading.Event = field(default_factory=threading.Event)

    def kill_on(self) -> None:
        while not self.ended.wait(0.5) and not workers_of("work_on_shard"):
            pass
        started = time.monotonic()
        while not self.ended.wait(self.every_s) and time.monotonic() - started <= self.for_s:
            if pids := workers_of("work_on_shard"):
                self.read()
                os.kill(pids[0], signal.SIGKILL)
                self.n_kills += 1
                after = time.monotonic() - started
                print(f"kill after {after:.0f} s: {len(self.on_disk)} on disk", file=sys.stderr)

    def read(self) -> None:
        found = self.disk.new()
        self.on_disk = dict.fromkeys(found, time.monotonic()) | self.on_disk


def killed(given: argparse.Namespace) -> None:
    """Kill a worker again and again while a run goes on; count what was lost and asked again."""
    with named_model(given.latency) as (url, came), tempfile.TemporaryDirectory() as out:
        verdicts = Path(out) / "verdicts.sqlite"
        killer = Killer(given.kill_every, given.seconds, OnDisk(verdicts))
        thread = threading.Thread(target=killer.kill_on)
        given.url, given.out = url, out
        started = time.monotonic()
        thread.start()
        try:
            result = evaluated_by(given, {"engine": "ray", "workers": given.workers})
        finally:
            killer.ended.set()
            thread.join()
        wall = time.monotonic() - started
        requests, at_the_end = came(), OnDisk(verdicts).new()
    never = float("inf")
    row = {
        "answers": given.answers[0],
        "wall_s": round(wall, 1),
        "kills": killer.n_kills,
        "evaluations": len(result.evaluations),
        "failures": len(result.failures),
        "calls": len(requests),
        "asked_again": len(requests) - len({key for key, _ in requests}),
        "asked_again_on_disk": sum(at > killer.on_disk.get(key, never) for key, at in requests),
        "seen_on_disk_at_kills": len(killer.on_disk),
        "lost_from_disk": len(killer.on_disk.keys() - at_the_end),
        "never_on_disk": len({key for key, _ in requests} - at_the_end),
    }
    print(json.dumps(row))


def workers_of(task: str) -> list[int]:
    """Return the processes of this one's cluster that run a task."""
    import psutil

    found: list[int] = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has ended
            if any(f"ray::{task}" in part for part in process.cmdline()):
                found.append(process.pid)
    return found


def bounded(given: argparse.Namespace) -> None:
    """Three workers against a server that turns away more calls a second than it allows."""
    from ragassay.testing import Fault, ScriptedModel

    a_second, taken = given.rpm / 60, deque[float]()

    def is_too_much(body: object) -> bool:
        now = time.monotonic()
        while taken and now - taken[0] >= 1.0:
            taken.popleft()
        if len(taken) >= a_second:
            return True
        taken.append(now)
        return False

    limit = Fault("rate_limit", when=is_too_much, retry_after_s=0.1)
    options = {"engine": "ray", "workers": 3, "max_rpm": given.rpm}
    with (
        ScriptedModel(latency_s=given.latency, faults=[limit]) as model,
        tempfile.TemporaryDirectory() as out,
    ):
        given.url, given.out = model.base_url, out
        result = evaluated_by(given, options)
        times = [request.received_s for request in model.requests]
        turned_away = sum(request.fault is not None for request in model.requests)
    row = {
        "answers": len(result.evaluations),
        "calls": len(times),
        "calls_a_second": round((len(times) - 1) / (times[-1] - times[0]), 2),
        "turned_away": turned_away,
    }
    print(json.dumps(row))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answers", type=int, nargs="+", default=[1000])
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--width", type=int, default=64, help="calls under way, over all workers")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill-every", type=float, help="seconds")
    parser.add_argument("--for", dest="seconds", type=float, default=300.0, help="seconds")
    parser.add_argument("--rpm", type=int, default=0)
    for name in ("engine", "url", "out"):
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "sk-scripted")
    if given.engine:
        one(given)
    elif given.kill_every:
        killed(given)
    elif given.rpm:
        bounded(given)
    else:
        side_by_side(given)


if __name__ == "__main__":
    main()
