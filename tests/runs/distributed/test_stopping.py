"""The command with workers: stopped by Ctrl-C, it says so and goes on."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT

from ragassay.store import Store
from ragassay.testing import ScriptedModel

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(600)]

SAMPLE = ROOT / "examples" / "sample" / "answers.jsonl"


def command(model: ScriptedModel, out: Path) -> list[str]:
    ragassay = [sys.executable, "-m", "ragassay", "evaluate", str(SAMPLE), "--out", str(out)]
    judge = ["--model", "openai/scripted", "--api-base", model.base_url, "--only", "rubrics"]
    return [*ragassay, *judge, "--engine", "ray", "--workers", "2", "--concurrency", "4", "--quiet"]


def n_verdicts(out: Path) -> int:
    file = out / "verdicts.sqlite"
    return len(list(Store(file).all_rows())) if file.exists() else 0


def test_ctrl_c_ends_in_one_line_and_the_same_command_goes_on(tmp_path):
    pytest.importorskip("ray", reason="ragassay[ray] is not installed")
    out = tmp_path / "run"
    with ScriptedModel(latency_s=1.0) as model:
        # A shell's background job ignores Ctrl-C, and so would what it starts.
        heeding = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        with subprocess.Popen(
            command(model, out),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heeding,
        ) as started:
            until = time.monotonic() + 300
            while model.n_requests < 12 and time.monotonic() < until:
                time.sleep(0.1)
            os.kill(started.pid, signal.SIGINT)
            _, told = started.communicate(timeout=120)
        assert started.returncode == 130
        assert told.strip() == "stopped; the same command goes on from here"
        n_kept, n_asked = n_verdicts(out), model.n_requests
        assert n_kept >= 1
        done = subprocess.run(command(model, out), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        n_all = 9 * len(SAMPLE.read_text(encoding="utf-8").splitlines())
        assert n_asked + n_all - n_kept == model.n_requests, "what was kept is not asked again"
    lines = (out / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()
    assert len({json.loads(line)["record_id"] for line in lines}) == n_all // 9
