"""Kill a command again and again with SIGKILL; given again, it must finish as if nothing had been.

    python benchmarks/kill_resume.py evaluate --answers 100 --kills 20
    python benchmarks/kill_resume.py --kills 20
    python benchmarks/kill_resume.py --full-disk

Without a name each command is killed: evaluate, audit, grade, synthesize, optimize, corpus build,
corpus embed.
With --full-disk it is not killed: first its files may only grow to half of the largest, and it must
say so in one line. Checked, with a non-zero exit code where it fails:

- the result equals that of a run that was never killed: the files of a run byte for byte, the
  articles and rankings of a corpus, its vectors to six digits;
- nothing that was on disk was asked of the model again. The model's log counts the requests that
  it answered to a living client; of these, a kill may lose only the ones that were not on disk yet:
  answered <= needed + lost, where lost is counted on the disk after each kill. (It can be less: a
  verdict that reached the checkpoint and not the cache is not asked for again either.)
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


class Model:
    """The scripted model in its own process, with a log of what it answered."""

    def __init__(self, log: Path, latency_s: float) -> None:
        self._log = log
        log.touch()
        command = [sys.executable, "-m", "ragassay.testing", "--port", "0"]
        command += ["--latency", str(latency_s), "--log", str(log)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def n_answered(self) -> int:
        """Requests answered while the client was there."""
        lines = self._log.read_text(encoding="utf-8").splitlines()
        return sum(1 for line in lines if line.endswith("}") and json.loads(line)["client_there"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()


@dataclass(frozen=True)
class Command:
    """The command that is killed, and given again, with its folder and its model."""

    job: Job
    out: Path
    model: Model

    @property
    def words(self) -> list[str]:
        return [sys.executable, "-m", "ragassay", *self.job.words(self.out, self.model.url)]

    def start(self, sink: IO[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(self.words, stdout=sink, stderr=sink, text=True)

    def run_to_the_end(self) -> float:
        """Return the seconds that it took."""
        start = time.monotonic()
        with tempfile.TemporaryFile("w+") as sink:
            code = self.start(sink).wait()
            if code not in self.job.done_codes:
                sink.seek(0)
                sys.exit(f"the command ended with {code}: {sink.read()}")
        return time.monotonic() - start

    def kill_once(self, n_more: int, pause_s: float) -> bool:
        """Start, wait for `n_more` answers or a first written file, and a moment; kill.

        Returns:
            Whether it was still running.
        """
        before, start = self.model.n_answered(), time.time()
        with tempfile.TemporaryFile("w+") as sink:
            process = self.start(sink)
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
        """Start where no file may grow beyond some size.

        Returns:
            Whether it failed with one line on stderr.
        """
        done = subprocess.run(
            self.words,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes)),
        )
        print(done.stderr, file=sys.stderr, end="")
        return done.returncode == 1 and done.stderr.count("\n") == 1

    def n_lost(self) -> int:
        """Answers that are not on disk."""
        return self.model.n_answered() - self.job.n_kept(self.out) if self.job.n_kept else 0


def last_written(folder: Path) -> float:
    """When a file of a folder was last written, locks aside; 0 where there is none."""
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
    """Run a command undisturbed, then with kills or a full disk, and compare."""
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
    parser.add_argument("command", nargs="*", choices=[[], *COMMANDS], help="by default each")
    parser.add_argument("--answers", type=int, default=30, help="also sets the size of the others")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--full-disk", action="store_true")
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", action="append", default=[], help="as for ragassay evaluate")
    given = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "sk-scripted")
    ok = True
    for name in given.command or COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            job = COMMANDS[name](Path(folder), given.answers, given.only)
            n_kills = 0 if given.full_disk else given.kills
            where = (Path(folder), n_kills, given.latency, given.seed, given.full_disk)
            found = measure(job, *where)
        print(json.dumps(found), flush=True)
        ok = ok and bool(found["equal"]) and not found["finished_and_asked_again"]
        ok = ok and found.get("said in one line", True) is True
    sys.exit(not ok)


if __name__ == "__main__":
    main()
