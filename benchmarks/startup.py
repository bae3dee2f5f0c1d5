"""Time to start: help, import, and the first output and first answer of the sample, in processes.

python benchmarks/startup.py
"""

from __future__ import annotations

import json
import os
import pty
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

SAMPLE = Path(__file__).parent.parent / "examples" / "sample"
RAGASSAY = (sys.executable, "-m", "ragassay")
N_RUNS = 10


def whole_s(command: Sequence[str]) -> dict[str, float]:
    """Return the seconds that a command takes."""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return {"": time.perf_counter() - start}


def sample_s() -> dict[str, float]:
    """Return the seconds until the sample run prints, finishes an answer, and ends."""
    with tempfile.TemporaryDirectory() as folder:
        files = [str(SAMPLE / "answers.jsonl"), "--corpus", str(SAMPLE / "abstracts.jsonl")]
        command = [*RAGASSAY, "evaluate", *files, "--out", folder]
        start, output, found = time.perf_counter(), "", dict[str, float]()
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(command[0], command)
        try:
            while piece := os.read(terminal, 65_536):
                elapsed = time.perf_counter() - start
                output += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", piece.decode(errors="replace"))
                if output.strip():
                    found.setdefault(", first output", elapsed)
                if re.search(r" [1-9]\d*/\d+ ", output):
                    found.setdefault(", first finished answer", elapsed)
        except OSError:  # how Linux reports the end of a terminal
            pass
        if os.waitpid(pid, 0)[1]:
            raise SystemExit(output)
        return {**found, ", whole": time.perf_counter() - start}


TIMED: dict[str, Callable[[], dict[str, float]]] = {
    "ragassay --help": partial(whole_s, (*RAGASSAY, "--help")),
    "import ragassay": partial(whole_s, (sys.executable, "-c", "import ragassay")),
    "python itself": partial(whole_s, (sys.executable, "-c", "pass")),
    "sample": sample_s,
}


def main() -> None:
    for name, timed in TIMED.items():
        runs = [timed() for _ in range(N_RUNS + 1)][1:]  # the first run compiles modules
        for part in runs[0]:
            seconds = [run[part] for run in runs]
            median, most = round(statistics.median(seconds), 3), round(max(seconds), 3)
            print(json.dumps({"what": name + part, "median_s": median, "max_s": most}), flush=True)


if __name__ == "__main__":
    main()
