"""Kill a command repeatedly with SIGKILL, and check that it resumes without losing work.

    python benchmarks/kill_resume.py evaluate --answers 100 --kills 20
    python benchmarks/kill_resume.py --kills 20
    python benchmarks/kill_resume.py --full-disk

Without a command name, the script tests all of them: evaluate, audit, grade, synthesize, optimize,
corpus build and corpus embed. With --full-disk it kills nothing. Instead, file sizes are first
limited to half of the largest file, and the command must report the error in one line.

The exit code is non-zero unless these conditions are met:

- The result equals that of an uninterrupted run: run files byte for byte, corpus articles and
  rankings exactly, and vectors to six digits.
- No request is repeated after its verdict reached the disk. The model logs the requests that it
  answered while the client was connected. A kill may lose only answers that are not on disk yet, so
  answered <= needed + lost, with lost counted on disk after each kill. The sum can be smaller,
  because a verdict in the checkpoint but not in the cache is not requested again either.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from resumable import COMMANDS, Job
from typer.testing import CliRunner

from ragassay.cli import app


class Model:
    """A scripted model in its own process, with a log of its answers."""

    def __init__(self, log: Path, latency_s: float) -> None:
        self._log = log
        log.touch()
        command = [sys.executable, "-m", "ragassay.testing", "--port", "0"]
        command += ["--latency", str(latency_s), "--log", str(log)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def n_answered(self) -> int:
        """Return the number of requests answered while the client was connected."""
        lines = self._log.read_text(encoding="utf-8").splitlines()
        return sum(1 for line in lines if line.endswith("}") and json.loads(line)["client_there"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()


@dataclass(frozen=True)
class Command:
    """A command that can be killed and restarted, with its folder and model."""

    job: Job
    out: Path
    model: Model

    @property
    def arguments(self) -> list[str]:
        return list(self.job.words(self.out, self.model.url))

    @property
    def words(self) -> list[str]:
        return [sys.executable, "-m", "ragassay", *self.arguments]

    def start(self, output: IO[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(self.words, stdout=output, stderr=output, text=True)

    def run_to_the_end(self) -> float:
        """Run to completion in this process, and return the elapsed seconds."""
        start = time.monotonic()
        done = CliRunner().invoke(app, self.arguments)
        if done.exit_code not in self.job.done_codes:
            sys.exit(f"the command ended with {done.exit_code}: {done.output}{done.exception}")
        return time.monotonic() - start

    def kill_once(self, n_more: int, pause_s: float) -> bool:
        """Start, wait for `n_more` answers or the first written file, pause, and kill.

        Returns:
            Whether the process was still running.
        """
        before, start = self.model.n_answered(), time.time()
        with tempfile.TemporaryFile("w+") as output:
            process = self.start(output)
            while process.poll() is None and not (
                self.model.n_answered() >= before + n_more
                if self.job.n_kept
                else last_written(self.out) > start
            ):
                time.sleep(0.01)
            time.sleep(pause_s)
            is_alive = process.poll() is None
            process.kill()
            process.wait()
        return is_alive

    def fill_once(self, n_bytes: int) -> bool:
        """Run with a limit on file sizes.

        Python would also truncate the compiled modules that it writes, and not notice.

        Returns:
            Whether the command failed with one line on stderr.
        """
        done = subprocess.run(
            self.words,
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes)),
        )
        print(done.stderr, file=sys.stderr, end="")
        return done.returncode == 1 and done.stderr.count("\n") == 1

    def n_lost(self) -> int:
        """Return the number of answers that are not on disk."""
        return self.model.n_answered() - self.job.n_kept(self.out) if self.job.n_kept else 0


def last_written(folder: Path) -> float:
    """Return the latest modification time in a folder, ignoring locks, or 0 if empty."""
    times = [0.0]
    for file in folder.rglob("*"):
        try:
            times.append(file.stat().st_mtime if file.name != ".lock" else 0)
        except FileNotFoundError:
            continue
    return max(times)


def largest(folder: Path) -> int:
    return max(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def measure(
    job: Job, folder: Path, n_kills: int, latency_s: float, seed: int, is_full: bool = False
) -> dict[str, object]:
    """Run a command undisturbed, then with kills or a full disk, and compare the results."""
    rng = random.Random(seed)
    with Model(folder / "whole.log", latency_s) as model:
        job.prepare(folder / "whole")
        whole = Command(job, folder / "whole", model)
        took_s = whole.run_to_the_end()
        needed = model.n_answered()
    n_more = max(1, 2 * needed // (n_kills + 1) - 1)
    longest_s = 0.2 if job.n_kept else 2 * took_s / (n_kills + 1)
    with Model(folder / "killed.log", latency_s) as model:
        job.prepare(folder / "killed")
        killed = Command(job, folder / "killed", model)
        lost = done = 0
        for _ in range(n_kills):
            done += killed.kill_once(rng.randrange(n_more), rng.uniform(0, longest_s))
            lost = killed.n_lost()
        if is_full:
            done = killed.fill_once(int(job.full_at * largest(whole.out)))
            lost = killed.n_lost()
        killed.run_to_the_end()
        answered = model.n_answered()
    return {
        "command": job.name,
        "said in one line" if is_full else "kills": done,
        "equal": job.result(whole.out) == job.result(killed.out),
        "needed": needed,
        "answered": answered,
        "lost_in_flight": lost,
        "finished_and_asked_again": max(0, answered - needed - lost),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "command", nargs="*", choices=[[], *COMMANDS], help="commands to test (default: all)"
    )
    parser.add_argument(
        "--answers",
        type=int,
        default=30,
        help="number of answers; input of other commands scales with it",
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--full-disk", action="store_true")
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--only", action="append", default=[], help="evaluator to run, as in ragassay evaluate"
    )
    args = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "sk-scripted")
    ok = True
    for name in args.command or COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            job = COMMANDS[name](Path(folder), args.answers, args.only)
            n_kills = 0 if args.full_disk else args.kills
            row = measure(job, Path(folder), n_kills, args.latency, args.seed, args.full_disk)
        print(json.dumps(row), flush=True)
        ok = ok and bool(row["equal"]) and not row["finished_and_asked_again"]
        ok = ok and row.get("said in one line", True) is True
    sys.exit(not ok)


if __name__ == "__main__":
    main()
