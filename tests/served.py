"""A real `ragassay serve` in its own process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from waiting import LONGEST_S

KEY = "dGVzdHMgb2YgcmFnYXNzYXk-71c9"

_PROGRAM = """
import sys
log = open(sys.argv.pop(1), "a", buffering=1)
HOME = ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", None)
def heard(event, args):
    if event == "socket.getaddrinfo" and args[0] not in HOME:
        log.write(f"{event} {args[0]}\\n")
    if event == "socket.connect" and isinstance(args[1], tuple) and args[1][0] not in HOME:
        log.write(f"{event} {args[1]}\\n")
sys.addaudithook(heard)
from ragassay.cli import app
app()
"""


@dataclass
class Served:
    """A running server.

    Attributes:
        url: Base URL for OpenAI clients.
        outside: File that lists attempted connections to other machines.
        told: Output on stderr so far.
    """

    url: str
    process: subprocess.Popen[str]
    outside: Path
    told: list[str]

    def page(self, path: str) -> str:
        """Return the URL of a page outside the API, such as `/metrics`."""
        return self.url.removesuffix("/v1") + path

    def end(self, wait_s: float = 300) -> int:
        """Send SIGTERM, and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(wait_s)


@contextmanager
def served(arguments: Sequence[str], folder: Path, key: str | None = KEY) -> Iterator[Served]:
    """Start `ragassay serve ARGUMENTS` on a free port.

    Args:
        arguments: Command arguments.
        folder: Folder of the notes.
        key: Key that clients must send. None lets the server generate it.
    """
    outside = folder / "outside.log"
    outside.touch()
    # In bfloat16, a reply can depend on the rest of its batch.
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "RAGASSAY_PROMPTING__LOCAL_DTYPE": "float32",
    }
    environment.pop("RAGASSAY_OUTPUT__SERVER_KEY", None)
    if key is not None:
        environment["RAGASSAY_OUTPUT__SERVER_KEY"] = key
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(outside), "serve", "--port", "0", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    told: list[str] = []
    is_told = threading.Event()
    assert process.stdout is not None and process.stderr is not None

    def listen(lines: Iterable[str]) -> None:
        for line in lines:
            told.append(line)
            if "Ctrl-C" in line:
                is_told.set()
        is_told.set()

    listener = threading.Thread(target=listen, args=(process.stderr,))
    listener.start()
    try:
        url = process.stdout.readline().strip()
        assert is_told.wait(LONGEST_S), "the server printed nothing"
        assert url, "".join(told)
        yield Served(url, process, outside, told)
    finally:
        process.kill()
        process.wait()
        listener.join()
        process.stdout.close()
        process.stderr.close()
