"""A panel and a cascade of judges, from the command line and from Python."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from calls import run

from ragassay.records import Judgment
from ragassay.runs.folder import RunFolder
from ragassay.testing import ScriptedModel, default_reply

pytestmark = pytest.mark.usefixtures("no_embedding_model")


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


def read_judgments(folder: Path) -> list[Judgment]:
    return [one for found in RunFolder(folder).read_evaluations() for one in found.judgments]


@pytest.mark.integration
def test_judge_more_than_once_is_a_panel(judges, sample, tmp_path):
    chosen = ("--only", "rubrics", "--rubric", "cohesion", "--limit", 2)
    members = [part for judge in judges for part in ("--judge", judge)]
    arguments = ("evaluate", sample / "answers.jsonl", *members, *chosen)
    out, _ = run(*arguments, "--dry-run", "--json")
    assert json.loads(out)["n_calls"] == 2 * 2 * 2
    out, _ = run(*arguments, "--out", tmp_path / "run", "--quiet", "--json")
    panel = json.loads(out)["panel"]
    assert [member["judge"] for member in panel["members"]] == ["openai/low", "openai/gpt-4.1-mini"]
    assert (panel["n_disputed"], panel["n_heard_again"], panel["n_moved"]) == (2, 4, 0)
    assert json.loads(out)["usage"]["n_calls"] == 8
    for judgment in read_judgments(tmp_path / "run"):
        assert [one.rating for one in judgment.members] == [2, 5]
    assert RunFolder(tmp_path / "run").read_manifest().judge == "openai/low"
    shown, _ = run("report", tmp_path / "run")
    assert "In 2 judgments, two judges differed by 2 points or more and" in " ".join(shown.split())


def test_dry_run_names_all_judges(sample):
    members = ("--judge", "openai/a", "--judge", "openai/b", "--dry-run", "--limit", 1)
    out, _ = run("evaluate", sample / "answers.jsonl", *members)
    assert "calls to openai/a, openai/b" in out


@pytest.mark.integration
def test_escalate_is_a_second_judge_and_the_summary_says_what_it_cost(judges, sample, tmp_path):
    first, second = judges
    asked = ("evaluate", sample / "answers.jsonl", "--judge", first, "--escalate", second)
    chosen = ("--only", "rubrics", "--rubric", "cohesion", "--limit", 2)
    arguments = (*asked, *chosen, "--when", "entropy>0.01")
    out, _ = run(*arguments, "--dry-run")
    assert "second judge openai/gpt-4.1-mini: up to 2 more calls, about" in out
    assert "at most 0.00" in out
    out, _ = run(*arguments, "--out", tmp_path / "run", "--quiet", "--json")
    cascade = json.loads(out)["cascade"]
    assert (cascade["second"], cascade["when"]) == ("openai/gpt-4.1-mini", "entropy>0.01")
    (part,) = cascade["parts"]
    assert (part["n"], part["n_kept"], part["n_escalated"]) == (2, 0, 2)
    assert cascade["full_cost_usd"] == pytest.approx(cascade["usage"]["cost_usd"])
    for judgment in read_judgments(tmp_path / "run"):
        assert (judgment.rating, judgment.escalated_from.rating) == (5, 2)
    shown, _ = run("report", tmp_path / "run")
    assert "2 were sent to openai/gpt-4.1-mini (entropy>0.01)." in " ".join(shown.split())
    run(*asked, *chosen, "--when", "entropy>5", "--out", tmp_path / "sure", "--quiet")
    assert [one.rating for one in read_judgments(tmp_path / "sure")] == [2, 2]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--when", "entropy>1"), "--when requires a second judge"),
        (("--escalate", "openai/b", "--when", "doubt"), "'doubt' is not a condition"),
        (("--escalate", "openai/b", "--judge", "openai/c"), "cannot be combined with a panel"),
        (("--judge", "openai/a"), "judges in a panel must be unique"),
    ],
)
def test_an_unclear_choice_of_judges_is_one_clear_line(sample, options, said):
    judge = ("--judge", "openai/a", "--dry-run")
    _, errors = run("evaluate", sample / "answers.jsonl", *judge, *options, code=1)
    assert said in errors
    assert len(errors.strip().splitlines()) == 1
