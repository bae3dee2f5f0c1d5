"""A batched run from the command line, killed and gone on with, and from Python."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from calls import run
from fakes import WordEmbedder
from waiting import wait_until

import ragassay
import ragassay.models.batch_queue as queues
from ragassay.errors import SettingsError
from ragassay.models.batches import BatchStore
from ragassay.runs.folder import RunFolder
from ragassay.testing import BatchPlan, Fault, ScriptedModel

pytestmark = pytest.mark.integration

_PROGRAM = """
import ragassay.models.batch_queue as queues
queues.QUIET_S, queues.BUSY_SHARE, queues.FIRST_CHECK_S = 0.5, 0.5, 0.1
import ragassay.evaluators.models
from fakes import WordEmbedder
ragassay.evaluators.models.Embedder = WordEmbedder
from ragassay.cli import app
app()
"""

JUDGE = "openai/gpt-4.1-mini"
ANSWER = {
    "question": "Does drug X help?",
    "answer": "Drug X helps most people [1]. It is safe in mice [2].",
    "sources": ["Drug X helped most people in one trial.", "It was safe in mice."],
}


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Submit and look at batches without long pauses, however busy the machine is."""
    monkeypatch.setattr(queues, "QUIET_S", 0.3)
    monkeypatch.setattr(queues, "BUSY_SHARE", 100.0)
    monkeypatch.setattr(queues, "FIRST_CHECK_S", 0.05)
    monkeypatch.setattr("ragassay.evaluators.models.Embedder", lambda name: WordEmbedder(name))


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def batched(model: ScriptedModel, /, **more: Any) -> dict[str, Any]:
    """Options of a batched run of rubrics."""
    return {"model": JUDGE, "api_base": model.base_url, "only": "rubrics", "batch": True} | more


def verdicts(folder: Path) -> list[object]:
    """Return what was decided in a run, without its cost."""
    return [
        (found.record_id, [one.model_dump(exclude={"usage"}) for one in found.verdicts])
        for found in RunFolder(folder).read_evaluations()
    ]


def test_a_batched_run_that_was_killed_goes_on_and_decides_as_one_without_batches(
    soon, sample, tmp_path
):
    plan = BatchPlan(takes_s=3600.0)
    with ScriptedModel(batches=plan) as model:
        asked = ("evaluate", sample / "answers.jsonl", "--limit", 2, "--model", JUDGE)
        asked = (*asked, "--api-base", model.base_url, "--only", "rubrics", "--only", "citations")
        words = (*asked, "--out", tmp_path / "batched", "--batch", "--quiet")
        first = start(*words)
        store = BatchStore(tmp_path / "batched")
        wait_until(lambda: any(batch.id for batch in store.read_batches()), first)
        first.kill()
        first.communicate()
        n_submitted = sum(len(batch.requests) for batch in model.batches)
        plan.takes_s = 0.0
        run(*words)
        keys = Counter(key for batch in model.batches for key in batch.requests)
        assert n_submitted and set(keys.values()) == {1}, "no request is submitted twice"
        n_batched = model.n_requests
        assert n_batched == sum(keys.values())
        run(*asked, "--out", tmp_path / "alone", "--quiet")
        assert model.n_requests == 2 * n_batched
    assert verdicts(tmp_path / "batched") == verdicts(tmp_path / "alone")
    half, whole = (RunFolder(tmp_path / name).read_summary().usage for name in ("batched", "alone"))
    assert half.cost_usd == pytest.approx(whole.cost_usd / 2)


def test_what_a_batch_did_not_answer_is_unscored_and_asked_again_by_retry_failed(soon, tmp_path):
    plan = BatchPlan(ending="expired")
    with ScriptedModel(batches=plan) as model:
        options = batched(model, out=tmp_path)
        failures = [one.failure for one in ragassay.evaluate([ANSWER], **options).failed]
        n_first = model.n_requests
        assert len(failures) == 4, "of nine, five are answered"
        for failure in failures:
            assert failure.reason == "timeout"
            assert "pass --retry-failed to repeat the request" in failure.detail
        plan.ending = "completed"
        assert not ragassay.evaluate([ANSWER], retry_failed=True, **options).failed
        assert model.n_requests == n_first + 4


def test_a_reply_that_cannot_be_read_is_asked_for_again_and_again_with_retry_failed(soon, tmp_path):
    junk = Fault("junk", contains="cohesion", first=2)
    with ScriptedModel(batches=BatchPlan(), faults=[junk]) as model:
        options = batched(model, rubrics="cohesion", out=tmp_path)
        result = ragassay.evaluate([ANSWER], **options)
        assert [one.failure.reason for one in result.failed] == ["unparsable"]
        assert [len(batch.requests) for batch in model.batches] == [1, 1]
        assert not ragassay.evaluate([ANSWER], retry_failed=True, **options).failed
        assert len(model.batches) == 3


def test_without_a_folder_a_run_is_batched_and_says_that_nothing_can_be_resumed(soon):
    events: list[str] = []
    lost = pytest.warns(match="the run uses batch without")
    with ScriptedModel(batches=BatchPlan()) as model, lost:
        options = batched(model, progress=lambda event: events.append(event.phase))
        result = ragassay.evaluate([ANSWER], **options)
    assert not result.failed and len(model.requests) == 9
    assert any(one.startswith("submitted batch batch_1 with 9 questions") for one in events)


def test_a_panel_and_a_cascade_are_batched_over_all_answers(soon, tmp_path):
    answers = [{**ANSWER, "question": f"Does drug X help {n} people?"} for n in range(4)]
    with ScriptedModel(batches=BatchPlan()) as one, ScriptedModel(batches=BatchPlan()) as two:
        judges = [f"{JUDGE}@{one.base_url}", f"openai/gpt-4.1@{two.base_url}"]
        panel = batched(one, rubrics="cohesion", model=judges)
        assert not ragassay.evaluate(answers, out=tmp_path / "panel", **panel).failed
        assert len(one.batches[0].requests) == len(two.batches[0].requests) == 4
        second = {"model": judges[0], "escalate": judges[1], "when": "entropy>0.01"}
        assert not ragassay.evaluate(answers, out=tmp_path / "cascade", **panel | second).failed
        assert len(one.batches[-1].requests) == len(two.batches[-1].requests) == 4


def test_a_provider_without_batches_is_refused_before_any_work(sample, tmp_path):
    given = (sample / "answers.jsonl", "--model", "groq/llama", "--batch", "--out", tmp_path)
    _, errors = run("evaluate", *given, code=1)
    assert "batch: groq/llama has no batch API" in " ".join(errors.split())
    assert not list(tmp_path.iterdir())
    with pytest.raises(SettingsError, match="batch requires a hosted judge"):
        ragassay.evaluate([ANSWER], batch=True)
