"""Agreement of grades with people's judgments."""

from __future__ import annotations

from pathlib import Path

import pytest
from graded import extracted, passage, query, rated

from ragassay.formats import QueryParagraphs, read_graded_paragraphs
from ragassay.workbench.agreement import compare_annotators, label_judged_passages
from ragassay.workbench.grades import GradeFilter

ANY = GradeFilter()


def judged() -> tuple[QueryParagraphs, ...]:
    """A rating, and a judgment, of each of five passages and of two that do not count."""
    pairs = {"p1": (5, 3), "p2": (4, 0), "p3": (1, 2), "p4": (0, 0), "p5": (4, 2)}
    passages = [
        passage(name, rated({"a": rating, "b": 0}), judged=level)
        for name, (rating, level) in pairs.items()
    ]
    bare = passage("bare", judged=1)
    return (query("q", *passages, bare, passage("unjudged", rated({"a": 5}))),)


def test_tables_worked_by_hand() -> None:
    (found,) = compare_annotators(judged(), ANY, min_relevant=2, min_answers=[1])
    table = found.by_grade
    assert (table.labels, table.judgments) == ((5, 4, 3, 2, 1, 0), (3, 2, 1, 0))
    none = (0, 0, 0, 0)
    assert table.counts == ((1, 0, 0, 0), (0, 1, 0, 1), none, none, (0, 1, 0, 0), (0, 0, 0, 1))
    assert table.n_unscored == 1
    # At 4: p1 and p5 both, p2 added, p3 missed, p4 neither. Observed 3/5; expected
    # (3 * 3 + 2 * 2) / 25 = 13/25; kappa (15 - 13) / (25 - 13) = 1/6.
    kappa = found.binary[4].kappa
    assert kappa.value == pytest.approx(1 / 6)
    assert (kappa.n, kappa.n_unscored) == (5, 1)
    assert found.binary[4].confusion == ((2, 1), (1, 1))
    assert list(found.binary) == [1, 2, 3, 4, 5]


def test_several_items_are_asked_for() -> None:
    ratings = {"a": 5, "b": 4, "c": 1}
    queries = (query("q", passage("p", rated(ratings), judged=1)),)
    labels = [label_judged_passages(queries, ANY, n)[0].label for n in (1, 2, 3, 5)]
    # The fifth best of three is the worst of them, as in the original.
    assert labels == [5, 4, 1, 1]


def test_without_ratings_the_number_of_covered_items_decides() -> None:
    grade = extracted({"a": "x", "b": "y"}, ["c"])
    queries = (query("q", passage("p", grade, judged=1), passage("bare", judged=0)),)

    def labels(n: int, like_original: bool) -> list[int | None]:
        found = label_judged_passages(queries, ANY, n, like_original=like_original)
        return [one.label for one in found]

    assert [labels(n, False) for n in (1, 2, 3)] == [[1, None], [1, None], [0, None]]
    # The original asks for more than so many, and takes a passage without a grade as 0.
    assert [labels(n, True) for n in (1, 2, 3)] == [[1, 0], [0, 0], [0, 0]]


def test_a_passage_whose_items_all_failed_is_unscored() -> None:
    passages = passage("p", rated({}, ["a"]), judged=1), passage("x", rated({"a": 2}), judged=1)
    (found,) = compare_annotators((query("q", *passages),), ANY, min_answers=[1])
    assert (found.by_grade.n_unscored, found.binary[1].kappa.n_unscored) == (1, 1)


def test_a_passage_counts_once_with_its_highest_judgment() -> None:
    low, high = (passage("p", rated({"a": 2}), judged=n).paragraph_data for n in (0, 2))
    data = low.model_copy(update={"judgments": (*low.judgments, *high.judgments)})
    both = passage("p", rated({"a": 2})).model_copy(update={"paragraph_data": data})
    assert [one.judgment for one in label_judged_passages((query("q", both),), ANY)] == [2]


def test_without_a_judgment_the_tables_are_empty() -> None:
    queries = (query("q", passage("p", rated({"a": 1}))),)
    (found,) = compare_annotators(queries, ANY, min_answers=[1])
    assert sum(map(sum, found.by_grade.counts)) == 0
    assert {one.kappa.value for one in found.binary.values()} == {None}


def test_kappas_are_those_of_the_originals_formula(shared: Path) -> None:
    path = shared / "oracles" / "workbench" / "graded.jsonl.gz"
    queries = read_graded_paragraphs(path).queries
    for chosen in (GradeFilter(items="question"), GradeFilter(items="nugget")):
        for tables in compare_annotators(queries, chosen, 2):
            passages = label_judged_passages(queries, chosen, tables.min_answers)
            truth = [one.judgment >= 2 for one in passages]
            for cut, found in tables.binary.items():
                predicted = [(one.label or 0) >= cut for one in passages]
                n = len(passages)
                equal = sum(t == p for t, p in zip(truth, predicted, strict=True)) / n
                chance = sum(truth) * sum(predicted) / n**2
                chance += (n - sum(truth)) * (n - sum(predicted)) / n**2
                assert found.kappa.value == pytest.approx((equal - chance) / (1 - chance))
