"""Rubric-Qrels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from graded import direct, extracted, passage, query, rated

from ragassay.errors import InputError
from ragassay.formats import BankItem, QueryParagraphs, RubricBank, read_graded_paragraphs
from ragassay.workbench.grades import GradeFilter
from ragassay.workbench.leaderboards import (
    build_facet_finder,
    extract_facet,
    find_covered_items,
    label_by_covered_count,
    label_by_highest_rating,
)

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
