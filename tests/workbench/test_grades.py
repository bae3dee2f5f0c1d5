"""`ragassay grades`."""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path

import calls
import pytest
from graded import EXTRACTED, RATED, direct, extracted, passage, query, rated
from rows import read_csv, write_rows

from ragassay.formats import (
    BankItem,
    RubricBank,
    read_graded_paragraphs,
    read_qrels,
    write_graded_paragraphs,
    write_test_banks,
)

WIDTH = 80

run = partial(calls.run, "grades", COLUMNS=str(WIDTH), TERMINAL_WIDTH=str(WIDTH))


@pytest.fixture
def grades(tmp_path: Path) -> Path:
    """Two queries: graded by questions twice, directly, judged, and ranked by two systems."""
    p1 = (
        rated({"rock/a": 5, "rock/b": 0}),
        extracted({"rock/a": "Elvis Presley, the King", "rock/b": "=1+1"}),
        direct(3),
    )
    p2 = rated({"rock/a": 0, "rock/b": 4}), direct(0)
    p3 = rated({"rock/a": 0}, ["rock/b"]), direct(2)
    p4 = rated({"white/c": 1}), direct(1)
    rock = (
        passage("p1", *p1, judged=3, ranks={"deep": 1, "flat": 2}),
        passage("p2", *p2, judged=0, ranks={"deep": 2, "flat": 1}),
        passage("p3", *p3, judged=2),
    )
    white = passage("p4", *p4, judged=1, ranks={"deep": 1})
    path = tmp_path / "graded.jsonl.gz"
    write_graded_paragraphs((query("rock", *rock), query("white", white)), path)
    return path


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    path = tmp_path / "bank.jsonl.gz"
    items = (BankItem("Who is a pioneer?", "rock/a"), BankItem("[red]Which songs?", "rock/b"))
    write_test_banks([RubricBank("rock", "when did it begin", "questions", items)], path)
    return path


def test_cover(grades: Path, tmp_path: Path) -> None:
    target = tmp_path / "cover.csv"
    shown, _ = run("cover", grades, "--at", 1, "--at", 5, "--items", "question", "--csv", target)
    assert shown.count("Rubric-Cover@") == 12
    rows = {(r["k"], r["min_rating"], r["system"]): r for r in read_csv(target)}
    # deep at 1, rated 4: rock 1 of 2, white 0 of 1.
    assert rows["1", "4", "deep"]["cover"] == "0.25"
    assert rows["5", "4", "deep"]["cover"] == "0.5"
    assert rows["1", "", "flat"]["cover_n"] == "2"
    shown, _ = run("cover", grades, "--min-rating", 4, "--json")
    (table,) = json.loads(shown)
    assert {row["system"] for row in table["rows"]} == {"_overall_", "deep", "flat"}
    assert {"exam", "exam_se", "n_exam", "n_exam_se", "cover_worst"} <= set(table["rows"][0])


def test_cover_of_run_files_with_an_official_leaderboard(grades: Path, tmp_path: Path) -> None:
    options: list[object] = []
    for name, first in (("x", "p1"), ("y", "p3"), ("z", "p2")):
        path = tmp_path / f"{name}.run"
        path.write_text(f"rock Q0 {first} 1 9.5 {name}\nwhite Q0 p4 1 2 {name}\n")
        options += ["--runs", path]
    official = tmp_path / "official.json"
    official.write_text('{"x": 1, "z": 2, "y": 3}')
    shown, _ = run("cover", grades, *options, "--official", official, "--min-rating", 5)
    assert "_overall_" in shown and "deep" not in shown
    assert "with the official leaderboard (3 systems)" in " ".join(shown.split())


def test_qrels(grades: Path, bank: Path, tmp_path: Path) -> None:
    target = tmp_path / "rubric.qrels"
    given = ("qrels", grades, "--out", target)
    shown, _ = run(*given, "--items", "question")
    assert read_qrels(target)[0] == {"rock": {"p1": 5, "p2": 4, "p3": 0}, "white": {"p4": 1}}
    assert "4 labels; 0 passages without a grade" in shown and "1 labels that could" in shown
    run(*given, "--label", "covered", "--min-rating", 4, "--testbank", bank)
    assert read_qrels(target)[0]["rock"] == {"p1": 1, "p2": 1, "p3": 0}
    run(*given, "--by-facet", "--testbank", bank)
    assert set(read_qrels(target)[0]) == {"rock", "white"}
    run(*given, "--label", "items", "--min-rating", 4)
    assert target.read_text() == "rock rock/a p1 1\nrock rock/b p2 1\n"
    _, errors = run(*given, "--prompt-class", EXTRACTED, code=1)
    assert "rock/p1" in errors and "include no ratings" in errors


def test_leaderboard(grades: Path, tmp_path: Path) -> None:
    official = tmp_path / "official.json"
    official.write_text('{"deep": 1, "flat": 2, "gone": 3}')
    target = tmp_path / "board.csv"
    options = ("--min-rating", 5, "--measure", "RR", "--measure", "alpha_nDCG@5")
    shown, _ = run("leaderboard", grades, *options, "--official", official, "--csv", target)
    words = " ".join(shown.split())
    assert "not ranked here: gone" in words
    assert "labels missing or possibly too low because of ungraded items: 1" in words
    # Only p1 of rock is rated 5: deep has it first, flat second.
    assert "Kendall 1.000" in shown
    # No passage of white is, which counts 0.
    assert target.read_text().splitlines()[1].split(",")[:4] == ["RR", "1", "deep", "0.5"]
    shown, _ = run("leaderboard", grades, "--label", "covered", "--measure", "P@1", "--json")
    assert [row["system"] for row in json.loads(shown)[0]["rows"]] == ["deep", "flat"]


def test_leaderboard_of_a_qrels_file(tmp_path: Path) -> None:
    labels, ranking = tmp_path / "labels.qrels", tmp_path / "s.run"
    labels.write_text("q 0 a 4\nq 0 b 0\n")
    ranking.write_text("q Q0 b 1 2.0 s\nq Q0 a 2 1.0 s\n")
    given = ("leaderboard", "--qrels", labels, "--runs", ranking, "--measure")
    shown, _ = run(*given, "RR", "--json")
    assert json.loads(shown)[0]["rows"][0]["score"] == 0.5
    for arguments, problem in (
        (given[:3], "pass --runs"),
        (("leaderboard", "--runs", ranking), "pass either graded passages or --qrels"),
        ((*given, "x"), "'x' is not a measure"),
    ):
        assert problem in run(*arguments, code=1)[1]


def test_bad_lines_of_what_systems_are_ranked_by_are_said(grades: Path, tmp_path: Path) -> None:
    labels, ranking = tmp_path / "labels.qrels", tmp_path / "s.run"
    official = tmp_path / "official.tsv"
    labels.write_text("q 0 a 4\nq 0 b 0\nq 0 a 1\n")
    ranking.write_text("q Q0 b 1 2.0 s\nq Q0 a 2 1.0 s\nq Q0 c 3 high s\n")
    official.write_text("s 0.5\nt\n")
    options = ("--runs", ranking, "--official", official)
    table = ("leaderboard", "--qrels", labels, *options, "--measure", "RR", "--json")
    shown, errors = run(*table, code=3)
    assert json.loads(shown)[0]["rows"][0]["score"] == 0.5
    assert errors.splitlines() == [
        f'rejected {ranking}:3: score: found the text "high", expected a finite number',
        f'rejected {labels}:3: docid: "a" already has the grade 4 for "q", '
        "expected one grade for each document",
        f"rejected {official}:2: found 1 columns, expected `system score`",
    ]
    _, errors = run("cover", grades, *options, code=3)
    assert f"rejected {ranking}:3:" in errors
    assert f"rejected {official}:2:" in errors


def test_annotators(grades: Path, tmp_path: Path) -> None:
    target, latex = tmp_path / "agreement.csv", tmp_path / "agreement.tex"
    shown, _ = run(
        *("annotators", grades, "--min-relevant", 2, "--min-answers", 1, "--items", "question"),
        *("--csv", target, "--latex", latex),
    )
    assert "judged 2 or more is relevant" in shown
    blocks = target.read_text().split("\n\n")
    assert blocks[0].splitlines()[0] == "label,judged_3,judged_2,judged_1,judged_0,total"
    # At 4: p1 both, p2 added, p3 missed, p4 neither: as good as chance.
    line = next(x for x in blocks[1].splitlines() if "4 or more" in x)
    assert line.startswith("1,4,4 or more,1,1,2,0.0,")
    assert r"\toprule" in latex.read_text() and "Kappa" in latex.read_text()


def test_verify(grades: Path, bank: Path, tmp_path: Path) -> None:
    target = tmp_path / "verify.csv"
    shown, _ = run("verify", grades, "--testbank", bank, "--query", "rock", "--csv", target)
    assert "rock: Who is a pioneer?" in shown and "[red]Which songs?" in shown
    first = read_csv(target)[0]
    assert (first["rating"], first["extracted"]) == ("5", "Elvis Presley, the King")
    assert first["passage"] == "The text of p1."
    # A spreadsheet would compute it.
    assert "'=1+1" in target.read_text()
    shown, _ = run("verify", grades, "--item", "PIONEER", "--testbank", bank, "--limit", 1)
    assert "songs" not in shown and "1 of 3 rows" in shown
    _, errors = run("verify", grades, "--query", "jazz", code=1)
    assert "unknown query 'jazz'; the queries are rock, white" in errors


def test_grid(grades: Path, bank: Path, tmp_path: Path) -> None:
    target = tmp_path / "grid.csv"
    shown, _ = run("grid", grades, "--testbank", bank, "--query", "rock", "--csv", target)
    assert "Who is a pioneer?" in shown
    (p3,) = (line.split() for line in shown.splitlines() if line.strip().startswith("p3"))
    assert p3 == ["p3", "2", "0", "?"]
    assert read_csv(target)[0]["rock/a extracted"] == "Elvis Presley, the King"
    shown, _ = run("grid", grades, "--prompt-class", EXTRACTED, "--query", "rock", "--json")
    assert json.loads(shown)[0]["rows"][0]["rock/a"] is True


def test_a_grid_of_many_items_is_shown_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "graded.jsonl.gz"
    ratings = {f"q/{i}": i % 6 for i in range(30)}
    write_graded_paragraphs([query("q", passage("a-long-passage-name", rated(ratings)))], path)
    shown, _ = run("grid", path)
    assert shown.count("ratings of passages by items") == 3
    assert fits(shown)


def test_missing_and_spurious(grades: Path, bank: Path) -> None:
    def rows_of(*arguments: object) -> list[dict[str, object]]:
        return json.loads(run(*arguments, "--json")[0])[0]["rows"]

    missing = rows_of("missing", grades, "--min-relevant", 2, "--min-rating", 4)
    assert [row["paragraph_id"] for row in missing] == ["p3"]
    missing = rows_of("missing", grades, "--relevant-from", 1, "--min-rating", 4)
    assert [row["paragraph_id"] for row in missing] == ["p3", "p4"]
    found = rows_of("spurious", grades, "--testbank", bank, "--min-rating", 4)
    rows = {row["item"]: row for row in found}
    assert (rows["rock/b"]["finding"], rows["rock/b"]["n_other"]) == ("spurious", 1)
    assert rows["rock/a"]["finding"] == ""
    shown, _ = run("spurious", grades, "--min-rating", 4, "--finding", "none")
    assert "white/c" in shown and "rock/a" not in shown
    shown, _ = run("missing", grades, "--min-relevant", 9)
    assert "Relevant passages that cover no item" in shown


def test_agreement_of_merged_graders(grades: Path, tmp_path: Path) -> None:
    other, both = tmp_path / "other.jsonl.gz", tmp_path / "both.jsonl.gz"
    second = rated({"rock/a": 4, "rock/b": 1}, model="n")
    write_graded_paragraphs([query("rock", passage("p1", second))], other)
    shown, _ = run("merge", grades, other, "--out", both)
    assert "2 queries, 4 passages" in shown
    shown, _ = run("agreement", both, "--prompt-class", RATED, "--min-rating", 4)
    assert f"{RATED} by n" in shown and "Krippendorff" in shown
    shown, _ = run("agreement", both, "--prompt-class", RATED, "--min-rating", 4, "--json")
    pairs = json.loads(shown)[1]["rows"]
    assert [(row["kind"], row["kappa"]) for row in pairs] == [("question", 1.0), ("all", 1.0)]


def test_merge_says_what_differs(grades: Path, tmp_path: Path) -> None:
    other, out = tmp_path / "other.jsonl.gz", tmp_path / "both.jsonl.gz"
    write_graded_paragraphs([query("rock", passage("p1", rated({"rock/a": 1})))], other)
    _, errors = run("merge", grades, other, "--out", out, code=1)
    assert "query 'rock', passage 'p1'" in errors and "--later-wins" in errors
    assert not out.exists()
    run("merge", grades, other, "--out", out, "--later-wins")
    first = read_graded_paragraphs(out).queries[0].paragraphs[0]
    assert dict((first.exam_grades or ())[0].answers) == {"rock/a": "1"}


def test_filter(grades: Path, tmp_path: Path) -> None:
    out = tmp_path / "direct.jsonl.gz"
    shown, _ = run("filter", grades, "--items", "direct", "--out", out)
    assert "Thomas by m" in shown
    kept = [one for q in read_graded_paragraphs(out).queries for one in q.paragraphs]
    assert [(len(one.exam_grades or ()), len(one.grades or ())) for one in kept] == [(0, 1)] * 4
    _, errors = run("filter", grades, "--model", "nobody", "--out", out, code=1)
    assert "no grades match the filter 'by nobody'" in errors and f"{EXTRACTED} by m" in errors


def test_what_cannot_be_read_is_said_and_the_rest_counts(grades: Path, tmp_path: Path) -> None:
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(gzip.decompress(grades.read_bytes()) + b'["x", [{"paragraph_id": 1}]]\n')
    for command in ("cover", "annotators", "verify", "grid", "missing", "spurious", "agreement"):
        _, errors = run(command, path, code=3)
        assert "damaged.jsonl:3" in errors and "text" in errors


def test_every_table_fits_80_columns(grades: Path, bank: Path) -> None:
    for command in ("cover", "leaderboard", "annotators", "agreement", "missing"):
        assert fits(run(command, grades)[0]), command
    for command in ("verify", "grid", "spurious"):
        assert fits(run(command, grades, "--testbank", bank)[0]), command


def fits(shown: str) -> bool:
    return bool(shown.strip()) and max(map(len, shown.splitlines())) <= WIDTH


def test_every_command_teaches_by_example() -> None:
    shown, _ = run("--help")
    for name in (
        *("merge", "passages", "filter", "cover", "qrels", "leaderboard", "annotators"),
        *("verify", "grid", "missing", "spurious", "agreement"),
    ):
        assert name in shown
        assert f"ragassay grades {name}" in run(name, "--help")[0]


def test_passages_are_written_as_the_workbench_reads_them(grades: Path, tmp_path: Path) -> None:
    answers, out = tmp_path / "answers.jsonl", tmp_path / "responses.jsonl.gz"
    row = {"question": "Q?", "answer": "It is. So.", "topic": "rock"}
    write_rows(answers, [*(row | {"id": name, "system": name} for name in ("a", "b")), {}])
    shown, errors = run("passages", answers, grades, "--out", out, code=3)
    assert "2 queries, 6 passages" in shown
    assert "answers.jsonl:3" in errors
    found = read_graded_paragraphs(out).queries
    assert [one.paragraph_id for one in found[0].paragraphs] == ["a", "b", "p1", "p2", "p3"]
    first, _, third, *_ = found[0].paragraphs
    assert (first.text, first.paragraph_data.rankings[0].method) == ("It is. So.", "a")
    assert third == read_graded_paragraphs(grades).queries[0].paragraphs[0]
