"""The command with workers: killed, stopped or cut off, it goes on to the files of a local run."""

from __future__ import annotations

import functools
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import ROOT
from waiting import wait_until

from ragassay.store import Store
from ragassay.testing import ScriptedModel

psutil = pytest.importorskip("psutil")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.long,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(find_spec("ray") is None, reason="ragassay[ray] is not installed"),
]

SAMPLE = ROOT / "examples" / "sample" / "answers.jsonl"
SAME = ("evaluations.jsonl", "summary.json", "run.json", "report.html", "report.md")
N_CALLS = 9 * len(SAMPLE.read_text(encoding="utf-8").splitlines())


@pytest.fixture(scope="module")
def head() -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A cluster of this machine with a client server: its process, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ray = Path(sys.executable).with_name("ray")
    ports = ["--port=0", f"--ray-client-server-port={port}", "--dashboard-agent-listen-port=0"]
    ports += ["--min-worker-port=0", "--max-worker-port=0"]
    command = [str(ray), "start", "--head", "--block", "--num-cpus=2", *ports]
    # Not pytest's folder: the paths of Ray's sockets must be short.
    with tempfile.TemporaryDirectory(prefix="ray-") as folder, pytest.MonkeyPatch.context() as env:
        (Path(folder) / "token").write_text(secrets.token_hex(32), encoding="utf-8")
        env.setenv("RAY_AUTH_MODE", "token")
        env.setenv("RAY_AUTH_TOKEN_PATH", str(Path(folder) / "token"))
        command += ["--include-dashboard=false", "--disable-usage-stats", f"--temp-dir={folder}"]
        with open(Path(folder) / "told", "wb") as told:
            started = subprocess.Popen(command, stdout=told, stderr=told, env=environment())
        try:
            wait_until(lambda: is_open(port), started)
            yield started, f"ray://127.0.0.1:{port}"
        finally:
            processes = [psutil.Process(started.pid), *children_of(started)]
            started.terminate()
            started.wait(timeout=60)
            psutil.wait_procs(processes, timeout=30)
            for process in processes:
                if process.is_running():
                    process.kill()


def environment() -> dict[str, str]:
    given = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    return os.environ | given | {"PYTHONPATH": str(ROOT)}


def is_open(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def children_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def workers_of(head: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The processes of a cluster that judge."""
    return [process for process in children_of(head) if "ray::work_on_shard" in command_of(process)]


def command_of(process: psutil.Process) -> str:
    """Its command line; empty where it has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def command(model: ScriptedModel, out: Path, *options: str) -> list[str]:
    ragassay = [sys.executable, "-m", "ragassay", "evaluate", str(SAMPLE), "--out", str(out)]
    judge = ["--model", model.model_name, "--api-base", model.base_url, "--only", "rubrics"]
    return [*ragassay, *judge, "--concurrency", "4", "--quiet", *options]


@contextmanager
def running(
    words: list[str], first: Callable[[], object] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stderr=pipe, env=environment(), preexec_fn=first) as started:
        try:
            yield started
        finally:
            started.kill()


def finish(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0, done.stderr
    assert not done.stderr


def n_verdicts(out: Path) -> int:
    file = out / "verdicts.sqlite"
    return len(list(Store(file).read_all_rows())) if file.exists() else 0


def assert_same(here: Path, there: Path) -> None:
    for name in SAME:
        assert (here / name).read_bytes() == (there / name).read_bytes(), name


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a local run."""
    out = tmp_path_factory.mktemp("local")
    with ScriptedModel() as model:
        finish(command(model, out))
    return out


def test_a_killed_driver_goes_on_from_its_folder_and_the_files_are_those_of_a_local_run(
    head, whole, tmp_path
):
    cluster, address = head
    with ScriptedModel(latency_s=0.5) as model:
        words = command(model, tmp_path, "--engine", "ray", "--address", address)
        with running(words) as driver:
            wait_until(lambda: n_verdicts(tmp_path) >= 9, driver)
            driver.kill()
        n_kept = n_verdicts(tmp_path)
        assert n_kept < N_CALLS, "it was under way"
        wait_until(lambda: not workers_of(cluster), cluster)
        n_asked = model.n_requests
        finish(words)
        assert model.n_requests == n_asked + N_CALLS - n_kept, "what was kept is not asked again"
    assert_same(tmp_path, whole)


def test_a_killed_worker_costs_what_it_had_under_way(head, whole, tmp_path):
    cluster, address = head
    with ScriptedModel(latency_s=0.5) as model:
        words = command(model, tmp_path, "--engine", "ray", "--address", address)
        with running(words) as driver:
            wait_until(lambda: n_verdicts(tmp_path) >= 9, driver)
            workers_of(cluster)[0].send_signal(signal.SIGKILL)
            _, told = driver.communicate(timeout=600)
        assert driver.returncode == 0, told
        assert n_verdicts(tmp_path) == N_CALLS
    assert_same(tmp_path, whole)


def test_a_lost_connection_is_told_and_the_same_command_goes_on(head, whole, tmp_path):
    cluster, address = head
    with ScriptedModel(latency_s=0.5) as model:
        words = command(model, tmp_path, "--engine", "ray", "--address", address)
        with running(words) as driver:
            wait_until(lambda: n_verdicts(tmp_path) >= 9, driver)
            for process in children_of(cluster):
                if "--mode=specific-server" in command_of(process):
                    process.kill()
            _, told = driver.communicate(timeout=600)
        assert driver.returncode == 1
        assert b"error: the connection to the cluster was lost" in told
        assert b"Traceback" not in told
        assert n_verdicts(tmp_path) < N_CALLS, "it was under way"
        finish(words)
    assert_same(tmp_path, whole)


def test_ctrl_c_ends_in_one_line_and_the_same_command_goes_on(tmp_path):
    out = tmp_path / "run"
    with ScriptedModel(latency_s=1.0) as model:
        words = command(model, out, "--engine", "ray", "--workers", "2")
        # A shell's background job ignores Ctrl-C, and so would what it starts.
        heeding = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        with running(words, heeding) as driver:
            wait_until(lambda: model.n_requests >= 12, driver)
            driver.send_signal(signal.SIGINT)
            _, told = driver.communicate(timeout=120)
        assert driver.returncode == 130
        assert told.strip() == b"stopped; run the same command again to continue"
        n_kept, n_asked = n_verdicts(out), model.n_requests
        assert n_kept >= 1
        finish(words)
        assert n_asked + N_CALLS - n_kept == model.n_requests, "what was kept is not asked again"
    lines = (out / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()
    assert len({json.loads(line)["record_id"] for line in lines}) == N_CALLS // 9
