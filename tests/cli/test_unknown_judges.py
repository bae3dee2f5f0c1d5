"""A judge under a name that says nothing: what it refuses and how it replies is found out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calls import call

from ragassay.testing import Fault, ScriptedModel

pytestmark = pytest.mark.integration

REFUSES = ("temperature", "max_tokens", "logprobs", "top_logprobs")
DRAFT = 'A draft: {"rating": 1, "rationale": "no"} but no.\n</think>\n'


def evaluate(sample: Path, model: ScriptedModel, out: Path, *more: str) -> tuple[int, str, str]:
    judge = ("--model", model.model_name, "--api-base", model.base_url)
    rubrics = ("--only", "rubrics", "--limit", "2", "--out", out, "--quiet", *more)
    return call("evaluate", sample / "answers.jsonl", *judge, *rubrics)


@pytest.mark.parametrize("manner", ["openai", "azure"])
def test_reasoning_model_behind_an_endpoint_judges_all(manner, sample, tmp_path, monkeypatch):
    cut = Fault("cut", first=1)
    with ScriptedModel(manner=manner, model="team-judge", refuses=REFUSES, faults=[cut]) as model:
        for name, value in model.environment.items():
            monkeypatch.setenv(name, value)
        code, _, _ = evaluate(sample, model, tmp_path / "run")
        assert code == 0
        # One call more for the reply that was cut; the refusals were found out by the probes.
        assert model.n_requests == 18 + 1
        assert len(model.probes) == 1 + 3
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    assert summary["unscored"] == {}
    said = " ".join(summary["notes"])
    assert "no log-probabilities, so a rating is the number in the reply" in said
    assert "the endpoint's default temperature" in said
    known = json.loads((tmp_path / "run" / "endpoints.json").read_text(encoding="utf-8"))
    assert set(known[model.model_name]) == {"temperature", "max_tokens", "logprobs", "reasoning"}


def test_drafts_and_broken_json_are_read_without_a_second_call(sample: Path, tmp_path: Path):
    def reply(messages: object, schema: object) -> str:
        return DRAFT + '{"Rating": "4/5", "rationale": "TNF-\\alpha fell,\nby half.",}'

    with ScriptedModel(reply) as model:
        code, _, _ = evaluate(sample, model, tmp_path / "run")
        assert (code, model.n_requests) == (0, 18)
    lines = (tmp_path / "run" / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()
    judged = [one for line in lines for one in json.loads(line)["verdicts"]]
    assert {one["rating"] for one in judged} == {4}


def test_quota_that_is_gone_stops_before_the_run(sample: Path, tmp_path: Path) -> None:
    with ScriptedModel(manner="openai", faults=[Fault("quota")]) as model:
        code, _, said = evaluate(sample, model, tmp_path / "run")
    assert code == 1
    assert "quota" in said
    assert model.n_requests == 0


def test_what_the_user_gives_wins(sample: Path, tmp_path: Path) -> None:
    given = ("--model-option", "temperature=", "--model-option", "top_p=0.5")
    with ScriptedModel() as model:
        code, _, _ = evaluate(sample, model, tmp_path / "run", *given)
        assert code == 0
        sent = [request.body for request in model.requests]
    assert all(body["top_p"] == 0.5 and "temperature" not in body for body in sent)
    manifest = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert manifest["settings"]["model_options"] == "temperature=,top_p=0.5"
