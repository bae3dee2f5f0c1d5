"""Labels of passages, and leaderboards by labels."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path

import pytest
from case_tables import each_case
from graded import direct, extracted, passage, query, rated
from rich.console import Console

from ragassay.errors import InputError
from ragassay.formats import (
    BankItem,
    QueryParagraphs,
    RankedDocument,
    RetrievalRun,
    RubricBank,
    read_graded_paragraphs,
    write_graded_paragraphs,
    write_run,
)
from ragassay.metrics.papers.retrieval import alpha_ndcg, run_values
from ragassay.metrics.stats.correlation import kendall_tau, spearman_rho
from ragassay.records import Score
from ragassay.reports.sheets import list_sheet_rows, render_sheet_table
from ragassay.runs.banks import GradedFile, read_graded
from ragassay.workbench.evaluation import (
    build_leaderboards,
    compute_cover_tables,
    compute_rubric_qrels,
    read_system_files,
    write_rubric_qrels,
)
from ragassay.workbench.evaluation_tables import build_board_sheet
from ragassay.workbench.grades import GradeFilter
from ragassay.workbench.leaderboards import (
    build_board,
    build_facet_finder,
    build_rubric_boards,
    extract_facet,
    find_covered_items,
    label_by_covered_count,
    label_by_highest_rating,
)

LABELS = {"q": {"a": 5, "b": 4, "c": 0}, "r": {"x": 4}, "s": {"y": 3}}
RANKINGS = {
    "good": {"q": {"a": 1, "b": 2}, "r": {"x": 1}},
    "bad": {"q": {"c": 1, "new": 2, "b": 3}, "r": {"x": 1}},
    "half": {"q": {"a": 1}},
}


def test_worked_by_hand() -> None:
    (found,) = build_rubric_boards(LABELS, RANKINGS, ["RR"], level=4, skips_empty=True)
    # s has no label of 4 or more. good: 1 and 1; bad: 1/3 and 1; half: 1 and, for r, 0.
    rows = {row.system: row for row in found.rows}
    assert [(row.system, row.rank) for row in found.rows] == [("good", 1), ("bad", 2), ("half", 3)]
    assert rows["bad"].score.value == pytest.approx((1 / 3 + 1) / 2)
    assert rows["half"].score.value == 0.5
    assert {row.score.n for row in found.rows} == {2}
    # Deviation of (1/3, 1) is sqrt(2)/3, by sqrt(2): 1/3.
    assert rows["bad"].score_se == pytest.approx(1 / 3)
    assert [row.n_unlabelled for row in found.rows] == [0, 1, 0]
    assert found.correlation is None


def test_the_level_says_what_is_relevant_unless_the_measure_does() -> None:
    measures = ["P@2", "P(rel=5)@2", "nDCG@5"]
    boards = build_rubric_boards(LABELS, RANKINGS, measures, level=4, skips_empty=True)
    values = {one.measure: {row.system: row.score for row in one.rows} for one in boards}
    # P@2 of good: q 2 of 2, r 1 of 2.
    assert values["P@2"]["good"].value == pytest.approx(0.75)
    # Only q has a label of 5.
    assert (values["P(rel=5)@2"]["good"].value, values["P(rel=5)@2"]["good"].n) == (0.5, 1)
    # nDCG takes gains, whatever the level: s, which good does not rank, counts as 0.
    assert values["nDCG@5"]["good"].value == pytest.approx(2 / 3)


def test_equal_means_share_a_rank_whatever_they_were_summed_from() -> None:
    values = {"a": {"q": 0.1, "r": 0.2, "s": 0.3}, "b": {"q": 0.3, "r": 0.2, "s": 0.1}, "c": {}}
    found = build_board("RR", values)
    assert [(row.system, row.rank) for row in found.rows] == [("a", 1), ("b", 1), ("c", None)]


def test_correlation_with_an_official_leaderboard() -> None:
    values = {name: {"q": value} for name, value in zip("abcd", (0.9, 0.5, 0.5, 0.1), strict=True)}
    official = {"a": -1.0, "b": -2.0, "c": -3.0, "elsewhere": -4.0}
    found = build_board("RR", values, official)
    assert found.only_official == ("elsewhere",)
    assert found.correlation is not None
    # d has no official rank. tau-b of (.9, .5, .5) and (-1, -2, -3): of three pairs two agree and
    # one is tied in the first: 2 / sqrt(2 * 3).
    kendall = found.correlation.kendall
    assert kendall.value == pytest.approx(2 / 6**0.5)
    assert (kendall.n, kendall.n_unscored) == (3, 2)
    assert kendall.value == kendall_tau([0.9, 0.5, 0.5], [-1, -2, -3])
    assert found.correlation.spearman.value == spearman_rho([0.9, 0.5, 0.5], [-1, -2, -3])
    assert {row.system: row.official for row in found.rows}["d"] is None


def test_items_are_subtopics_of_alpha_ndcg() -> None:
    subtopics = {"q": {"a": {"1", "2"}, "b": {"3"}, "c": set[str]()}, "r": {"x": set[str]()}}
    (found,) = build_rubric_boards(LABELS, RANKINGS, ["alpha_nDCG@2"], level=4, subtopics=subtopics)
    rows = {row.system: row.score for row in found.rows}
    assert rows["bad"].value == alpha_ndcg(["c", "new", "b"], subtopics["q"], 2) == 0.0
    assert (rows["good"].value, rows["good"].n) == (1.0, 1)
    # Without items a relevant passage has one subtopic, its query.
    (plain,) = build_rubric_boards(LABELS, RANKINGS, ["alpha_nDCG(alpha=0.5)@2"], level=4)
    assert {row.score.n for row in plain.rows} == {2}


@each_case("name", ["nope@3", "nDCG@x", "ERR_IA@20", "P", "RR(foo=2)"])
def test_a_measure_that_cannot_be_computed_is_the_users_mistake(name: str) -> None:
    with pytest.raises(InputError, match="measure"):
        build_rubric_boards(LABELS, RANKINGS, [name])


def test_no_relevant_passage_is_no_mean() -> None:
    labels = {"q": {"a": 0}}
    (found,) = build_rubric_boards(labels, RANKINGS, ["RR"], skips_empty=True)
    assert {row.score.value for row in found.rows} == {None}
    # Unless it counts as 0, as in trec_eval.
    (found,) = build_rubric_boards(labels, RANKINGS, ["RR"])
    assert {(row.score.value, row.score.n) for row in found.rows} == {(0.0, 1)}
    assert build_rubric_boards(LABELS, {}, ["RR"])[0].rows == ()


def test_values_of_several_runs_are_those_of_each() -> None:
    runs = {name: {q: {p: -float(r) for p, r in ranks.items()} for q, ranks in of.items()}
            for name, of in RANKINGS.items()}  # fmt: skip
    together = run_values(LABELS, runs, ["AP", "RR"], 4)
    for name, run in runs.items():
        alone = run_values(LABELS, {name: run}, ["AP", "RR"], 4)
        for measure, by_run in alone.items():
            assert together[measure][name] == by_run[name]


def test_two_names_of_one_measure_have_its_values() -> None:
    found = run_values(LABELS, {"good": {"q": {"a": 1.0}}}, ["RR", "RR(rel=4)"], 4)
    assert found["RR"] == found["RR(rel=4)"] == {"good": {"q": 1.0, "r": 0.0, "s": 0.0}}


def test_a_mean_of_which_only_the_range_is_known_shows_that_on_the_terminal() -> None:
    (found,) = build_rubric_boards(LABELS, RANKINGS, ["RR"], level=4, skips_empty=True)
    half = Score(value=None, decided=0.5, n=4, n_unscored=4, worst=0.25, best=0.75)
    rows = (dataclasses.replace(found.rows[0], score=half), *found.rows[1:])
    sheet = build_board_sheet(dataclasses.replace(found, rows=rows))
    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(render_sheet_table(sheet))
    assert "0.250\u00a0to\u00a00.750" in console.file.getvalue()
    # A file has both ends in columns of their own.
    row = list_sheet_rows(sheet)[0]
    assert (row["score"], row["score_worst"], row["score_best"]) == (None, 0.25, 0.75)


ANY = GradeFilter()


def some_queries() -> tuple[QueryParagraphs, ...]:
    p1 = passage("p1", rated({"q/f/a": 5, "q/f/b": 1, "q/c": 0}))
    p2 = passage("p2", rated({"q/f/a": 0, "q/f/b": 0, "q/c": 0}))
    return (query("q", p1, p2, passage("bare")),)


def test_labels_by_hand() -> None:
    # p1 covers a and b, the best is 5; at 4 or more, a alone.
    found = label_by_covered_count(some_queries(), ANY)
    assert found.labels == {"q": {"p1": 2, "p2": 0}}
    assert (found.n_ungraded, found.n_unlabelled, found.n_uncertain) == (1, 0, 0)
    assert label_by_covered_count(some_queries(), ANY, 4).labels == {"q": {"p1": 1, "p2": 0}}
    assert label_by_highest_rating(some_queries(), ANY).labels == {"q": {"p1": 5, "p2": 0}}
    covered = find_covered_items(some_queries(), ANY, 4)
    assert covered == {"q": {"p1": frozenset({"q/f/a"}), "p2": frozenset()}}
    assert label_by_covered_count((), ANY).labels == {} == label_by_highest_rating((), ANY).labels


def test_labels_by_facet_of_the_id_or_of_the_bank() -> None:
    by_id = label_by_covered_count(some_queries(), ANY, topic_of=extract_facet).labels
    assert by_id == {"q/f": {"p1": 2, "p2": 0}, "q": {"p1": 0, "p2": 0}}
    items = (BankItem("t", id="q/f/a"), BankItem("u", id="q/c"))
    bank = RubricBank("q", "text", "questions", items, facet_id="g")
    found = label_by_highest_rating(some_queries(), ANY, build_facet_finder([bank])).labels
    assert found == {"q/g": {"p1": 5, "p2": 0}, "q/f": {"p1": 1, "p2": 0}}
    assert extract_facet("q", "item") == "q"


def test_unscored_items_are_left_out_and_counted() -> None:
    passages = passage("some", rated({"a": 3}, ["b"])), passage("none", rated({}, ["a", "b"]))
    queries = (query("q", *passages),)
    for labels_of, label in ((label_by_covered_count, 1), (label_by_highest_rating, 3)):
        found = labels_of(queries, ANY)
        assert found.labels == {"q": {"some": label}}
        assert (found.n_ungraded, found.n_unlabelled, found.n_uncertain) == (0, 1, 1)


def test_ratings_that_are_not_there_are_an_error() -> None:
    queries = (query("q", passage("p", extracted({"a": "x"}))),)
    assert label_by_covered_count(queries, ANY).labels == {"q": {"p": 1}}
    for ask in (
        lambda: label_by_highest_rating(queries, ANY),
        lambda: label_by_covered_count(queries, ANY, 1),
        lambda: find_covered_items(queries, ANY, 1),
    ):
        with pytest.raises(InputError, match=r"q/p: .*include no ratings"):
            ask()


def test_direct_grades_are_labels_too() -> None:
    queries = (query("q", passage("p", direct(2)), passage("r", direct(0, error="refused"))),)
    found = label_by_highest_rating(queries, GradeFilter(items="direct"))
    assert (found.labels, found.n_unlabelled) == ({"q": {"p": 2}}, 1)
    assert label_by_covered_count(queries, GradeFilter(items="direct")).labels == {"q": {"p": 1}}


def test_the_original_program_gives_the_same(shared: Path) -> None:
    folder = shared / "oracles" / "workbench"
    queries = read_graded_paragraphs(folder / "graded.jsonl.gz").queries
    oracle = json.loads((folder / "output.json").read_text())
    ways = {
        "qrels_number_covered": label_by_covered_count,
        "qrels_highest_rating": label_by_highest_rating,
    }
    for name in oracle["prompt_classes"]:
        for key, labels_of in ways.items():
            expected = oracle[name][key]
            if isinstance(expected, str):
                assert expected.startswith("fails")
                with pytest.raises(InputError, match="include no ratings"):
                    labels_of(queries, GradeFilter(prompt_class=name))
                continue
            found = labels_of(queries, GradeFilter(prompt_class=name)).labels
            rows = [[q, p, label] for q, of_query in found.items() for p, label in of_query.items()]
            assert rows == expected


def graded_file(*passages: object) -> GradedFile:
    return GradedFile((query("q", *passages),))  # type: ignore[arg-type]


def test_minimum_ratings_are_shown_where_there_are_ratings() -> None:
    ranked = {"s": 1}
    both = graded_file(passage("p", rated({"a": 4}), ranks=ranked))
    assert [t.min_rating for t in compute_cover_tables(both, ANY)] == [None, 1, 2, 3, 4, 5]
    plain = graded_file(passage("p", extracted({"a": "x"}), ranks=ranked))
    assert [t.min_rating for t in compute_cover_tables(plain, ANY)] == [None]
    assert [t.k for t in compute_cover_tables(plain, ANY, ks=(5, 9))] == [5, 9]


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    file = graded_file(passage("p", rated({"a": 4})))
    with pytest.raises(InputError, match="no rankings; pass --runs"):
        compute_cover_tables(file, ANY)
    with pytest.raises(InputError, match="match the filter 'nugget'; available graders: Question"):
        compute_rubric_qrels(file, GradeFilter(items="nugget"))
    with pytest.raises(InputError, match="match the filter 'any'; available graders: none"):
        compute_rubric_qrels(graded_file(passage("p")), ANY)
    with pytest.raises(InputError, match=r"no \*\.run files in"):
        read_system_files([tmp_path])


def test_a_leaderboard_by_grades_is_that_of_the_labels_written(tmp_path: Path) -> None:
    passages = [
        passage("p1", rated({"a": 5, "b": 4}), ranks={"s": 1, "t": 3}),
        passage("p2", rated({"a": 0, "b": 3}), ranks={"s": 2, "t": 2}),
        passage("p3", rated({"a": 1, "b": 0}), ranks={"s": 3, "t": 1}),
    ]
    path, labels = tmp_path / "graded_file.jsonl.gz", tmp_path / "rubric.qrels"
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
