"""Judges against systems, from run folders and rating files to tables and pages."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from functools import partial

import calls
import pytest
from answers import answer, changed, written_run
from case_tables import each_case
from rows import read_csv, write_rows

from ragassay.errors import InputError
from ragassay.records import Judgment, RecordFailure
from ragassay.runs.folder import RunFolder, write_lines
from ragassay.studies.matrix import compare_judges, write_judge_matrix

call = partial(calls.call, COLUMNS="140")
EVIL = "=cmd|' /C calc'!A0 $x_1$ <b>&"


def judged(system, topic, score, **fields):
    judgment = Judgment.model_validate(
        {"rubric": "cohesion", "rating": round(score), "score": score} | fields
    )
    return answer(f"{topic}/{system}", topic, system, judgments=(judgment,))


def run_of(folder, judge, scores):
    evaluations = [
        judged(system, f"t{i}", value)
        for system, values in scores.items()
        for i, value in enumerate(values)
    ]
    return written_run(folder, evaluations, judge=judge)


@pytest.fixture
def two(tmp_path):
    return [
        run_of(tmp_path / "one", "openai/Alpha", {"alpha": [5.0, 4.5], "beta": [3.0, 2.5]}),
        run_of(tmp_path / "two", "beta", {"alpha": [3.0, 3.0], "beta": [4.0, 4.0]}),
    ]


def labels_file(path, n_questions=3):
    return write_rows(
        path,
        (
            {"task": "rubric", "label": label, "record_id": f"q{i}/{system}", "topic": f"q{i}"}
            | {"system": system, "item": "cohesion", "annotator": judge}
            for i in range(n_questions)
            for judge, system, label in ("AA5", "Ab3", "KA4", "Kb4")
        ),
    )


def test_runs_of_two_judges_make_a_matrix_with_its_diagonal(two):
    found = compare_judges(two)
    (matrix,) = found.matrices
    assert (matrix.rows, matrix.columns) == (("openai/Alpha", "beta"), ("alpha", "beta"))
    assert [[cell.value for cell in row] for row in matrix.cells] == [[4.75, 2.75], [3.0, 4.0]]
    assert matrix.own == {(0, 0), (1, 1)}
    favourites = [(f.judge, f.system) for f in found.favourites]
    assert favourites == [("openai/Alpha", "alpha"), ("beta", "beta")]
    # 2 - (-1) and 1 - (-2).
    assert [p.excess.value for p in found.self_preferences] == [3.0, 3.0]
    # Judges stand in the order of the systems that they are.
    assert compare_judges(two[::-1]).matrices[0].rows == matrix.rows


def test_one_judge_may_have_a_run_for_each_system(tmp_path):
    scores = {"alpha": [5.0], "beta": [4.0]}
    runs = [run_of(tmp_path / name, "J", {name: values}) for name, values in scores.items()]
    assert [c.value for c in compare_judges(runs).matrices[0].cells[0]] == [5.0, 4.0]


def test_answers_without_a_system_count_for_their_file(tmp_path):
    run = written_run(tmp_path / "run", [judged(None, "t", 4.0), judged("beta", "t", 3.0)])
    assert compare_judges([run]).matrices[0].columns == ("answers", "beta")


def test_members_of_a_panel_are_judges_with_what_they_said_first(tmp_path):
    def member(judge, score, **fields):
        return {"rubric": "cohesion", "rating": score, "score": score, "judge": judge} | fields

    members = (member("one", 4, first=member("one", 2)), member("two", 5))
    run = [judged(system, "t", 4.5, members=members) for system in ("a", "b")]
    (matrix,) = compare_judges([written_run(tmp_path / "run", run)]).matrices
    assert matrix.rows == ("one", "two")
    assert [row[0].value for row in matrix.cells] == [2.0, 5.0]


def test_an_unscored_judgment_is_counted(tmp_path):
    failed = Judgment.model_validate({"rubric": "cohesion", "failure": {"reason": "timeout"}})
    lost = changed(judged("b", "t", 3.0), judgments=(failed,))
    run = written_run(tmp_path / "run", [judged("a", "t", 3.0), lost])
    cell = compare_judges([run]).matrices[0].cells[0][1]
    assert (cell.value, cell.n, cell.n_unscored) == (None, 0, 1)


def test_a_file_of_ratings(tmp_path, two):
    labels = labels_file(tmp_path / "labels.jsonl")
    found = compare_judges(ratings=labels)
    assert [[c.value for c in row] for row in found.matrices[0].cells] == [[5.0, 3.0], [4.0, 4.0]]
    (preference,) = found.self_preferences
    assert (preference.judge, preference.excess.value, preference.excess.n) == ("A", 2.0, 3)
    together = compare_judges(two, labels)
    assert set(together.matrices[0].rows) == {"openai/Alpha", "beta", "A", "K"}


def test_rubrics_are_shown_one_by_one(two):
    for wanted in (["cohesion"], ["all"]):
        assert [m.key for m in compare_judges(two, rubrics=wanted).matrices] == ["all", "cohesion"]
    with pytest.raises(InputError, match=r"'made_up'; use one of cohesion"):
        compare_judges(two, rubrics=["made_up"])


def test_a_judge_is_a_system_under_another_name(tmp_path):
    run = run_of(tmp_path / "run", "J", {"a": [5.0], "b": [4.0]})
    other = run_of(tmp_path / "other", "K", {"a": [4.0], "b": [4.0]})
    (found,) = compare_judges([run, other], same=["J=b"]).self_preferences
    assert (found.judge, found.systems, found.excess.value) == ("J", ("b",), -1.0)


def test_only_chosen_answers(tmp_path, two):
    rows = [
        {"id": f"t{i}/{s}", "question": "Q?", "answer": "A.", "part": f"p{i}"}
        for s in ("alpha", "beta")
        for i in range(2)
    ]
    answers = write_rows(tmp_path / "answers.jsonl", rows)
    found = compare_judges(two, answers=answers, where=["part=p1"])
    assert [c.value for c in found.matrices[0].cells[0]] == [4.5, 2.5]
    with pytest.raises(InputError, match="pass --answers"):
        compare_judges(two, where=["part=p1"])


def test_what_has_no_matrix_is_refused(tmp_path, two):
    with pytest.raises(InputError, match="has no run"):
        compare_judges([tmp_path / "nowhere"])
    with pytest.raises(InputError, match="there are no ratings"):
        compare_judges()
    with pytest.raises(InputError, match="only 'a' was rated"):
        compare_judges([run_of(tmp_path / "run", "J", {"a": [5.0]})])
    with pytest.raises(InputError, match=r"'openai/Alpha' rated 't0/alpha' .* twice"):
        compare_judges([two[0], two[0]])
    with pytest.raises(InputError, match="JUDGE=SYSTEM"):
        compare_judges(two, same=["J"])
    with pytest.raises(InputError, match="unknown judge 'J'"):
        compare_judges(two, same=["J=alpha"])


RATING = {"task": "rubric", "label": "7", "topic": "t", "system": "a", "item": "cohesion"}


@each_case(
    ("label", "problem"),
    [
        ({"task": "accuracy", "label": "yes", "record_id": "a"}, "no rubric ratings"),
        (RATING, "7 is not between 1 and 5"),
        (RATING | {"label": "3", "system": None, "record_id": "a"}, "has no system"),
    ],
)
def test_labels_that_are_no_ratings_are_refused(label, problem, tmp_path):
    with pytest.raises(InputError, match=problem):
        compare_judges(ratings=write_rows(tmp_path / "labels.jsonl", [label]))


def test_what_a_run_lacks_is_a_warning(tmp_path):
    evaluations = [judged(s, "t", 4.0) for s in "ab"]
    run = written_run(tmp_path / "run", evaluations, is_finished=False)
    failure = {"record_id": "x", "stage": "segment", "failure": {"reason": "error"}}
    write_lines(RunFolder(run).failures_file, [RecordFailure.model_validate(failure)])
    assert compare_judges([run]).warnings == (
        f"{run} is not finished; missing ratings count as unscored",
        f"{run}: answers that could not be evaluated: 1",
    )
    code, shown, errors = call("matrix", run)
    assert code == 3 and "warning: " in errors
    assert "--same JUDGE=SYSTEM" in shown, "no judge is a system"


def test_files_hold_the_matrix(two, tmp_path):
    found = compare_judges(two, rubrics=["all"])
    paths = {path.name: path for path in write_judge_matrix(found, tmp_path / "out")}
    assert set(paths) == {
        *("matrix.csv", "matrix.tex", "favourites.csv", "self_preference.csv", "index.html"),
        *("all.svg", "cohesion.svg"),
    }
    columns = ("matrix", "row", "column", "value", "is_own")
    assert [[r[c] for c in columns] for r in read_csv(paths["matrix.csv"])[:2]] == [
        ["all", "openai/Alpha", "alpha", "4.75", "yes"],
        ["all", "openai/Alpha", "beta", "2.75", "no"],
    ]
    columns = ("judge", "against", "verdict", "excess")
    assert [[r[c] for c in columns] for r in read_csv(paths["self_preference.csv"])[:2]] == [
        ["openai/Alpha", "all", "prefers_own", "3.0"],
        ["openai/Alpha", "beta", "prefers_own", "3.0"],
    ]
    assert ElementTree.parse(paths["all.svg"]).getroot().tag.endswith("svg")
    page = paths["index.html"].read_text()
    assert "openai/Alpha: prefers its own answers by 3.00" in page
    assert "beta rates beta best, +1.00 above alpha" in page
    again = write_judge_matrix(compare_judges(two, rubrics=["all"]), tmp_path / "again")
    assert [p.read_bytes() for p in again] == [p.read_bytes() for p in paths.values()]


def test_hostile_names_do_nothing(tmp_path):
    run = run_of(tmp_path / "run", EVIL, {EVIL: [5.0, 4.0], "b\x1b[2J": [3.0, 3.0]})
    other = run_of(tmp_path / "other", "K", {EVIL: [4.0, 4.0], "b\x1b[2J": [3.0, 3.0]})
    for path in write_judge_matrix(compare_judges([run, other]), tmp_path / "out"):
        text = path.read_text()
        assert "\x1b" not in text
        if path.suffix in (".svg", ".html"):
            assert "<b>&" not in text
        if path.suffix == ".csv":
            cells = [cell for row in read_csv(path) for cell in row.values()]
            assert not any(cell.startswith("=") for cell in cells)


def test_the_command_prints_tables_and_names_its_files(two, tmp_path):
    code, out, errors = call("matrix", *two, "--out", tmp_path / "out")
    assert code == 0
    assert "Mean rating: all rubrics" in out
    assert "prefers its own answers by 3.00" in out
    assert "self_preference.csv" in errors
    code, out, _ = call("matrix", *two, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["self_preferences"][0]["verdict"] == "prefers_own"
    first = found["matrices"][0]["cells"][0]
    assert (first["row"], first["column"], first["value"]) == ("openai/Alpha", "alpha", 4.75)


def test_errors_are_one_line(tmp_path):
    code, _, errors = call("matrix", tmp_path / "nowhere")
    assert (code, errors.count("\n")) == (1, 1)


def test_the_judges_of_yescieval_on_benign_answers(shared):
    """Figure 3 of the paper, on its train part: Qwen's answers are preferred, or tie for it."""
    orkg, bioasq = (
        compare_judges(
            ratings=shared / "data" / "yescieval" / f"{name}-train-answers.jsonl.gz",
            where=["variant=benign"],
        )
        for name in ("orkg-synthesis", "bioasq")
    )
    assert {f.system for f in orkg.favourites} == {"qwen2.5-72b-instruct"}
    assert len(orkg.favourites) == 4
    assert "qwen2.5-72b-instruct" in {f.system for f in bioasq.favourites}
    for found in bioasq.favourites:
        if found.system != "qwen2.5-72b-instruct":
            assert found.second == "qwen2.5-72b-instruct"
            assert (found.margin.low or 0) <= 0 <= (found.margin.high or 0)
    # Nowhere does a judge's excess show against more than one of three other systems.
    for found in (*orkg.self_preferences, *bioasq.self_preferences):
        assert found.verdict in ("none_seen", "prefers_others") or len(found.seen_against) == 1
