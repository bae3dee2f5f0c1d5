"""Wait for conditions that depend on other processes, and find their ports."""

from __future__ import annotations

import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx

LONGEST_S = 300.0
"""Timeout that is long enough for a busy machine."""


def wait_until(happens: Callable[[], object], *processes: subprocess.Popen[Any]) -> None:
    """Return once a condition holds, and fail early if one of the processes ends."""
    assert processes, "whose end would end the wait?"
    end = time.monotonic() + LONGEST_S
    while not happens():
        assert time.monotonic() < end, "it took too long"
        for process in processes:
            try:
                code = process.wait(0.02)
            except subprocess.TimeoutExpired:
                continue
            assert happens(), f"{process.args} ended with {code}"


def n_on_disk(folder: Path) -> int:
    """Return the number of verdicts in the folder of a run or an audit."""
    with closing(sqlite3.connect(folder / "verdicts.sqlite")) as connection:
        return int(connection.execute("SELECT count(*) FROM finished").fetchone()[0])


def find_free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_up(url: str) -> bool:
    """Return whether a server answers, whatever proxies are set."""
    try:
        return httpx.get(url, trust_env=False).is_success
    except httpx.TransportError:
        return False
