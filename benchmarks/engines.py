"""Compare the local engine and Ray on a scripted model: speed, memory, lost calls and rate limits.

    python benchmarks/engines.py --answers 1000 10000        # both engines, nine rubrics each
    python benchmarks/engines.py --kill-every 20 --for 300   # workers killed while they judge
    python benchmarks/engines.py --rpm 3000                  # three workers, 50 calls a second

The input repeats the sample's answers with distinct questions. The first command runs each engine
in its own process. The first two also run the scripted model in a separate process. Ideal: calls *
latency / width.

In the second command, each reply contains its request key, and the script reads the verdicts on
disk before each kill. `asked_again_on_disk` counts the requests that arrived after their verdict
was seen on disk.
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
    from ragassay.runs.evaluate import build_job, read_job

    sample = read_job(SAMPLE / "answers.jsonl", SAMPLE / "abstracts.jsonl")
    repeated = itertools.islice(itertools.cycle(sample.records), n)
    records = [
        record.model_copy(
            update={"id": f"answer-{i}", "question": f"{record.question} ({i})", "topic": None}
        )
        for i, record in enumerate(repeated)
    ]
    return build_job(records, sample.corpus)


def one(args: argparse.Namespace) -> None:
    import psutil

    start = time.perf_counter()
    options = {"engine": args.engine, "workers": args.workers}
    result = evaluated_by(args, options)
    wall = time.perf_counter() - start
    n_calls = result.summary.usage.n_calls
    ideal = n_calls * args.latency / args.width
    busy = psutil.Process().cpu_times()
    row = {
        "engine": args.engine,
        "answers": args.answers[0],
        "calls": n_calls,
        "wall_s": round(wall, 1),
        "ideal_s": round(ideal, 1),
        "share_of_ideal": round(ideal / wall, 3),
        "driver_cpu_ms_a_call": round(1000 * (busy.user + busy.system) / n_calls, 2),
        "driver_peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    print(json.dumps(row), flush=True)


def evaluated_by(args: argparse.Namespace, options: dict[str, Any]) -> Any:
    from ragassay.evaluators.build_run import build_run
    from ragassay.process import run_sync
    from ragassay.runs.evaluate import run_job
    from ragassay.runs.folder import RunFolder
    from ragassay.settings import load_settings

    job = job_of_many(args.answers[0])
    settings = load_settings(
        model="openai/scripted",
        api_base=args.url,
        concurrency=args.width,
        only=("rubrics",),
        signals=False,
        **options,
    )
    return run_sync(run_job(job, build_run(settings, job.corpus), RunFolder(Path(args.out))))


def side_by_side(args: argparse.Namespace) -> None:
    """Run each engine in its own process, and compare the output files."""
    for n in args.answers:
        with scripted_process(args.latency) as url, tempfile.TemporaryDirectory() as folder:
            for engine in ("local", "ray"):
                passed = ("latency", "width", "workers")
                options = [f"--{name}={getattr(args, name)}" for name in passed]
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
    """Kill a worker at regular intervals, and record the verdicts on disk before each kill.

    Attributes:
        for_s: Duration of the killing in seconds, from the first judging worker.
        on_disk: Time when each request's verdict was first seen on disk, by request key.
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


def killed(args: argparse.Namespace) -> None:
    """Kill workers during a run, and count lost and repeated requests."""
    with named_model(args.latency) as (url, list_requests), tempfile.TemporaryDirectory() as out:
        verdicts = Path(out) / "verdicts.sqlite"
        killer = Killer(args.kill_every, args.seconds, OnDisk(verdicts))
        thread = threading.Thread(target=killer.kill_on)
        args.url, args.out = url, out
        started = time.monotonic()
        thread.start()
        try:
            result = evaluated_by(args, {"engine": "ray", "workers": args.workers})
        finally:
            killer.ended.set()
            thread.join()
        wall = time.monotonic() - started
        requests, at_the_end = list_requests(), OnDisk(verdicts).new()
    never = float("inf")
    row = {
        "answers": args.answers[0],
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
    """Return the ids of this cluster's processes that run a task."""
    import psutil

    found: list[int] = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # the process has ended
            if any(f"ray::{task}" in part for part in process.cmdline()):
                found.append(process.pid)
    return found


def bounded(args: argparse.Namespace) -> None:
    """Run three workers against a server that rejects calls above its rate limit."""
    from ragassay.testing import Fault, ScriptedModel

    a_second, arrivals = args.rpm / 60, deque[float]()

    def is_too_much(body: object) -> bool:
        now = time.monotonic()
        while arrivals and now - arrivals[0] >= 1.0:
            arrivals.popleft()
        if len(arrivals) >= a_second:
            return True
        arrivals.append(now)
        return False

    limit = Fault("rate_limit", when=is_too_much, retry_after_s=0.1)
    options = {"engine": "ray", "workers": 3, "max_rpm": args.rpm}
    with (
        ScriptedModel(latency_s=args.latency, faults=[limit]) as model,
        tempfile.TemporaryDirectory() as out,
    ):
        args.url, args.out = model.base_url, out
        result = evaluated_by(args, options)
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
    parser.add_argument("--width", type=int, default=64, help="concurrent calls over all workers")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill-every", type=float, help="seconds between kills")
    parser.add_argument(
        "--for", dest="seconds", type=float, default=300.0, help="seconds of killing"
    )
    parser.add_argument("--rpm", type=int, default=0)
    for name in ("engine", "url", "out"):
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "sk-scripted")
    if args.engine:
        one(args)
    elif args.kill_every:
        killed(args)
    elif args.rpm:
        bounded(args)
    else:
        side_by_side(args)


if __name__ == "__main__":
    main()
