"""Agreement of grades with people's judgments, and of graders with each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from graded import RATED, extracted, passage, query, rated

from ragassay.formats import QueryParagraphs, read_graded_paragraphs
from ragassay.workbench.agreement import (
    GraderAgreement,
    compare_annotators,
    compare_graders,
    label_judged_passages,
)
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


def graded_by_two() -> GraderAgreement:
    """Two models rate four items of two passages; one rating of the second failed."""
    first = ({"a": 5, "b": 0}, {"a": 1, "b": 0})
    second = ({"a": 4, "b": 0}, {"a": 0})
    passages = [
        passage(f"p{i}", rated(one, model="m"), rated(two, ["b"] * i, model="n"))
        for i, (one, two) in enumerate(zip(first, second, strict=True))
    ]
    return compare_graders((query("q", *passages),), GradeFilter())


def test_a_pair_worked_by_hand() -> None:
    pair, over_all = graded_by_two().pairs
    assert (pair.kind, pair.first, pair.second) == ("question", f"{RATED} by m", f"{RATED} by n")
    # Covered: (yes, yes), (no, no), (yes, no), and one failed. Observed 2/3; expected
    # (2 * 1 + 1 * 2) / 9 = 4/9; kappa (6 - 4) / (9 - 4) = 2/5.
    kappa = pair.covered.kappa
    assert kappa.value == pytest.approx(0.4)
    assert (kappa.n, kappa.n_unscored) == (3, 1)
    assert pair.ratings is not None and pair.ratings.quadratic_kappa is not None
    assert pair.ratings.quadratic_kappa.n == 3
    assert (over_all.kind, over_all.first, over_all.second) == ("all", "m", "n")
    assert over_all.covered.kappa.value == kappa.value


def test_alpha_worked_by_hand() -> None:
    found = graded_by_two()
    # Pairs of labels, both ways: 2 yes-yes, 2 no-no, 2 yes-no of 6 labels, 3 of each.
    # Observed disagreement 2/6; expected 2 * 3 * 3 / (6 * 5) = 18/30. Alpha = 1 - 10/18.
    assert found.alpha["question"].value == pytest.approx(1 - (2 / 6) / (18 / 30))
    assert (found.alpha["question"].n, found.alpha["question"].n_unscored) == (3, 1)
    assert set(found.rating_alpha) == {"question"}


def test_kinds_are_kept_apart_and_counted_together() -> None:
    one = passage(
        "p",
        rated({"a": 5, "b": 0}),
        extracted({"a": "x", "b": "y"}, ["b"]),
        rated({"n": 1}, prompt="NuggetSelfRated", kind="nugget"),
        rated({"n": 1, "o": 0}, prompt="NuggetOther", kind="nugget"),
    )
    found = compare_graders((query("q", one),), GradeFilter())
    assert [pair.kind for pair in found.pairs] == ["question", "nugget"]
    # The extraction has no ratings; o was asked of one grader only.
    assert [pair.ratings is None for pair in found.pairs] == [True, False]
    assert found.pairs[1].covered.kappa.n == 1
    assert set(found.alpha) == {"question", "nugget", "all"}
    assert found.alpha["all"].n == 3


def test_a_minimum_rating_counts_where_there_are_ratings() -> None:
    one = passage("p", rated({"a": 3, "b": 5}), extracted({"a": "x", "b": "y"}))
    pair = compare_graders((query("q", one),), GradeFilter(), 4).pairs[0]
    assert pair.covered.confusion == ((0, 1), (0, 1))


def test_what_failed_for_both_is_unscored_and_one_grader_agrees_with_nobody() -> None:
    def compare(ratings: dict[str, int], *models: str) -> GraderAgreement:
        grades = [rated(ratings, ["b"], model=model) for model in models]
        return compare_graders((query("q", passage("p", *grades)),), GradeFilter())

    covered = compare({"a": 3}, "m", "n").pairs[0].covered
    assert (covered.kappa.value, covered.kappa.n, covered.kappa.n_unscored) == (None, 1, 1)
    pair = compare({}, "m", "n").pairs[0]
    assert (pair.covered.accuracy.value, pair.covered.accuracy.n_unscored) == (None, 1)
    assert pair.ratings is None
    alone = compare({"a": 3}, "m")
    assert (alone.pairs, alone.alpha, alone.rating_alpha) == ((), {}, {})


def test_the_order_of_graders_does_not_matter_to_kappa() -> None:
    first = rated({"a": 4, "b": 0, "c": 2}, ["d"], model="m")
    second = rated({"a": 0, "b": 0, "d": 1}, ["c"], model="n")
    one, other = (
        compare_graders((query("q", passage("p", *order)),), GradeFilter()).pairs[0].covered.kappa
        for order in ((first, second), (second, first))
    )
    assert one.value == other.value
    assert one.n_unscored == other.n_unscored == 2
