"""Models that write syntheses and rate each other's, from a file of questions to a matrix."""

# Fixtures are imported.
# ruff: noqa: F811
from __future__ import annotations

import json
from pathlib import Path

import pytest
from calls import call
from synthesizing import alpha, beta, n_written, questions, writer  # noqa: F401

from ragassay.formats import read_records
from ragassay.testing import Fault, ScriptedModel

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("quick_retries")]


def command(
    alpha: ScriptedModel, beta: ScriptedModel, questions: Path, out: Path, *more: str
) -> tuple[int, str, str]:
    models = zip(("alpha", "beta"), (alpha, beta), strict=True)
    two = [word for name, m in models for word in ("--generator", f"openai/{name}@{m.base_url}")]
    return call("matrix", "--generate", questions, *two, "--out", out, *more, COLUMNS="200")


def test_every_generator_is_rated_by_every_judge(alpha, beta, questions, tmp_path):
    out = tmp_path / "out"
    code, shown, errors = command(alpha, beta, questions, out, "--limit", "2", "--json")
    assert code == 0, errors
    # Each writes two syntheses and rates all four on nine rubrics.
    for one in (alpha, beta):
        assert (n_written(one), one.n_requests) == (2, 2 + 4 * 9)
    assert "answers.jsonl: 4 of 4 syntheses" in errors
    found = json.loads(shown)
    (matrix,) = found["matrices"]
    values = {(c["row"], c["column"]): c["value"] for c in matrix["cells"]}
    first, second = "openai/alpha", "openai/beta"
    assert len(values) == 4
    # The expectation over the rating tokens, which the scripted model spreads a little.
    assert min(values[first, first], values[second, second]) > 4.5
    assert max(values[first, second], values[second, first]) < 3.5
    assert all(one["own_gap"]["value"] > 1 for one in found["self_preferences"])
    assert len(found["self_preferences"]) == 2
    assert (out / "index.html").exists() and (out / "matrix.csv").exists()
    n_requests = alpha.n_requests
    assert command(alpha, beta, questions, out, "--limit", "2")[0] == 0
    assert alpha.n_requests == n_requests


def test_a_missing_synthesis_is_said_and_made_up_later(beta, questions, tmp_path):
    out, faults = tmp_path / "out", [Fault("junk", contains="help? 2")]
    with ScriptedModel(reply=writer("alpha"), faults=faults) as broken:
        judge = ("--judge", f"openai/gamma@{beta.base_url}")
        code, _, errors = command(broken, beta, questions, out, *judge)
        n_asked = broken.n_requests
        assert command(broken, beta, questions, out, *judge)[0] == 3
        assert broken.n_requests == n_asked
    assert code == 3
    assert "openai/alpha has no synthesis for 1 of 3 questions (q2): unparsable" in errors
    assert "skipped questions without papers: 1 (q4)" in errors
    assert len(read_records(out / "answers.jsonl").records) == 5
    n_before = beta.n_requests
    with ScriptedModel(reply=writer("alpha")) as whole:
        again = (*judge, "--limit", "3", "--retry-failed")
        code, _, errors = command(whole, beta, questions, out, *again)
        assert code == 0, errors
        assert whole.n_requests == 1
    assert beta.n_requests - n_before == 9


def test_a_dry_run_asks_nobody(alpha, beta, questions, tmp_path):
    out = tmp_path / "out"
    more = ("--judge", f"openai/gamma@{beta.base_url}", "--dry-run")
    code, shown, _ = command(alpha, beta, questions, out, *more)
    assert code == 0
    assert "6 calls for writing and at most 54 for rating" in " ".join(shown.split())
    assert alpha.n_requests == 0 and not out.exists()


def test_a_wrong_use_is_one_clear_line(alpha, beta, questions, tmp_path):
    alone = call("matrix", "--generate", questions, "--generator", "openai/a")
    assert alone[0] == 1 and "at least two generators" in alone[2]
    twice = ("--generator", f"openai/alpha@{alpha.base_url}")
    code, _, errors = command(alpha, beta, questions, tmp_path / "out", *twice)
    assert code == 1 and "openai/alpha is specified twice" in errors
    without = call("matrix", "--generator", "openai/a")
    assert without[0] == 1 and "require --generate" in without[2]
