"""Measure `pip install ragassay`: seconds, megabytes and the largest packages.

python benchmarks/install.py [--no-compile] [--extras dense] [--wheel dist/ragassay-0.1.0.whl]

Creates an environment, builds a wheel from this checkout unless --wheel is passed, and installs it.
pip compiles all modules to byte code unless `--no-compile` is passed, in which case Python compiles
modules on import. `--keep FOLDER` preserves the environment.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST_PARTS = """
import json
from importlib.metadata import distributions
sizes = {}
for one in distributions():
    paths = (one.locate_file(file) for file in one.files or ())
    size = sum(path.stat().st_size for path in paths if path.is_file())
    sizes[f"{one.name} {one.version}"] = size
print(json.dumps(sizes))
"""


def build_wheel(python: Path, folder: Path) -> Path:
    subprocess.run(
        [python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT],
        check=True,
    )
    (wheel,) = folder.glob("ragassay-*.whl")
    return wheel


def size_of(folder: Path) -> int:
    """Return the total size of all files in a folder, in bytes."""
    paths = (path for path in folder.rglob("*") if not path.is_symlink())
    return sum(path.stat().st_size for path in paths if path.is_file())


def measure(
    environment: Path, wheel: Path | None, extras: str, choices: list[str]
) -> dict[str, object]:
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    wheel = wheel or build_wheel(python, environment / "wheel")
    requirement = f"{wheel}[{extras}]" if extras else str(wheel)
    before, start = size_of(environment), time.perf_counter()
    subprocess.run([python, "-m", "pip", "install", "--quiet", *choices, requirement], check=True)
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    listed = subprocess.run([python, "-c", LIST_PARTS], check=True, capture_output=True, text=True)
    parts = sorted(json.loads(listed.stdout).items(), key=lambda part: -part[1])
    return {
        "extras": extras,
        "compiled": not choices,
        "seconds": round(seconds),
        "processor_seconds": round(used.ru_utime + used.ru_stime),
        "mb": round((size_of(environment) - before) / 1e6),
        "distributions": len(parts),
        "largest_mb": {name: round(size / 1e6, 1) for name, size in parts[:25]},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", default="", help="comma-separated extras")
    parser.add_argument("--wheel", type=Path, help="path of an existing wheel")
    parser.add_argument(
        "--no-compile", action="store_true", help="do not compile byte code at installation"
    )
    parser.add_argument("--keep", type=Path, help="folder in which to preserve the environment")
    options = parser.parse_args()
    choices = ["--no-compile"] if options.no_compile else []
    with tempfile.TemporaryDirectory() as folder:
        wheel = options.wheel and options.wheel.resolve()
        result = measure(options.keep or Path(folder), wheel, options.extras, choices)
    json.dump(result, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
