"""The gate and the page of what changed, from run folders."""

from __future__ import annotations

import pytest
from answers import answer, written_run
from calls import run

import ragassay
from ragassay.errors import InputError
from ragassay.records import Finding
from ragassay.runs.compare import compare

RECALL = "nuggets.recall"
RUBRICS = ("rubric.cohesion", "rubric.relevancy")


def run_of(path, recall: float, n: int = 8, **fields: object):
    """Write a run whose answers all have this recall."""
    scores = {RECALL: recall}
    return written_run(path, [answer(f"r{i}", f"t{i}", scores=scores, **fields) for i in range(n)])


def two(folder, old: float = 0.9, new: float = 0.4, n: int = 8):
    return run_of(folder / "old", old, n), run_of(folder / "new", new, n)


def compare_runs(*arguments: object, code: int = 0) -> list[str]:
    """Run a comparison that exits with this code, and return the lines of its output."""
    out, errors = run("compare", *arguments, code=code, COLUMNS="200")
    return (out + errors).replace("\u00a0", " ").splitlines()


def test_a_gate_fails_on_a_significant_fall(tmp_path):
    lines = compare_runs(*two(tmp_path), "--fail-if", "worse", code=4)
    assert lines == [
        "new is worse than old on 1 of 2 scores and better on none; 8 of 8 answers got worse and "
        "none got better.",
        "worse: Nugget recall of new: 90 % -> 40 %, \u221250 points (\u221250 to \u221250), "
        "p 0.016 over 8 questions",
    ]


def test_a_gate_passes_what_is_better(tmp_path):
    lines = compare_runs(*two(tmp_path, 0.4, 0.9), "--fail-if", "worse", "--margin", "0")
    assert lines[-1] == "passed: no score is worse"


def test_few_answers_fail_by_a_margin_alone(tmp_path):
    gate = (*two(tmp_path, 0.9, 0.8, n=3), "--fail-if", "worse")
    assert any("too few questions" in line for line in compare_runs(*gate))
    compare_runs(*gate, "--margin", "0.05", code=4)
    compare_runs(*gate, "--margin", "0.2")


def test_what_cannot_be_measured_is_told_apart_from_worse(tmp_path):
    old, new = run_of(tmp_path / "old", 0.9), run_of(tmp_path / "new", 0.9, n=3)
    lines = compare_runs(old, new, "--fail-if", "worse", code=3)
    assert lines[-1] == "could not be measured: Nugget recall of new: 3 of 8 questions of old"


def test_new_serious_findings_fail_a_gate(tmp_path):
    wrong = Finding(kind="contradicted_citation", message="Wrong.", sentence=1)
    old = run_of(tmp_path / "old", 0.9)
    new = run_of(tmp_path / "new", 0.9, findings=(wrong,))
    lines = compare_runs(old, new, "--fail-if", "worse", code=4)
    assert lines[-1].startswith("worse: Answers with a serious finding of new: 0 % -> 100 %")


def test_a_margin_without_a_gate_is_wrong_usage(tmp_path):
    lines = compare_runs(tmp_path, "--margin", "0.1", code=2)
    assert any("requires --fail-if" in line for line in lines)


def test_a_page_is_written_and_its_outcome_said(tmp_path):
    lines = compare_runs(*two(tmp_path), "--html", tmp_path / "changes.html")
    assert lines[0].startswith("new is worse than old on 1 of 2 scores")
    assert lines[1:] == [f"wrote {tmp_path / 'changes.html'}"]
    assert (tmp_path / "changes.html").read_text().startswith("<!doctype html>")


def test_where_a_page_cannot_be_written_nothing_is_compared(tmp_path):
    (tmp_path / "file").touch()
    lines = compare_runs("nowhere", "--html", tmp_path / "file" / "changes.html", code=1)
    assert lines[0].endswith("file must be a folder but is a file; choose another --html")
    lines = compare_runs("nowhere", "--html", tmp_path, code=2)
    assert any("is a folder" in line for line in lines)


def test_runs_of_the_same_systems_are_compared_system_by_system(tmp_path):
    def write(name: str, recall: float):
        named = [(f"{system}{i}", f"t{i}", system) for system in "ab" for i in range(4)]
        both = [answer(*names, scores={RECALL: recall}) for names in named]
        return written_run(tmp_path / name, both)

    (change,) = compare([write("old", 0.5), write("new", 0.4)]).changes()
    assert (change.old, change.new) == ("old", "new")
    assert {(p.old.record_id, p.new.record_id) for p in change.answers} == {
        (f"{s}{i}", f"{s}{i}") for s in "ab" for i in range(4)
    }


def test_systems_of_a_run_are_compared_with_the_first_or_the_baseline(tmp_path):
    every = [
        answer(f"{s}{i}", f"t{i}", s, scores={RECALL: v})
        for s, v in (("a", 0.9), ("b", 0.5), ("c", 0.1))
        for i in range(2)
    ]
    run = written_run(tmp_path / "run", every)
    found = compare([run], systems=["c", "a"])
    assert [(c.old, c.new) for c in found.changes()] == [("c", "a")]
    assert [row.system for row in found.boards[0].rows] == ["a", "c"]
    assert [(c.old, c.new) for c in compare([run]).changes("b")] == [("b", "a"), ("b", "c")]
    with pytest.raises(InputError, match="unknown system 'x'; the systems are a, b, c"):
        compare([run], systems=["x"])
    with pytest.raises(InputError, match=r"unknown baseline 'x'; choose one of a, b, c"):
        compare([run]).changes("x")


def test_the_mean_of_the_rubrics_stands_for_all_of_them(tmp_path):
    def write(name: str, value: float):
        rated = [answer("r", "t", scores=dict.fromkeys(RUBRICS, value))]
        return written_run(tmp_path / name, rated)

    runs = [write("old", 0.6), write("new", 0.4)]
    (change,) = compare(runs).changes()
    assert [score.key for score in change.scores] == ["findings.serious", "rubric.mean"]
    (change,) = compare(runs, ["rubric"]).changes()
    assert [score.key for score in change.scores] == ["findings.serious", *RUBRICS]


def test_from_python_a_comparison_is_saved_and_gated(tmp_path):
    found = ragassay.compare(two(tmp_path))
    page = found.save(tmp_path / "pages" / "changes.html")
    assert "new is worse than old on 1 of 2 scores" in page.read_text()
    assert [(one.key, one.is_worse) for one in found.failures()] == [(RECALL, True)]
    assert found.failures(baseline="new") == ()


def test_one_system_has_nothing_to_compare(tmp_path):
    lines = compare_runs(run_of(tmp_path / "run", 0.5), "--fail-if", "worse", code=1)
    assert "there are no systems to compare" in lines[0]
