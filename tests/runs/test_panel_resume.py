"""A run of a panel that is killed while its judges hear each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import n_on_disk, wait_until

from ragassay.runs.folder import RunFolder
from ragassay.testing import ScriptedModel, default_reply

AGAIN = "It rated the answer"


def rates(alone: int, again: int):
    """A judge that gives one rating, and another one after it heard the others."""

    def reply(messages, schema):
        rating = again if AGAIN in messages[-1]["content"] else alone
        return json.loads(default_reply(messages, schema)) | {"rating": rating}

    return reply


def start(answers: Path, out: Path, *models: ScriptedModel) -> subprocess.Popen[bytes]:
    """The command that is killed, and given again."""
    command = [sys.executable, "-m", "ragassay", "evaluate", str(answers), "--out", str(out)]
    command += ["--only", "rubrics", "--quiet", "--concurrency", "2"]
    for name, model in zip("ab", models, strict=True):
        command += ["--judge", f"openai/{name}@{model.base_url}"]
    return subprocess.Popen(command, env={**os.environ, "RAGASSAY_EVALUATION__SIGNALS": "false"})


def asked(model: ScriptedModel) -> list[str]:
    """What a judge was asked, each prompt once."""
    return sorted({request.key for request in model.requests})


@pytest.mark.integration
@pytest.mark.long
def test_a_killed_panel_goes_on_in_the_middle_of_its_hearing(tmp_path):
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"id": "a", "question": "q?", "answer": "It is. It was."}\n')
    with (
        ScriptedModel(rates(5, 4), latency_s=0.3) as high,
        ScriptedModel(rates(1, 2), latency_s=0.3) as low,
    ):
        process = start(answers, tmp_path / "run", high, low)
        wait_until(lambda: high.n_requests >= 9 + 4, process)
        process.kill()
        process.wait()
        n_before, n_kept = high.n_requests + low.n_requests, n_on_disk(tmp_path / "run")
        assert start(answers, tmp_path / "run", high, low).wait() == 0
        assert 18 <= n_kept < 36
        assert [len(asked(model)) for model in (high, low)] == [18, 18]
        assert high.n_requests + low.n_requests - n_before <= 36 - n_kept
    (evaluation,) = RunFolder(tmp_path / "run").read_evaluations()
    for judgment in evaluation.judgments:
        before_and_after = [(m.first and m.first.rating, m.rating) for m in judgment.members]
        assert before_and_after == [(5, 4), (1, 2)]
    assert evaluation.usage.n_calls == 36
