"""Oversight of grading and of the test bank."""

from __future__ import annotations

from pathlib import Path

from graded import direct, extracted, passage, query, rated

from ragassay.formats import QueryParagraphs, read_graded_paragraphs
from ragassay.workbench.grades import GradeFilter
from ragassay.workbench.oversight import (
    Relevance,
    build_grids,
    count_item_uses,
    find_missing_passages,
    list_checked_items,
)

ANY = GradeFilter()


def some_queries() -> tuple[QueryParagraphs, ...]:
    low = passage("low", rated({"a": 0, "b": 1}), extracted({"a": "x", "b": "y"}), judged=0)
    high = passage("high", rated({"a": 5}, ["b"]), extracted({"a": "z", "b": "w"}), judged=2)
    return (query("q", low, high, passage("mid", rated({"a": 3, "b": 0}), judged=1)),)


def test_items_are_shown_with_what_was_extracted_the_surest_first() -> None:
    rows = list_checked_items(some_queries(), ANY, texts={"b": "B?", "a": "A?"})
    shown = [
        (r.item, r.paragraph_id, r.rating, r.is_covered, r.extracted, r.relevance) for r in rows
    ]
    assert shown == [
        ("b", "low", 1, True, "y", 0),
        ("b", "mid", 0, False, "0", 1),
        ("b", "high", None, None, "w", 2),
        ("a", "high", 5, True, "z", 2),
        ("a", "mid", 3, True, "3", 1),
        ("a", "low", 0, False, "x", 0),
    ]
    assert {row.text for row in rows} == {"A?", "B?"}
    named = list_checked_items(some_queries(), ANY, GradeFilter(prompt_class="nobody's"))
    assert {row.extracted for row in named} == {None}
    assert [row.item for row in list_checked_items(some_queries(), ANY)][:1] == ["a"]


def test_a_grid_has_the_best_passages_first() -> None:
    (grid,) = build_grids(list_checked_items(some_queries(), ANY))
    assert (tuple(grid.items), grid.passages) == (("a", "b"), ("high", "mid", "low"))
    assert grid.cells["mid", "a"].rating == 3
    assert build_grids(()) == ()


def test_missing_from_the_bank() -> None:
    found = find_missing_passages(some_queries(), ANY, Relevance(1), 4)
    assert [(r.paragraph_id, r.best_rating, r.n_items, r.n_unscored) for r in found] == [
        ("mid", 3, 2, 0)
    ]
    # By what is marked as correct every relevant passage is covered.
    assert find_missing_passages(some_queries(), ANY, Relevance(1)) == ()
    one = query("q", passage("p", rated({"a": 0}, ["b"]), judged=3), passage("bare", judged=3))
    (row,) = find_missing_passages((one,), ANY, Relevance(1))
    assert (row.paragraph_id, row.n_unscored) == ("p", 1)


def test_relevance_by_a_direct_grade() -> None:
    changed = {"self_ratings": None, "prompt_info": {"prompt_class": "FagB"}}
    passages = (
        passage("p", rated({"a": 0}), direct(3)),
        passage("r", rated({"a": 0}), direct(1), judged=3),
        passage("failed", rated({"a": 0}), direct(3, error="refused")),
        passage("yes", rated({"a": 0}), direct(1).model_copy(update=changed)),
    )
    relevance = Relevance(2, GradeFilter(items="direct"))
    missing = find_missing_passages(
        (query("q", *passages),), GradeFilter(items="question"), relevance
    )
    assert [r.paragraph_id for r in missing] == ["p"]
    assert [relevance.is_relevant(one) for one in passages] == [True, False, None, False]
    assert Relevance(1, relevance.direct).find_level(passages[3]) == 1


def test_items_by_who_covers_them() -> None:
    passages = (
        passage("x", rated({"all": 4, "some": 4, "none": 0, "good": 0, "open": 0}), judged=0),
        passage("y", rated({"all": 4, "some": 0, "none": 0, "good": 0}, ["open"]), judged=0),
        passage("z", rated({"all": 4, "some": 4, "none": 0, "good": 5, "open": 0}), judged=2),
    )
    uses = count_item_uses((query("q", *passages),), ANY, Relevance(1), 4)
    found = {row.item: row for row in uses}
    findings = {"all": "any", "some": "spurious", "none": "none", "good": "", "open": ""}
    assert {item: row.finding for item, row in found.items()} == findings
    assert list(found)[:2] == ["all", "some"]
    some = found["some"]
    assert (some.n_other, some.other.value, some.n_relevant, some.relevant.value) == (1, 0.5, 1, 1)
    # Of the two non-relevant passages one has no grade of it.
    other = found["open"].other
    assert (other.value, other.n, other.n_unscored, other.worst, other.best) == (0, 1, 1, 0, 0.5)


def test_items_that_any_passage_covers_are_found_without_judgments() -> None:
    queries = (query("q", passage("x", rated({"a": 4})), passage("y", rated({"a": 4}))),)
    (row,) = count_item_uses(queries, ANY, Relevance(1))
    assert (row.finding, row.other.value, row.every.value) == ("any", None, 1.0)
    # That only relevant passages were asked is no finding.
    queries = (query("q", passage("x", rated({"a": 4}), judged=1)),)
    (row,) = count_item_uses(queries, ANY, Relevance(1))
    assert row.finding == ""
    assert count_item_uses((), ANY, Relevance()) == ()


def test_the_released_grades(shared: Path) -> None:
    path = shared / "oracles" / "workbench" / "graded.jsonl.gz"
    queries = read_graded_paragraphs(path).queries
    assert len(find_missing_passages(queries, GradeFilter(items="question"), Relevance(1), 4)) == 28
    grid = build_grids(list_checked_items(queries[:1], GradeFilter(items="question")))[0]
    assert (len(grid.passages), len(grid.items), len(grid.cells)) == (60, 10, 600)
