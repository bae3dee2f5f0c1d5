"""Run `ragassay` in a process without some libraries and without network."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from conftest import ROOT

from ragassay.extras import EXTRAS

ALSO_BASE = {"nltk"}
"""Dependency of TextBlob."""

ABSENT = {module for modules in EXTRAS.values() for module in modules} - ALSO_BASE
BROUGHT = {"PIL", "boto3", "datasets", "kubernetes", "sqlalchemy"}
"""Dependencies of other libraries, or unused modules."""


def run_without(
    modules: set[str], *calls: str, cwd: Path, package: Path = ROOT, home: Path | None = None
) -> dict[str, Any]:
    """Run calls in a process that lacks these modules, and return the output of `without.py`."""
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "without.py", ",".join(sorted(modules)), *calls],
        cwd=cwd,
        env={
            "PYTHONPATH": str(package),
            "PATH": "/usr/bin:/bin",
            "HOME": str(home or cwd),
            # Tests run in parallel, so use one thread per process.
            "OMP_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
