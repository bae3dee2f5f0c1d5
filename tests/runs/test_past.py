"""Past runs of a folder, listed and opened."""

from __future__ import annotations

import json
import os
import webbrowser
from pathlib import Path

import pytest
from answers import answer, written_run
from calls import run
from filelock import FileLock

from ragassay.errors import InputError
from ragassay.metrics.stats.summary import summarize
from ragassay.records import Audit, FileFingerprint, Finding, Score
from ragassay.runs.folder import RunFolder, write_atomically
from ragassay.runs.past import find_report_page, find_run, list_past_runs


def show(*arguments: object, code: int = 0) -> str:
    """Run `ragassay runs`, and return what it shows."""
    out, errors = run("runs", *arguments, code=code, COLUMNS="80")
    return (out + errors).replace("\u00a0", " ")


WRONG = Finding(kind="contradicted_citation", message="Wrong.", sentence=1)


def at(run: Path, when: int) -> Path:
    """Say when a run was last written to."""
    for file in run.iterdir():
        os.utime(file, (when, when))
    return run


@pytest.fixture
def folder(tmp_path) -> Path:
    """An old finished run, a newer stopped one, an audit, a damaged one, and no run at all."""
    runs = tmp_path / "runs"
    both = [answer(f"r{i}", f"t{i}", scores={"nuggets.recall": 0.5}) for i in range(2)]
    first = [both[0], both[1].model_copy(update={"findings": (WRONG,)})]
    at(written_run(runs / "first", first, judge="openai/judge"), 1_000_000_000)
    fingerprint = FileFingerprint(name="a.jsonl", sha256="0" * 64, n_items=90)
    at(written_run(runs / "half", both, is_finished=False, answers=fingerprint), 1_200_000_000)
    audit = written_run(runs / "audited", both, is_finished=False)
    found = Audit(judge="judge", n_answers=1, seed=0, pools="audit")
    write_atomically(RunFolder(audit).audit_file, found.model_dump_json())
    at(audit, 1_100_000_000)
    (runs / "broken").mkdir()
    (runs / "broken" / "run.json").write_text("{")
    at(runs / "broken", 900_000_000)
    (runs / "notes").mkdir()
    return runs


def test_runs_are_listed_the_newest_first(folder):
    out = show(folder)
    assert [line.rstrip() for line in out.splitlines()] == [
        "half     2008-01-10 21:20  stopped at 2 of 90",
        "         by judge",
        "audited  2004-11-09 11:33  finished, 2 answers",
        "         audit: No rubric was audited; by judge",
        "first    2001-09-09 01:46  finished, 2 answers, 1 finding",
        "         nugget recall 50 %; by openai/judge",
        "broken   1998-07-09 16:00  damaged",
        "         run.json is damaged or was written by another version",
    ]


def test_a_score_of_which_only_the_range_is_known_shows_that(folder):
    run = RunFolder(folder / "first")
    summary = run.read_summary()
    half = Score(value=None, decided=0.5, n=4, n_unscored=4, worst=0.25, best=0.75)
    scores = {**summary.scores, "citations.support": half}
    changed = summary.model_copy(update={"scores": scores})
    write_atomically(run.summary_file, changed.model_dump_json())
    out = show(folder)
    assert "citations support 25 to 75 %" in " ".join(out.split())
    out = show(folder, "--json")
    found = {one["name"]: one for one in json.loads(out)}["first"]
    assert found["scores"]["citations.support"] is None
    assert found["ranges"] == {"citations.support": [0.25, 0.75]}


def test_the_list_is_json_too(folder):
    out = show(folder, "--json")
    found = {run["name"]: run for run in json.loads(out)}
    states = [run["state"] for run in found.values()]
    assert states == ["stopped", "finished", "finished", "damaged"]
    assert found["first"]["scores"] == {"nuggets.recall": 0.5}
    assert (found["half"]["n_evaluated"], found["half"]["n_records"]) == (2, 90)


def test_the_folder_is_runs_unless_it_is_named(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    assert show() == show("list") == show("runs")
    assert "first" in show()


def test_a_run_at_work_is_running(folder):
    with FileLock(folder / "half" / ".lock"):
        assert {run.name: run.state for run in list_past_runs(folder)}["half"] == "running"
    assert {run.name: run.state for run in list_past_runs(folder)}["half"] == "stopped"


@pytest.mark.parametrize(
    ("evaluations", "n_failed", "said"),
    [
        ([], 3, "failed: none of 3 answers were evaluated"),
        ([answer()], 2, "finished, 1 answer, 2 failed, 0 findings"),
    ],
)
def test_answers_that_failed_are_counted(tmp_path, evaluations, n_failed, said):
    run = written_run(tmp_path / "run", evaluations)
    summary = summarize(evaluations, n_records=3, n_failed=n_failed, n_rejected=0)
    write_atomically(RunFolder(run).summary_file, summary.model_dump_json())
    assert show(run).splitlines()[0].endswith(said)


@pytest.mark.parametrize("name", ["summary.json", "audit.json"])
def test_a_damaged_file_is_named_and_hides_no_other_run(folder, name):
    (folder / "first" / name).write_text("[]")
    found = {run.name: run for run in list_past_runs(folder)}
    assert found["first"].state == "damaged"
    assert name in found["first"].note
    assert found["half"].state == "stopped"


def test_a_folder_without_runs_says_so(tmp_path):
    assert show(tmp_path) == f"{tmp_path} has no runs\n"
    out = show(tmp_path / "nowhere", code=1)
    assert "ragassay evaluate" in out


def test_a_run_is_found_by_name_by_path_or_as_the_latest(folder):
    assert find_run("first", folder) == folder / "first"
    assert find_run(str(folder / "first"), Path("elsewhere")) == folder / "first"
    assert find_run("latest", folder) == folder / "half"
    with pytest.raises(InputError, match="the runs are half, audited, first, broken"):
        find_run("x", folder)
    with pytest.raises(InputError, match="elsewhere has no runs"):
        find_run("x", Path("elsewhere"))


def test_a_report_is_opened_in_the_browser(folder, monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) is None)
    page = folder / "first" / "report.html"
    page.write_text("")
    assert show("open", "first", "--in", folder).strip() == str(page)
    assert opened == [page.as_uri()]
    show("open", "first", "--in", folder, "--no-open")
    assert len(opened) == 1


def test_a_run_without_a_report_says_how_to_get_one(folder):
    out = show("open", "--in", folder, code=1)
    assert f"`ragassay report {folder / 'half'}`" in out
    (folder / "audited" / "audit.html").write_text("")
    assert find_report_page(folder / "audited").name == "audit.html"


def test_a_run_is_opened_for_review(folder, monkeypatch):
    served: list[object] = []
    monkeypatch.setattr(
        "ragassay.review.server.serve_page",
        lambda *given, **named: served.append((given[0], named["opens"])),
    )
    show("open", "first", "--in", folder, "--review", "--no-open")
    assert served == [(folder / "first", False)]
