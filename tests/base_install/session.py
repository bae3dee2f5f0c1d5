"""A process of a base environment that runs command lines, one after another."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from conftest import ROOT

KEYS = {"OPENAI_API_KEY": "sk-test", "VERTEXAI_PROJECT": "p", "VERTEXAI_LOCATION": "l"}


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
        home: Its home.
        package: The folder that has the package; None where the environment has it.
        hidden: Modules that it is to lack besides.
    """

    def __init__(
        self, python: Path, home: Path, package: Path | None, hidden: tuple[str, ...] = ()
    ) -> None:
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "PYTHONPATH": str(package or ""),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
            "RAGASSAY_EVALUATION__SIGNALS": "false",
            "COLUMNS": "200",
            **KEYS,
        }
        self._python, self._environment = python, environment
        calls = ROOT / "tests" / "base_install" / "calls.py"
        self._process = subprocess.Popen(
            [python, "-W", "ignore", calls, *hidden],
            cwd=home,
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

    def run(self, folder: Path, call: str) -> Done:
        """Run a command line in a folder."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([str(folder), call]) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return Done(**{**answer, "written": tuple(answer["written"])})

    @contextmanager
    def start(self, folder: Path, *words: str) -> Iterator[IO[str]]:
        """Start a process of the same environment, read what it prints, and stop it."""
        process = subprocess.Popen(
            [self._python, *words],
            cwd=folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout
            yield process.stdout
        finally:
            process.terminate()
            process.communicate()


def command_of(call: str, commands: set[str]) -> str:
    """The command of a line: its first word, or its first two."""
    words = shlex.split(call)
    two = " ".join(words[:2])
    return two if two in commands else words[0]
