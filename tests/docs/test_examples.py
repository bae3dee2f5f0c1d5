"""The Python of the README and the docs, and the answers that they show."""

from __future__ import annotations

import ast
import importlib
import json
from pathlib import Path

import pytest
from answers import answer, written_run
from case_tables import each_case
from conftest import ROOT
from handbook import PAGES, Block, block, blocks

import ragassay
from ragassay.formats import read_records

README, DOCS = ROOT / "README.md", ROOT / "docs"
COMPARING, JUDGES, OWN = DOCS / "comparing.md", DOCS / "judges.md", DOCS / "own-rubric.md"
OWN_ANSWERS = DOCS / "own-answers.md"
PYTHON = [one for page in PAGES for one in blocks(page, "python")]


def imported(one: Block) -> list[tuple[str, str]]:
    """The modules of ours that a block imports, and the names from them."""
    found = []
    for node in ast.walk(ast.parse(one.text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ragassay"):
            found += [(str(node.module), alias.name) for alias in node.names]
    return found


@each_case("one", PYTHON, ids=lambda one: one.name)
def test_what_an_example_imports_from_us_exists(one: Block):
    compile(one.text, one.name, "exec")
    for module, name in imported(one):
        assert hasattr(importlib.import_module(module), name)


def run(one: Block) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(compile(one.text, one.name, "exec"), names)
    return names


def write_answers(path: Path, n: int) -> Path:
    rows = [
        {
            "id": f"q{i}",
            "topic": f"q{i}",
            "question": f"Does drug {i} lower blood pressure?",
            "answer": f"Drug {i} lowers blood pressure by {i + 2} mmHg [1]. It is safe [1].",
            "sources": [{"id": "1", "text": f"Drug {i} lowered blood pressure."}],
        }
        for i in range(n)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.integration
def test_an_answer_is_evaluated_as_shown(at_work: Path):
    names = run(block(README, "python", "ragassay.evaluate("))
    assert names["result"].scores["rubric.correctness"].n == 1
    assert "ragassay" in (at_work / "report.html").read_text()


@pytest.mark.integration
def test_runs_are_compared_and_measured_as_shown(at_work: Path):
    answers = write_answers(at_work / "answers.jsonl", 3)
    for name in ("alpha", "beta", "first"):
        ragassay.evaluate(answers, out=Path("runs") / name)
    label = {"task": "rubric", "label": "4", "record_id": "q1", "item": "cohesion"}
    Path("labels.jsonl").write_text(json.dumps(label) + "\n")
    one = block(COMPARING, "python", "ragassay.meta_evaluate(")
    boards, tasks = (
        eval(line.partition("  #")[0], {"ragassay": ragassay})
        for line in one.text.splitlines()
        if line.startswith("ragassay.")
    )
    assert {row.system for board in boards for row in board.rows} >= {"alpha", "beta"}
    assert tasks


@pytest.mark.integration
def test_a_judge_is_audited_as_shown(at_work: Path, capsys: pytest.CaptureFixture[str]):
    write_answers(at_work / "answers.jsonl", 2)
    run(block(JUDGES, "python", "ragassay.audit("))
    assert "cohesion" in capsys.readouterr().out


@pytest.mark.parametrize(("page", "format_name"), [(README, "ragas"), (OWN_ANSWERS, "ragassay")])
def test_the_answer_that_is_shown_is_read(page: Path, format_name: str, tmp_path: Path):
    path = tmp_path / "answers.json"
    path.write_text(blocks(page, "json")[0].text)
    result = read_records(path)
    assert (result.format, len(result.records), result.rejections) == (format_name, 1, ())
    assert result.records[0].sources and result.records[0].reference


@pytest.mark.integration
def test_a_function_of_the_users_own_is_asked_as_shown(at_work: Path):
    names = run(block(OWN, "python", "has_number"))
    assert names["result"].scores["has_number.score"].value == 0.5
    asked = run(block(OWN, "python", "async def tone"))
    sources = [{"id": "1", "text": "Drug A lowered blood pressure."}]
    found = ragassay.evaluate(
        question="Does drug A lower blood pressure?",
        answer="It does [1].",
        sources=sources,
        evaluators=[asked["tone"], asked["fit"]],
        only=["tone", "fit"],
    )
    assert found.scores["tone.score"].n == 1
    assert found.scores["fit.score"].scale == (1.0, 5.0)


@pytest.mark.integration
def test_rubrics_of_the_users_own_are_rated_as_shown(at_work: Path):
    (at_work / "mine.yaml").write_text(block(OWN, "yaml", "dosing").text)
    found = ragassay.evaluate(
        question="q",
        answer="Take 5 mg daily.",
        rubrics=["mine.yaml"],
        only=["rubrics", "checklist"],
    )
    assert list(found.scores) == ["rubric.dosing", "checklist.score"]


def test_what_is_shown_of_own_evaluators_takes_fifteen_lines_at_most():
    shown = [one for language in ("python", "yaml", "toml") for one in blocks(OWN, language)]
    assert len(shown) == 4
    lengths = [len([line for line in one.text.splitlines() if line.strip()]) for one in shown]
    assert max(lengths) <= 15, lengths


def test_runs_are_compared_answer_by_answer_as_shown(at_work: Path, capsys):
    for name, value in (("old", 0.9), ("new", 0.5)):
        scored = [answer(f"r{i}", f"t{i}", scores={"nuggets.recall": value}) for i in range(8)]
        written_run(Path("runs") / name, scored)
    names = run(block(COMPARING, "python", "found.save("))
    assert "('nuggets.recall', 'worse')" in capsys.readouterr().out
    assert names["found"].failures(margin=0.1)
    assert (at_work / "changes.html").exists()
