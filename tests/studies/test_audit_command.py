"""`ragassay audit` and `ragassay evaluate --audit`, as a user calls them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from calls import call
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
    said = json.loads(default_reply(messages, schema))
    return said | ({"rating": 5} if "rating" in said else {})


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(flatters) as started:
        yield started


def judged_by(model: ScriptedModel) -> tuple[str, ...]:
    return ("--judge", model.model_name, "--api-base", model.base_url, "--only", "rubrics")


SHORT = ("--limit", 8, "--attacks", "shuffle", "--attacks", "swap_last")


@pytest.mark.integration
def test_an_audit_prints_tables_and_writes_its_folder(model, sample, tmp_path):
    out = tmp_path / "audit"
    code, shown, _ = call(
        "audit", sample / "answers.jsonl", "--out", out, *SHORT, *judged_by(model)
    )
    assert code == 0
    assert "blind on cohesion" in shown
    assert "Audit of this judge" in shown
    assert "Sentences shuffled" in shown
    assert "audit.html" in shown
    audit = Audit.model_validate_json((out / "audit.json").read_text())
    assert [line.trust for line in audit.certificate] == ["blind"]
    assert (out / "figures.csv").read_text().count("rubric.cohesion") == 2


@pytest.mark.integration
def test_json_is_for_machines(model, sample, tmp_path):
    more = ("--out", tmp_path / "audit", "--json", "--quiet", *SHORT, *judged_by(model))
    code, shown, _ = call("audit", sample / "answers.jsonl", *more)
    assert code == 0
    assert Audit.model_validate_json(shown).judge == model.model_name


@pytest.mark.integration
def test_strict_has_its_own_exit_code(model, sample, tmp_path):
    more = ("--out", tmp_path / "audit", "--strict", "--quiet", *SHORT, *judged_by(model))
    code, _, _ = call("audit", sample / "answers.jsonl", *more)
    assert code == 4


@pytest.mark.integration
def test_a_verdict_that_could_not_be_had_is_no_success(sample, tmp_path):
    with ScriptedModel(faults=[Fault("refusal", first=1)]) as model:
        more = ("--out", tmp_path / "audit", "--quiet", *SHORT, *judged_by(model))
        code, _, _ = call("audit", sample / "answers.jsonl", *more)
        assert code == 3
        code, _, _ = call("audit", sample / "answers.jsonl", "--retry-failed", *more)
    assert code == 0


@pytest.mark.integration
def test_evaluate_with_an_audit_puts_the_certificate_on_the_report(model, sample, tmp_path):
    run = tmp_path / "run"
    more = ("--out", run, "--limit", 3, "--rubric", "cohesion", *judged_by(model))
    code, shown, _ = call("evaluate", sample / "answers.jsonl", "--audit", 3, *more)
    assert code == 0
    assert "Audit of this judge" in shown
    assert (run / "audit.json").exists()
    assert (run / "audit" / "audit.html").exists()
    page = (run / "report.html").read_text()
    assert "Audit of this judge" in page
    (run / "report.html").unlink()
    code, shown, _ = call("report", run)
    assert code == 0
    assert "Audit of this judge" in shown
    assert (run / "report.html").read_text() == page


@pytest.mark.parametrize("command", [("audit",), ("evaluate", "--audit", 2)])
def test_dry_run_asks_nobody_and_writes_nothing(command, sample, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    more = ("--dry-run", "--json", "--limit", 2, "--model", "openai/none", "--only", "rubrics")
    code, shown, _ = call(*command, sample / "answers.jsonl", *more)
    plan = json.loads(shown)
    assert code == 0
    assert plan["n_records"] > 2
    assert plan["n_calls"] > 2 * 9
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
    code, _, errors = call("audit", *given)
    assert code == 1
    assert said in errors
    assert errors.startswith("error: ")
    assert len(errors.strip().splitlines()) == 1


def test_help_teaches():
    _, shown, _ = call("audit", "--help")
    for word in ("--judge", "--attacks", "--use-perturbed", "For example", "Exit codes"):
        assert word in shown
