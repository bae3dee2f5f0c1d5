"""Systems evaluated by graded files."""

from __future__ import annotations

from pathlib import Path

import pytest
from graded import extracted, passage, query, rated

from ragassay.errors import InputError
from ragassay.formats import (
    RankedDocument,
    RetrievalRun,
    write_graded_paragraphs,
    write_run,
)
from ragassay.runs.banks import GradedFile, read_graded
from ragassay.workbench.evaluation import (
    build_leaderboards,
    compute_cover_tables,
    compute_rubric_qrels,
    read_system_files,
    write_rubric_qrels,
)
from ragassay.workbench.grades import GradeFilter

ANY = GradeFilter()


def graded(*passages: object) -> GradedFile:
    return GradedFile((query("q", *passages),))  # type: ignore[arg-type]


def test_minimum_ratings_are_shown_where_there_are_ratings() -> None:
    ranked = {"s": 1}
    both = graded(passage("p", rated({"a": 4}), ranks=ranked))
    assert [t.min_rating for t in compute_cover_tables(both, ANY)] == [None, 1, 2, 3, 4, 5]
    plain = graded(passage("p", extracted({"a": "x"}), ranks=ranked))
    assert [t.min_rating for t in compute_cover_tables(plain, ANY)] == [None]
    assert [t.k for t in compute_cover_tables(plain, ANY, ks=(5, 9))] == [5, 9]


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    file = graded(passage("p", rated({"a": 4})))
    with pytest.raises(InputError, match="no rankings; pass --runs"):
        compute_cover_tables(file, ANY)
    with pytest.raises(InputError, match="match the filter 'nugget'; available graders: Question"):
        compute_rubric_qrels(file, GradeFilter(items="nugget"))
    with pytest.raises(InputError, match="match the filter 'any'; available graders: none"):
        compute_rubric_qrels(graded(passage("p")), ANY)
    with pytest.raises(InputError, match=r"no \*\.run files in"):
        read_system_files([tmp_path])


def test_a_leaderboard_by_grades_is_that_of_the_labels_written(tmp_path: Path) -> None:
    passages = [
        passage("p1", rated({"a": 5, "b": 4}), ranks={"s": 1, "t": 3}),
        passage("p2", rated({"a": 0, "b": 3}), ranks={"s": 2, "t": 2}),
        passage("p3", rated({"a": 1, "b": 0}), ranks={"s": 3, "t": 1}),
    ]
    path, labels = tmp_path / "graded.jsonl.gz", tmp_path / "rubric.qrels"
    write_graded_paragraphs([query("q", *passages)], path)
    file = read_graded(path)
    runs: list[Path] = []
    for system, names in (("s", ("p1", "p2", "p3")), ("t", ("p3", "p2", "p1"))):
        runs.append(tmp_path / f"{system}.run")
        ranking = tuple(RankedDocument(n, i, -float(i)) for i, n in enumerate(names, 1))
        write_run(RetrievalRun(system, {"q": ranking}), runs[-1])
    write_rubric_qrels(compute_rubric_qrels(file, ANY), labels)
    for level in (1, 4):
        own = build_leaderboards(file, ANY, min_rating=level)
        written = build_leaderboards(None, ANY, read_system_files(runs, labels), min_rating=level)
        assert own == written
    assert read_system_files([tmp_path], labels) == read_system_files(runs, labels)
    (rows,) = build_leaderboards(file, ANY, measures=["RR"], min_rating=4)
    assert [(row.system, row.score.value) for row in rows.rows] == [
        ("s", 1.0),
        ("t", pytest.approx(1 / 3)),
    ]
