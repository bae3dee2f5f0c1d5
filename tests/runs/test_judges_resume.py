"""A run of a panel or of a cascade that is killed while its judges decide."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import n_on_disk, wait_until

from ragassay.records import Evaluation
from ragassay.runs.folder import RunFolder
from ragassay.testing import ScriptedModel, default_reply

pytestmark = [pytest.mark.integration, pytest.mark.long]
AGAIN = "It rated the answer"
"""In a prompt that tells a judge of a panel what the others said."""


def rates(alone: int, again: int = 0):
    """A judge that gives one rating, and another one after it heard the others."""

    def reply(messages, schema):
        rating = again if AGAIN in messages[-1]["content"] else alone
        return json.loads(default_reply(messages, schema)) | {"rating": rating}

    return reply


def start(folder: Path, *judges: str) -> subprocess.Popen[bytes]:
    """The command that is killed, and given again."""
    answers = folder / "answers.jsonl"
    answers.write_text('{"id": "a", "question": "q?", "answer": "It is. It was."}\n')
    command = [sys.executable, "-m", "ragassay", "evaluate", str(answers)]
    command += ["--out", str(folder / "run"), "--only", "rubrics", "--quiet", "--concurrency", "2"]
    environment = {**os.environ, "RAGASSAY_EVALUATION__SIGNALS": "false"}
    return subprocess.Popen([*command, *judges], env=environment)


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def n_asked(model: ScriptedModel) -> int:
    """How many different prompts a judge was sent."""
    return len({request.key for request in model.requests})


def read_evaluation(folder: Path) -> Evaluation:
    (evaluation,) = RunFolder(folder / "run").read_evaluations()
    return evaluation


def test_a_killed_panel_goes_on_in_the_middle_of_its_hearing(tmp_path):
    with (
        ScriptedModel(rates(5, 4), latency_s=0.3) as high,
        ScriptedModel(rates(1, 2), latency_s=0.3) as low,
    ):
        judges = ("--judge", f"openai/a@{high.base_url}", "--judge", f"openai/b@{low.base_url}")
        process = start(tmp_path, *judges)
        wait_until(lambda: high.n_requests >= 9 + 4, process)
        kill(process)
        n_before, n_kept = high.n_requests + low.n_requests, n_on_disk(tmp_path / "run")
        assert start(tmp_path, *judges).wait() == 0
        assert 18 <= n_kept < 36
        assert (n_asked(high), n_asked(low)) == (18, 18)
        assert high.n_requests + low.n_requests - n_before <= 36 - n_kept
    evaluation = read_evaluation(tmp_path)
    for judgment in evaluation.judgments:
        before_and_after = [(m.first and m.first.rating, m.rating) for m in judgment.members]
        assert before_and_after == [(5, 4), (1, 2)]
    assert evaluation.usage.n_calls == 36


def test_a_killed_cascade_goes_on_in_the_middle_of_its_second_judge(tmp_path):
    with ScriptedModel(rates(2)) as first, ScriptedModel(rates(5), latency_s=1.5) as second:
        judges = ("--judge", f"openai/first@{first.base_url}", "--when", "entropy>0.01")
        judges += ("--escalate", f"openai/second@{second.base_url}")
        process = start(tmp_path, *judges)
        # What the first ones said comes to the disk while the next are waited for.
        wait_until(lambda: second.n_requests >= 5 and n_on_disk(tmp_path / "run") >= 9 + 3, process)
        kill(process)
        n_before = second.n_requests
        assert start(tmp_path, *judges).wait() == 0
        assert n_before < 9
        assert first.n_requests == 9, "the first judge is asked nothing again"
        assert n_asked(second) == 9
        # At most two were under way when the process died.
        assert second.n_requests <= 9 + 2
    evaluation = read_evaluation(tmp_path)
    assert [(j.rating, j.escalated_from.rating) for j in evaluation.judgments] == [(5, 2)] * 9
    assert evaluation.usage.n_calls == 18
