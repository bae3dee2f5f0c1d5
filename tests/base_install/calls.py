"""Run command lines of `ragassay` in one process: `python calls.py [HIDDEN...] < CALLS`.

HIDDEN are modules that this process is to lack besides; CALLS are lines of JSON, a folder and the
command line to run there. Each is answered by a line of JSON on stdout: its exit code, what it
printed, the files that it made, and the traceback of an error that no command may end with. Only
this machine can be reached.
"""

from __future__ import annotations

import functools
import json
import os
import shlex
import socket
import sys
import time
import traceback
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any


class Hidden(MetaPathFinder):
    """Finds no module of these names."""

    def __init__(self, names: list[str]) -> None:
        self._names = frozenset(names)

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def keep_on_this_machine() -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError("no network here")
        connect(self, address)

    socket.socket.connect = guarded  # type: ignore[method-assign]


def files() -> dict[str, int]:
    """Every file of the working folder, with the time of its last change."""
    return {str(path): path.stat().st_mtime_ns for path in Path().rglob("*") if path.is_file()}


def run(folder: str, call: str) -> dict[str, Any]:
    from typer.testing import CliRunner

    from ragassay.cli import app

    if "--batch" in call:
        from ragassay.models import batch_queue

        # The scripted provider answers at once.
        batch_queue.QUIET_S, batch_queue.FIRST_CHECK_S = 0.5, 0.1
    os.chdir(folder)
    before, begun = files(), time.monotonic()
    done = CliRunner().invoke(app, shlex.split(call))
    crash = ""
    if done.exception and not isinstance(done.exception, SystemExit):
        crash = "".join(traceback.format_exception(done.exception))
    return {
        "code": done.exit_code,
        "out": done.stdout,
        "error": done.stderr,
        "crash": crash,
        "written": sorted(path for path, at in files().items() if before.get(path) != at),
        "seconds": round(time.monotonic() - begun, 2),
    }


def main() -> None:
    import typer.main

    # A call builds all commands, most of the work of one that is refused.
    typer.main.get_command = functools.cache(typer.main.get_command)
    keep_on_this_machine()
    sys.meta_path.insert(0, Hidden(sys.argv[1:]))
    stdout = sys.stdout
    for call in sys.stdin:
        print(json.dumps(run(*json.loads(call))), file=stdout, flush=True)


if __name__ == "__main__":
    main()
