"""A cascade from the command line and from Python."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from calls import call
from fakes import WordEmbedder

import ragassay
from ragassay.errors import SettingsError
from ragassay.settings import load_settings
from ragassay.testing import ScriptedModel, default_reply


@pytest.fixture(autouse=True)
def no_embedding_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragassay.evaluators.models.Embedder", lambda name: WordEmbedder(name))
    monkeypatch.setenv("RAGASSAY_EVALUATION__SIGNALS", "false")


@pytest.fixture
def judges() -> Iterator[tuple[str, str]]:
    """Two judges at two endpoints: the first always gives 2, the second 5."""

    def always(rating: int):
        def reply(messages, schema):
            made = json.loads(default_reply(messages, schema))
            return made | {"rating": rating} if "rating" in made else made

        return reply

    with ScriptedModel(always(2)) as low, ScriptedModel(always(5)) as high:
        yield f"openai/low@{low.base_url}", f"openai/gpt-4.1-mini@{high.base_url}"


@pytest.mark.integration
def test_escalate_is_a_second_judge_and_the_summary_says_what_it_cost(judges, sample, tmp_path):
    first, second = judges
    chosen = ("--only", "rubrics", "--rubric", "cohesion", "--limit", 2, "--when", "entropy>0.01")
    arguments = (
        *("evaluate", sample / "answers.jsonl", "--judge", first, "--escalate", second),
        *chosen,
    )
    code, out, _ = call(*arguments, "--dry-run")
    assert code == 0
    assert "of openai/gpt-4.1-mini, were nothing sure, 2 calls more, about" in out
    assert "at most 0.00" in out
    code, out, _ = call(*arguments, "--out", tmp_path / "run", "--quiet", "--json")
    cascade = json.loads(out)["cascade"]
    assert code == 0
    assert (cascade["second"], cascade["when"]) == ("openai/gpt-4.1-mini", "entropy>0.01")
    (part,) = cascade["parts"]
    assert (part["n"], part["n_kept"], part["n_escalated"]) == (2, 0, 2)
    assert cascade["full_cost_usd"] == pytest.approx(cascade["usage"]["cost_usd"])
    code, shown, _ = call("report", tmp_path / "run")
    assert code == 0
    assert "2 went on to openai/gpt-4.1-mini (entropy>0.01)." in " ".join(shown.split())


@pytest.mark.integration
def test_a_cascade_from_python(judges):
    first, second = judges
    settings = load_settings(only=("rubrics",), rubrics=("cohesion",))
    asked = {"question": "q?", "answer": "It is.", "model": first, "settings": settings}
    result = ragassay.evaluate(**asked, escalate=second, when="entropy>0.01")
    (judgment,) = result.judgments
    assert (judgment.rating, judgment.escalated_from.rating) == (5, 2)
    assert result.summary.cascade.second == "openai/gpt-4.1-mini"
    alone = ragassay.evaluate(**asked, escalate=second, when="entropy>5")
    assert (alone.judgments[0].rating, alone.judgments[0].escalation) == (2, None)
    with pytest.raises(SettingsError, match="name it, `escalate=`"):
        ragassay.evaluate(**asked, when="entropy>5")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--when", "entropy>1"), "--when says what goes to a second judge"),
        (("--escalate", "openai/b", "--when", "doubt"), "'doubt' is no condition"),
        (("--escalate", "openai/b", "--judge", "openai/c"), "a cascade begins with one judge"),
    ],
)
def test_an_unclear_cascade_is_one_clear_line(sample, options, said):
    judge = ("--judge", "openai/a", "--dry-run")
    code, _, errors = call("evaluate", sample / "answers.jsonl", *judge, *options)
    assert code == 1
    assert said in errors
    assert len(errors.strip().splitlines()) == 1
