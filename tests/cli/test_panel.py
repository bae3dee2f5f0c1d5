"""A panel of judges from the command line and from Python."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from calls import call
from fakes import WordEmbedder

import ragassay
from ragassay.settings import load_settings
from ragassay.testing import ScriptedModel, default_reply


@pytest.fixture(autouse=True)
def no_embedding_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragassay.evaluators.models.Embedder", lambda name: WordEmbedder(name))
    monkeypatch.setenv("RAGASSAY_EVALUATION__SIGNALS", "false")


@pytest.fixture
def judges() -> Iterator[list[str]]:
    """Two judges at two endpoints: one always gives 5, the other 2."""

    def always(rating: int):
        def reply(messages, schema):
            made = json.loads(default_reply(messages, schema))
            return made | {"rating": rating} if "rating" in made else made

        return reply

    with ScriptedModel(always(5)) as high, ScriptedModel(always(2)) as low:
        yield [f"openai/high@{high.base_url}", f"openai/low@{low.base_url}"]


@pytest.mark.integration
def test_judge_more_than_once_is_a_panel(judges, sample, tmp_path):
    chosen = ("--only", "rubrics", "--rubric", "cohesion", "--limit", 2)
    seats = [part for judge in judges for part in ("--judge", judge)]
    arguments = ("evaluate", sample / "answers.jsonl", *seats, *chosen)
    code, out, _ = call(*arguments, "--dry-run", "--json")
    assert (code, json.loads(out)["n_calls"]) == (0, 2 * 2 * 2)
    code, out, _ = call(*arguments, "--out", tmp_path / "run", "--quiet", "--json")
    panel = json.loads(out)["panel"]
    assert code == 0
    assert [member["judge"] for member in panel["members"]] == ["openai/high", "openai/low"]
    assert (panel["n_disputed"], panel["n_heard_again"], panel["n_moved"]) == (2, 4, 0)
    assert json.loads(out)["usage"]["n_calls"] == 8
    code, shown, _ = call("report", tmp_path / "run")
    assert code == 0
    assert "On 2 judgments two were 2 points or more apart." in " ".join(shown.split())


@pytest.mark.integration
def test_several_models_from_python_are_a_panel(judges):
    settings = load_settings(only=("rubrics",), rubrics=("cohesion",))
    result = ragassay.evaluate(question="q?", answer="It is.", model=judges, settings=settings)
    (judgment,) = result.judgments
    assert [member.judge for member in judgment.members] == ["openai/high", "openai/low"]
    assert result.manifest.judge == "openai/high"
    alone = ragassay.evaluate(question="q?", answer="It is.", model=judges[1], settings=settings)
    assert alone.judgments[0].members == ()
    assert (alone.manifest.judge, alone.judgments[0].rating) == ("openai/low", 2)


def test_the_same_judge_twice_is_one_clear_line(sample):
    seats = ("--judge", "openai/a", "--judge", "openai/a", "--dry-run")
    code, _, errors = call("evaluate", sample / "answers.jsonl", *seats)
    assert code == 1
    assert "a panel has each judge once" in errors
    assert len(errors.strip().splitlines()) == 1


def test_dry_run_names_all_judges(sample):
    seats = ("--judge", "openai/a", "--judge", "openai/b", "--dry-run", "--limit", 1)
    code, out, _ = call("evaluate", sample / "answers.jsonl", *seats)
    assert code == 0
    assert "calls of openai/a, openai/b" in out
