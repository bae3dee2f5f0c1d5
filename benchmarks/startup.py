"""Measure the time of `ragassay --help` and `import ragassay` in new processes.

python benchmarks/startup.py
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "ragassay --help": [sys.executable, "-m", "ragassay", "--help"],
    "import ragassay": [sys.executable, "-c", "import ragassay"],
    "python itself": [sys.executable, "-c", "pass"],
}


def main() -> None:
    for name, command in COMMANDS.items():
        seconds = []
        for _ in range(11):
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            seconds.append(time.perf_counter() - start)
        found = {
            "median_s": round(statistics.median(seconds[1:]), 3),
            "max_s": round(max(seconds[1:]), 3),
        }
        print(json.dumps({"what": name, **found}))


if __name__ == "__main__":
    main()
