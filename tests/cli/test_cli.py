"""The command line, as a user calls it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from calls import call, run
from case_tables import each_case

from ragassay.cli import COMMANDS
from ragassay.cli.base import MOST_USED, N_EXAMPLES
from ragassay.errors import InputError
from ragassay.judges import build_judge
from ragassay.options import HEADINGS, EvaluateKeywords, list_options
from ragassay.prompts import load_rubrics
from ragassay.records import Score, Summary
from ragassay.runs.gates import check_judged, parse_thresholds
from ragassay.settings import Settings
from ragassay.testing import Fault, ScriptedModel

pytestmark = pytest.mark.usefixtures("no_embedding_model")


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as started:
        yield started


def evaluate(
    model: ScriptedModel, answers: Path, out: Path, *more: object, quiet: bool = True
) -> tuple[int, str, str]:
    judge = ("--model", model.model_name, "--api-base", model.base_url)
    return call("evaluate", answers, "--out", out, *judge, *more, *["--quiet"] * quiet)


@pytest.mark.integration
def test_evaluate_then_report(model, sample, tmp_path):
    answers, corpus = sample / "answers.jsonl", sample / "abstracts.jsonl"
    assert evaluate(model, answers, tmp_path / "run", "--corpus", corpus, "--limit", 2)[0] == 0
    page = (tmp_path / "run" / "report.html").read_bytes()
    (tmp_path / "run" / "report.html").unlink()
    shown, _ = run("report", tmp_path / "run")
    assert "Lowest rubric: " in shown and "Factual correctness" in shown
    lines = shown.splitlines()
    assert len(lines) <= 40 and max(map(len, lines[:-1])) <= 80, shown  # the last names a path
    assert lines[-1].startswith("Report: ")
    assert (tmp_path / "run" / "report.html").read_bytes() == page


@pytest.mark.integration
def test_json_is_for_machines(model, sample, tmp_path):
    more = ("--json", "--limit", 2, "--rubric", "cohesion")
    code, out, _ = evaluate(model, sample / "answers.jsonl", tmp_path / "run", *more)
    assert code == 0
    summary = json.loads(out)
    assert summary["n_evaluated"] == 2
    assert [key for key in summary["scores"] if key.startswith("rubric.")] == ["rubric.cohesion"]


@pytest.mark.integration
@pytest.mark.parametrize(("threshold", "code"), [("cohesion=1", 0), ("rubric.cohesion=5", 4)])
def test_fail_under_has_its_own_exit_code(model, sample, tmp_path, threshold, code):
    more = ("--limit", 1, "--fail-under", threshold)
    found, _, errors = evaluate(model, sample / "answers.jsonl", tmp_path / "run", *more)
    assert found == code
    assert ("below" in errors) == (code == 4)


def summary_of(scores: dict[str, Score]) -> Summary:
    return Summary(n_records=4, n_evaluated=4, n_failed=0, n_rejected=0, scores=scores)


@each_case(
    ("threshold", "verdict", "line"),
    [
        ("nuggets.recall=.4", "reached", ""),
        ("nuggets.recall=.6", "below", " is 0.500, below 0.6"),
        ("citations.support=.5", "unmeasured", ": 4 of 4 answers are unscored"),
        ("nuggets.vital_recall=.5", "unmeasured", ": no answer has this score"),
        (
            "rubric.cohesion=3",
            "unmeasured",
            " (the run has the scores: nuggets.recall, citations.support, nuggets.vital_recall)",
        ),
    ],
)
def test_a_threshold_tells_below_from_not_measured(threshold: str, verdict: str, line: str):
    scores = {
        "nuggets.recall": Score(value=0.5, n=4),
        "citations.support": Score(value=None, n=0, n_unscored=4),
        "nuggets.vital_recall": Score(value=None, n=0),
    }
    (found,) = parse_thresholds([threshold])
    key = threshold.partition("=")[0] + " could not be measured" * (verdict == "unmeasured")
    assert found.check_summary(summary_of(scores)) == (verdict, line and key + line)


@each_case(
    ("key", "least", "verdict"),
    [
        ("citations.support", ".1", "reached"),
        ("citations.support", ".9", "below"),
        ("citations.support", ".5", "unmeasured"),
        ("citations.contradict", ".1", "reached"),
        ("citations.contradict", ".5", "unmeasured"),
    ],
)
def test_a_range_is_held_against_a_threshold_by_both_ends(key: str, least: str, verdict: str):
    scores = {
        "citations.support": Score(value=0.6, n=2, n_unscored=6, worst=0.2, best=0.8),
        "citations.contradict": Score(value=0.6, n=2, n_unscored=6, worst=0.8, best=0.2),
    }
    (threshold,) = parse_thresholds([f"{key}={least}"])
    found, line = threshold.check_summary(summary_of(scores))
    assert found == verdict
    assert (line == "") == (verdict == "reached")
    assert not line or f"{key} is between 0.200 and 0.800" in line


@each_case(
    ("name", "model", "is_refused"),
    [
        ("correctness", "ragassay/instruments", True),
        ("rubric.informativeness", "ragassay/instruments", True),
        ("cohesion", "ragassay/instruments", False),
        ("correctness", "openai/gpt-4.1-mini", False),
    ],
)
def test_what_signals_cannot_tell_needs_a_judge(name: str, model: str, is_refused: bool):
    rubrics = load_rubrics("yescieval")
    judge = build_judge(Settings(model=model, signals=True), rubrics)
    thresholds = parse_thresholds([f"{name}=3.5"])
    refused = pytest.raises(InputError, match=f"{name} requires a judge.*signals measure")
    with refused if is_refused else nullcontext():
        check_judged(thresholds, judge, rubrics)


def test_a_threshold_that_needs_a_judge_leaves_no_run(sample, tmp_path, monkeypatch):
    monkeypatch.setenv("RAGASSAY_EVALUATION__SIGNALS", "true")
    out = tmp_path / "run"
    threshold = ("--fail-under", "correctness=3.5")
    code, shown, errors = call("evaluate", sample / "answers.jsonl", *threshold, "--out", out)
    assert (code, shown, out.exists()) == (1, "", False)
    assert "rubric.correctness requires a judge" in errors


@each_case(
    ("given", "said"),
    [
        ("nuggets.recal=.5", "unknown score.*nuggets.recall"),
        ("citation.support=.5", "unknown score.*citations.support"),
        ("rubric.cohesive=.5", "unknown score.*rubric.cohesion"),
        ("nonsense.of.mine=.5", "unknown score.*docs/evaluators.md"),
        ("citations.support=80", "citations.support must be from 0 to 1"),
        ("nuggets.recall=-1", "nuggets.recall must be from 0 to 1"),
        ("cohesion=80", "rubric.cohesion must be from 1 to 5"),
        ("rubric.cohesion=.8", "rubric.cohesion must be from 1 to 5"),
    ],
)
def test_a_threshold_of_no_score_or_off_the_scale_is_refused_before_the_run(given: str, said: str):
    for own in ((), load_rubrics("yescieval")):
        with pytest.raises(InputError, match=said):
            parse_thresholds([given], own=own)


def test_a_threshold_of_an_own_evaluator_is_read():
    (threshold,) = parse_thresholds(["dosing.score=3"], evaluators=("dosing", "nuggets"))
    assert threshold.key == "dosing.score"
    with pytest.raises(InputError, match="unknown score"):
        parse_thresholds(["nuggets.recal=3"], evaluators=("dosing", "nuggets"))


@pytest.mark.integration
def test_a_score_that_could_not_be_measured_has_its_own_exit_code(model, sample, tmp_path):
    more = ("--limit", 1, "--only", "rubrics", "--fail-under", "nuggets.recall=.1")
    code, _, errors = evaluate(model, sample / "answers.jsonl", tmp_path / "run", *more)
    assert code == 5
    assert "nuggets.recall could not be measured" in errors


@pytest.mark.integration
def test_a_run_of_which_nothing_could_be_judged_leads_with_that(sample, tmp_path, monkeypatch):
    monkeypatch.setenv("RAGASSAY_JUDGE__MAX_ATTEMPTS", "1")
    with ScriptedModel(faults=[Fault("unavailable")]) as model:
        more = ("--limit", 2, "--only", "rubrics", "--fail-under", "cohesion=1")
        answers, out = sample / "answers.jsonl", tmp_path / "run"
        code, shown, errors = evaluate(model, answers, out, *more, quiet=False)
    assert code == 1
    first, *rest = shown.splitlines()
    assert first.startswith("Nothing could be judged. Server error: 18 verdicts unscored; run")
    assert not any("server error" in line.lower() for line in rest[1:]), "it is said once"
    assert "rubric.cohesion could not be measured: 2 of 2 answers are unscored" in errors
    assert json.loads((out / "summary.json").read_text())["unscored"] == {"server_error": 18}
    assert "Nothing could be judged." in (out / "report.md").read_text()


@pytest.mark.integration
def test_an_endpoint_that_dies_half_way_is_told_in_one_line(sample, tmp_path, monkeypatch):
    monkeypatch.setenv("RAGASSAY_JUDGE__MAX_ATTEMPTS", "1")
    asked = itertools.count()
    with ScriptedModel(faults=[Fault("unavailable", when=lambda _: next(asked) > 9)]) as model:
        answers, more = sample / "answers.jsonl", ("--only", "rubrics", "--limit", 2)
        code, shown, _ = evaluate(model, answers, tmp_path / "run", *more, quiet=False)
    assert code == 3
    told = " ".join(shown.split())
    assert told.count("9 verdicts unscored; run the same command with --retry-failed.") == 1
    assert "look first" not in told.split("Server error")[0], "what failed is no finding as well"
    assert told.startswith("No serious main findings in 2 answers. Server error: 9")


@pytest.mark.integration
def test_a_bad_line_is_named_set_aside_and_the_rest_runs(model, tmp_path):
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        '{"id": "a", "question": "q", "answer": "Aspirin thins blood."}\n'
        '{"id": "b", "question": "q"}\n',
        encoding="utf-8",
    )
    code, _, errors = evaluate(model, answers, tmp_path / "run")
    assert code == 3
    assert "answers.jsonl:2: answer" in errors
    (rejected,) = (tmp_path / "run" / "rejected.jsonl").read_text().splitlines()
    (_,) = (tmp_path / "run" / "evaluations.jsonl").read_text().splitlines()
    assert json.loads(rejected)["line"] == 2


@pytest.mark.parametrize(
    "command", ["evaluate", "audit", "strategies", "similarity", "grade --grade thomas"]
)
def test_nothing_to_evaluate_is_an_error_that_names_the_lines(command, tmp_path):
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"id": "a", "question": "q", "answer": ""}\n{"id": "b", "question": "q"}\n')
    out, errors = run(*command.split(), answers, code=1)
    assert out == ""
    assert f"{answers}:1: answer: found an empty answer, expected text" in errors
    assert f"{answers}:2: answer: the field is missing" in errors


def test_columns_of_a_table_are_named_on_the_command_line(tmp_path):
    answers, out = tmp_path / "answers.csv", tmp_path / "answers.jsonl"
    answers.write_text("query,output,n\nWhy?,Aspirin thins blood.,1\n")
    named = ("--map", "question=query,answer=output")
    dry = ("--model", "openai/none", "--dry-run", "--json")
    shown, _ = run("evaluate", answers, *named, *dry)
    assert json.loads(shown)["n_records"] == 1
    run("convert", answers, out, *named)
    assert json.loads(out.read_text())["metadata"] == {"n": "1"}
    _, errors = run("evaluate", answers, "--map", "question=prompt", "--dry-run", code=1)
    columns = "the columns are query, output, n"
    assert errors == f"error: {answers} has no column 'prompt'; {columns}\n"
    for command in ("audit", "grade", "nuggets create", "nuggets assign"):
        assert "--map" in call(*command.split(), "--help")[1]


def test_a_folder_of_workbooks_is_evaluated(tmp_path):
    (tmp_path / "a.csv").write_text(
        "research_question,paper_1_title,paper_1_abstract,gen_synthesis\nWhy?,T,A,It helps (1).\n"
    )
    shown, _ = run("evaluate", tmp_path, "--model", "openai/none", "--dry-run", "--json")
    assert json.loads(shown)["n_records"] == 1


def test_dry_run_asks_nobody(sample):
    more = ("--dry-run", "--json", "--corpus", sample / "abstracts.jsonl")
    out, _ = run("evaluate", sample / "answers.jsonl", "--model", "openai/none", *more)
    plan = json.loads(out)
    assert plan["n_records"] == 8 and plan["n_calls"] > 8 * 9


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("evaluate missing.jsonl", "missing.jsonl"),
        ("report no-such-run", "has no run"),
        ("evaluate {sample} --only nuggets --fail-under f1", "SCORE=VALUE"),
        ("evaluate {sample} --only nuggets --fail-under beauty=3", "beauty"),
        ("evaluate {sample} --rubric-set usr --dry-run", "a judge is required; pass --model"),
        ("evaluate {sample} --no-signals --dry-run", "a judge is required; pass --model"),
        ("evaluate {sample} --rubric beauty --dry-run", "unknown rubric 'beauty'"),
    ],
)
def test_a_mistake_is_one_clear_line(command, said, sample):
    words = [word.format(sample=sample / "answers.jsonl") for word in command.split()]
    _, errors = run(*words, code=1)
    (line,) = errors.strip().splitlines()
    assert line.startswith("error: ") and said in line


def test_help_fits_one_screen_and_all_options_stand_in_groups(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, short, _ = call("evaluate", "--help")
    lines = short.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    shown = {word for line in lines if line.startswith("  --") for word in re.split(r"[, ]+", line)}
    assert {f"--{name.replace('_', '-')}" for name in MOST_USED} <= shown and "--help-all" in shown
    code, every, _ = call("evaluate", "--help-all")
    assert code == 0 and "--reranker" in every and every.count("  ragassay evaluate") > N_EXAMPLES
    options = list_options(EvaluateKeywords)
    groups = {option.group for option in options.values()}
    assert groups <= {*HEADINGS} and len(groups) > 5
    for option in options.values():
        assert f"\n  {option.flags[0].partition('/')[0]}" in every, option.name
    for group in (*groups, "Arguments"):
        assert every.count(f"\n{group}:\n") == 1


BRIEF = {
    *("report", "demo", "review", "serve", "runs", "prompts", "models", "corpus", "nuggets"),
    *("verifiers", "testbank", "grades", "qa"),
}
"""Groups of commands, and commands whose help has no examples or no exit codes."""


def test_all_commands_stand_under_headings_on_one_screen(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, shown, _ = call("--help")
    lines = shown.splitlines()
    assert len(lines) <= 60 and max(map(len, lines)) <= 80
    for heading, commands in COMMANDS.items():
        below = shown.partition(f"\n{heading}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in below.splitlines()] == [*commands]
        for name in commands:
            code, text, _ = call(name, "--help")
            assert code == 0
            is_taught = "For example" in text and "Exit codes" in text
            assert is_taught == (name not in BRIEF), name
