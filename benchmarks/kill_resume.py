"""Kill a run again and again with SIGKILL; the same command must finish it as if nothing had been.

    python benchmarks/kill_resume.py --answers 100 --kills 20

Checked, with a non-zero exit code where it fails:

- the evaluations equal, byte for byte, those of a run that was never killed;
- no finished judgment was asked for again. The model's log counts the requests that it answered
  to a living client; of these, a kill may lose only the ones whose verdict was not on disk yet:
  answered <= needed + lost, where lost is counted on the disk after each kill. (It can be less: a
  verdict that reached the checkpoint and not the cache is not asked for again either.)
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SAMPLE = Path(__file__).parent.parent / "examples" / "sample"


def write_answers(path: Path, n_answers: int) -> None:
    """The sample's answers over and over, each with words of its own."""
    rows = [json.loads(line) for line in (SAMPLE / "answers.jsonl").read_text().splitlines()]
    with path.open("w", encoding="utf-8") as file:
        for n in range(n_answers):
            row = dict(rows[n % len(rows)], id=f"answer-{n}")
            row["question"] += f" (variant {n})"
            file.write(json.dumps(row) + "\n")


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

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


@dataclass(frozen=True)
class Command:
    """The command that is killed, and given again."""

    answers: Path
    only: Sequence[str]
    errors: Path

    def start(self, out: Path, model: Model) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "ragassay", "evaluate", str(self.answers)]
        command += ["--corpus", str(SAMPLE / "abstracts.jsonl"), "--out", str(out), "--quiet"]
        command += ["--model", "openai/scripted", "--api-base", model.url, "--concurrency", "32"]
        command += [word for part in self.only for word in ("--only", part)]
        with self.errors.open("w") as sink:
            return subprocess.Popen(command, stderr=sink, stdout=sink, text=True)

    def run_to_the_end(self, out: Path, model: Model) -> None:
        code = self.start(out, model).wait()
        if code:
            sys.exit(f"the run ended with {code}: {self.errors.read_text()}")


def n_on_disk(out: Path) -> int:
    """Verdicts of a model that the run folder holds; correctness is an instrument's."""
    file = out / "verdicts.sqlite"
    if not file.exists():
        return 0
    with sqlite3.connect(file) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name = 'cache'")
        if tables.fetchone() is None:
            return 0
        wanted = "SELECT count(*) FROM cache WHERE ns NOT LIKE '%ask_correctness%'"
        return int(connection.execute(wanted).fetchone()[0])


def kill_once(command: Command, out: Path, model: Model, n_more: int, pause: float) -> bool:
    """Start, wait for `n_more` answered requests and a moment, kill. False: it ended before."""
    before = model.n_answered()
    process = command.start(out, model)
    while model.n_answered() < before + n_more and process.poll() is None:
        time.sleep(0.01)
    time.sleep(pause)
    is_alive = process.poll() is None
    process.kill()
    process.wait()
    return is_alive


def measure(
    n_answers: int, n_kills: int, latency_s: float, seed: int, only: Sequence[str]
) -> dict[str, object]:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = Command(folder / "answers.jsonl", only, folder / "errors.txt")
        write_answers(command.answers, n_answers)
        model = Model(folder / "whole.log", latency_s)
        command.run_to_the_end(folder / "whole", model)
        needed = model.n_answered()
        model.close()
        model = Model(folder / "killed.log", latency_s)
        lost = done = 0
        for _ in range(n_kills):
            n_more = rng.randrange(max(1, 2 * needed // (n_kills + 1) - 1))
            done += kill_once(command, folder / "killed", model, n_more, rng.uniform(0, 0.2))
            lost = model.n_answered() - n_on_disk(folder / "killed")
        command.run_to_the_end(folder / "killed", model)
        answered = model.n_answered()
        model.close()
        whole, killed = (
            (folder / run / "evaluations.jsonl").read_bytes() for run in ("whole", "killed")
        )
    return {
        "answers": n_answers,
        "kills": done,
        "equal": whole == killed,
        "needed": needed,
        "answered": answered,
        "lost_in_flight": lost,
        "finished_and_asked_again": max(0, answered - needed - lost),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=100)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", action="append", default=[], help="as for ragassay evaluate")
    given = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "sk-scripted")
    found = measure(given.answers, given.kills, given.latency, given.seed, given.only)
    print(json.dumps(found))
    if not found["equal"] or found["finished_and_asked_again"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
