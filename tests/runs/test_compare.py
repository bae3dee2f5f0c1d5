"""Runs side by side, from folders to files."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ElementTree
from functools import partial

import calls
import pytest
from answers import answer, written_run

from ragassay.errors import InputError
from ragassay.records import RecordFailure
from ragassay.runs.compare import compare, write_comparison
from ragassay.runs.folder import RunFolder, write_lines

EVIL = "=cmd|' /C calc'!A0 $x_1$ <b>&"


def run_of(values: list[float], system: str | None = None, key: str = "nuggets.recall"):
    return [
        answer(f"{system}-{i}", f"t{i}", system, scores={key: value, "rubric.cohesion": value})
        for i, value in enumerate(values)
    ]


@pytest.fixture
def two(tmp_path):
    means = {"alpha": 0.9, "beta": 0.2}
    return [written_run(tmp_path / name, run_of([mean] * 8)) for name, mean in means.items()]


def test_runs_without_system_names_are_named_by_their_folder(two):
    (board,) = compare(two).boards
    assert [(row.system, row.rank) for row in board.rows] == [("alpha", 1), ("beta", 2)]
    assert board.tests[0].is_significant


def test_one_run_with_several_systems(tmp_path):
    run = written_run(tmp_path / "run", [*run_of([0.9] * 3, "a"), *run_of([0.5] * 3, "b")])
    found = compare([run])
    assert [row.system for row in found.boards[0].rows] == ["a", "b"]
    assert found.warnings == ()


def test_a_system_of_two_runs_is_compared_with_itself(tmp_path):
    folders = [written_run(tmp_path / name, run_of([0.5], "s")) for name in ("old", "new")]
    (board,) = compare(folders).boards
    assert {row.system for row in board.rows} == {"s (old)", "s (new)"}


def test_a_folder_with_the_name_of_a_system_is_kept_apart(tmp_path):
    run = written_run(tmp_path / "x", run_of([0.1], "s"))
    (board,) = compare([written_run(tmp_path / "s", run_of([0.5])), run]).boards
    assert {row.system for row in board.rows} == {"s (s)", "s (x)"}


def test_folders_of_the_same_name_are_told_apart_by_their_path(tmp_path):
    folders = [written_run(tmp_path / part / "run", run_of([0.5])) for part in ("a", "b")]
    names = {row.system for row in compare(folders).boards[0].rows}
    assert names == {str(folder) for folder in folders}


def test_scores_are_chosen_by_key_by_group_or_all(two):
    def keys(*wanted: str) -> list[str]:
        return [board.key for board in compare(two, wanted).boards]

    assert keys() == ["nuggets.recall"]
    assert keys("rubric") == ["rubric.cohesion"]
    assert keys("all") == ["nuggets.recall", "rubric.cohesion"]
    assert keys("rubric.cohesion", "rubric") == ["rubric.cohesion"]
    with pytest.raises(InputError, match=r"'made_up'; the scores are nuggets\.recall"):
        keys("made_up")


def test_runs_without_a_main_score_show_what_they_have(tmp_path):
    run = [*run_of([0.5], "a", "own.score"), *run_of([0.4], "b", "own.score")]
    boards = compare([written_run(tmp_path / "run", run)]).boards
    assert [board.key for board in boards] == ["own.score", "rubric.cohesion"]


def test_other_judges_and_settings_are_a_warning(tmp_path):
    one, other = {"seed": 1, "model": "judge"}, {"seed": 2, "model": "other"}
    first = written_run(tmp_path / "a", run_of([0.5]), settings=one)
    second = written_run(tmp_path / "b", run_of([0.4]), judge="other", settings=other)
    warnings = compare([first, second]).warnings
    assert warnings == (
        f"judge differs: judge in {first}, other in {second}",
        f"setting seed differs: 1 in {first}, 2 in {second}",
    )


def test_what_a_run_lacks_is_a_warning(tmp_path):
    first = written_run(tmp_path / "a", run_of([0.5]))
    second = written_run(tmp_path / "b", run_of([0.4]), is_finished=False)
    failure = {"record_id": "x", "stage": "segment", "failure": {"reason": "error"}}
    write_lines(RunFolder(first).failures_file, [RecordFailure.model_validate(failure)])
    assert compare([first, second]).warnings == (
        f"{first}: 1 answer could not be evaluated",
        f"the run {second} is not finished, so its means do not include the missing answers",
    )


def test_what_cannot_be_compared_is_refused(tmp_path, two):
    with pytest.raises(InputError, match="has no run"):
        compare([tmp_path / "nowhere", two[0]])
    with pytest.raises(InputError, match="passed twice"):
        compare([two[0], two[0]])
    with pytest.raises(InputError, match="only the system 'alpha'"):
        compare(two[:1])
    with pytest.raises(InputError, match="no evaluated answer"):
        compare([written_run(tmp_path / "empty", [])])


def test_files_hold_the_comparison(two, tmp_path):
    paths = write_comparison(compare(two, ["all"]), tmp_path / "out")
    plots = ["nuggets.recall.svg", "rubric.cohesion.svg"]
    tables = ["leaderboard.csv", "tests.csv", "leaderboard.tex"]
    assert [path.name for path in paths] == tables + plots
    rows = list(csv.DictReader(io.StringIO(paths[0].read_text())))
    assert [(r["score"], r["system"], r["rank"], r["value"]) for r in rows[:2]] == [
        ("nuggets.recall", "alpha", "1", "0.9"),
        ("nuggets.recall", "beta", "2", "0.2"),
    ]
    (test, _) = csv.DictReader(io.StringIO(paths[1].read_text()))
    # All 8 differences point one way: 2 / 256.
    assert (test["p_value"], test["is_exact"]) == ("0.007812", "yes")
    assert r"\toprule" in paths[2].read_text()
    assert ElementTree.parse(paths[3]).getroot().tag.endswith("svg")


def test_the_same_comparison_gives_the_same_bytes(two, tmp_path):
    first = write_comparison(compare(two), tmp_path / "one")
    again = write_comparison(compare(two), tmp_path / "two")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in again]


def test_hostile_names_do_nothing(tmp_path):
    evaluations = [*run_of([0.5] * 2, EVIL), *run_of([0.4] * 2, "\u4e2d\x1b[2J")]
    found = compare([written_run(tmp_path / "run", evaluations)])
    table, _, tex, plot = write_comparison(found, tmp_path / "out")
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert rows[0]["system"] == f"'{EVIL}"
    assert r"\$x\_1\$ \textless{}b\textgreater{}\&" in tex.read_text()
    text = plot.read_text()
    assert "<b>" not in text
    assert EVIL[:20] in "".join(ElementTree.fromstring(text).itertext())


def test_a_folder_that_cannot_be_made_is_refused(two, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file"):
        write_comparison(compare(two), tmp_path / "file")


run = partial(calls.run, COLUMNS="100")


def test_the_command_prints_tables_and_names_its_files(two, tmp_path):
    out, errors = run("compare", *two, "--out", tmp_path / "out")
    words = re.sub(r"\s+", " ", out)
    assert "Nugget recall, mean over questions" in words
    assert "1 no alpha 90 % 90-90 % 8 none" in words.replace("\u00a0", " ").replace("\u2013", "-")
    assert "8 of 8 questions have a score for all systems" in words
    assert "+0.700" in words
    assert "leaderboard.tex" in errors


def test_the_command_warns_and_goes_on(tmp_path):
    folders = [written_run(tmp_path / j, run_of([0.5] * 2), judge=j) for j in ("one", "two")]
    out, errors = run("compare", *folders)
    assert "warning: judge differs" in errors and "Tied" in out


def test_many_pairs_are_left_to_the_file(tmp_path):
    many = [e for n in range(9) for e in run_of([n / 10] * 2, f"s{n}")]
    out, _ = run("compare", written_run(tmp_path / "run", many))
    assert "36 pairs of systems were tested" in out
