"""`ragassay audit` and `ragassay evaluate --audit`, as a user calls them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from calls import judged_by, run
from fakes import certain_logprobs

from ragassay.records import Audit
from ragassay.testing import Fault, ScriptedModel, default_reply

pytestmark = pytest.mark.usefixtures("no_embedding_model")


@pytest.fixture(autouse=True)
def certain_ratings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rating is a score of just that: the scripted model does not waver between two."""
    monkeypatch.setattr("ragassay.testing.manners.manner.build_logprobs", certain_logprobs)


def flatters(messages, schema):
    """A judge that finds everything very good."""
    made = json.loads(default_reply(messages, schema))
    return made | ({"rating": 5} if "rating" in made else {})


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(flatters) as started:
        yield started


SHORT = ("--limit", 8, "--attacks", "shuffle", "--attacks", "swap_last", "--only", "rubrics")


def test_an_audit_prints_tables_and_writes_its_folder(model, sample, tmp_path):
    options = ("--out", tmp_path / "audit", *SHORT, *judged_by(model))
    shown, _ = run("audit", sample / "answers.jsonl", *options)
    for text in ("blind on cohesion", "Audit of this judge", "Sentences shuffled", "audit.html"):
        assert text in shown
    audit = Audit.model_validate_json((tmp_path / "audit" / "audit.json").read_text())
    assert [line.trust for line in audit.certificate] == ["blind"]
    assert (tmp_path / "audit" / "figures.csv").read_text().count("rubric.cohesion") == 2
    # With --strict, a judge that is not trusted has its own exit code.
    shown, _ = run("audit", sample / "answers.jsonl", *options, "--json", "--strict", code=4)
    assert Audit.model_validate_json(shown) == audit


def test_a_verdict_that_could_not_be_had_is_no_success(sample, tmp_path):
    with ScriptedModel(faults=[Fault("refusal", first=1)]) as model:
        given = (sample / "answers.jsonl", "--out", tmp_path / "audit", *SHORT, *judged_by(model))
        run("audit", *given, code=3)
        run("audit", *given, "--retry-failed")


def test_evaluate_with_an_audit_puts_the_certificate_on_the_report(model, sample, tmp_path):
    folder = tmp_path / "run"
    more = ("--out", folder, "--limit", 3, "--rubric", "cohesion", "--only", "rubrics")
    shown, _ = run("evaluate", sample / "answers.jsonl", "--audit", 3, *more, *judged_by(model))
    assert "Audit of this judge" in shown
    assert (folder / "audit.json").exists() and (folder / "audit" / "audit.html").exists()
    page = (folder / "report.html").read_text()
    assert "Audit of this judge" in page
    (folder / "report.html").unlink()
    assert "Audit of this judge" in run("report", folder)[0]
    assert (folder / "report.html").read_text() == page


@pytest.mark.parametrize("command", [("audit",), ("evaluate", "--audit", 2)])
def test_dry_run_asks_nobody_and_writes_nothing(command, sample, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    more = ("--dry-run", "--json", "--limit", 2, "--model", "openai/none", "--only", "rubrics")
    plan = json.loads(run(*command, sample / "answers.jsonl", *more)[0])
    assert plan["n_records"] > 2 and plan["n_calls"] > 2 * 9
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--attacks", "bribery"], "unknown attack 'bribery'"),
        (["--use-perturbed"], "no unperturbed answer with a perturbed version"),
        (["--rubric", "beauty"], "unknown rubric 'beauty'"),
    ],
)
def test_a_mistake_is_one_clear_line(arguments, said, sample):
    given = (sample / "answers.jsonl", "--model", "openai/none", *arguments)
    _, errors = run("audit", *given, code=1)
    (line,) = errors.splitlines()
    assert line.startswith("error: ") and said in line


def test_help_teaches():
    shown, _ = run("audit", "--help")
    for word in ("--judge", "--attacks", "--use-perturbed", "For example", "Exit codes"):
        assert word in shown
