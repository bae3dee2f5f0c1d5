"""A run of a cascade that is killed while its second judge decides."""

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


def rates(rating: int):
    """A judge that always gives the same rating."""

    def reply(messages, schema):
        return json.loads(default_reply(messages, schema)) | {"rating": rating}

    return reply


def start(
    answers: Path, out: Path, first: ScriptedModel, second: ScriptedModel
) -> subprocess.Popen[bytes]:
    """The command that is killed, and given again."""
    command = [sys.executable, "-m", "ragassay", "evaluate", str(answers), "--out", str(out)]
    command += ["--only", "rubrics", "--quiet", "--concurrency", "2"]
    command += ["--judge", f"openai/first@{first.base_url}"]
    command += ["--escalate", f"openai/second@{second.base_url}", "--when", "entropy>0.01"]
    return subprocess.Popen(command, env={**os.environ, "RAGASSAY_EVALUATION__SIGNALS": "false"})


@pytest.mark.integration
@pytest.mark.long
def test_a_killed_cascade_goes_on_in_the_middle_of_its_second_judge(tmp_path):
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"id": "a", "question": "q?", "answer": "It is. It was."}\n')
    with (
        ScriptedModel(rates(2)) as first,
        ScriptedModel(rates(5), latency_s=1.5) as second,
    ):
        process = start(answers, tmp_path / "run", first, second)
        # What the first ones said comes to the disk while the next are waited for.
        wait_until(lambda: second.n_requests >= 5 and n_on_disk(tmp_path / "run") >= 9 + 3, process)
        process.kill()
        process.wait()
        n_before = second.n_requests
        assert start(answers, tmp_path / "run", first, second).wait() == 0
        assert n_before < 9
        assert first.n_requests == 9, "the first judge is asked nothing again"
        assert len({request.key for request in second.requests}) == 9
        # At most two were under way when the process died.
        assert second.n_requests <= 9 + 2
    (evaluation,) = RunFolder(tmp_path / "run").read_evaluations()
    assert [(j.rating, j.escalated_from.rating) for j in evaluation.judgments] == [(5, 2)] * 9
    assert evaluation.usage.n_calls == 18
