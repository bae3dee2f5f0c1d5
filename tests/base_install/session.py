"""A process of a base environment that runs command lines, one after another."""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from conftest import ROOT

HIDDEN_KEYS = {"OPENAI_API_KEY": "sk-test", "VERTEXAI_PROJECT": "p", "VERTEXAI_LOCATION": "l"}


@dataclass(frozen=True)
class Done:
    """What a call ended with.

    Attributes:
        code: Its exit code.
        out: What it printed.
        error: What it printed on stderr.
        crash: The traceback of an error that no command may end with.
        written: Files that it made or changed.
        seconds: How long it took.
    """

    code: int
    out: str
    error: str
    crash: str
    written: tuple[str, ...]
    seconds: float


class Session:
    """The process; left with `with`.

    Args:
        python: The interpreter of the environment.
        folder: Where it works.
        package: The folder that has the package; None where the environment has it.
        hidden: Modules that it is to lack besides.
    """

    def __init__(
        self, python: Path, folder: Path, package: Path | None = ROOT, hidden: tuple[str, ...] = ()
    ) -> None:
        self.folder = folder
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder / "home"),
            "PYTHONPATH": str(package or ""),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
            "RAGASSAY_SIGNALS": "false",
            "COLUMNS": "200",
            **HIDDEN_KEYS,
        }
        calls = ROOT / "tests" / "base_install" / "calls.py"
        self._process = subprocess.Popen(
            [python, "-W", "ignore", calls, *hidden],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, call: str) -> Done:
        """Run a command line."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(f"{call}\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return Done(**{**answer, "written": tuple(answer["written"])})


def command_of(call: str, commands: set[str]) -> str:
    """The command of a line: its first word, or its first two."""
    words = shlex.split(call)
    two = " ".join(words[:2])
    return two if two in commands else words[0]
