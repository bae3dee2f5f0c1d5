"""Rubric-Cover."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from graded import extracted, passage, query, rated
from hypothesis import given
from hypothesis import strategies as st

from ragassay.formats import QueryParagraphs, read_graded_paragraphs
from ragassay.workbench.cover import OVERALL, SystemCover, rubric_cover
from ragassay.workbench.grades import GradeFilter

ANY = GradeFilter()


def covers(
    *queries: QueryParagraphs, k: int = 20, min_rating: int | None = None
) -> dict[str, SystemCover]:
    return {one.system: one for one in rubric_cover(queries, ANY, k, min_rating)}


def two_queries() -> tuple[QueryParagraphs, QueryParagraphs]:
    p1 = passage("p1", rated({"a": 5, "b": 0, "c": 1, "d": 0}), ranks={"s": 1, "t": 2})
    p2 = passage("p2", rated({"a": 0, "b": 4, "c": 0, "d": 0}), ranks={"s": 2})
    return query("q", p1, p2), query("r", passage("p3", rated({"e": 0, "f": 4}), ranks={"s": 1}))


def test_worked_by_hand() -> None:
    found = covers(*two_queries(), k=1)
    # s: q by p1 covers a, c of 4 items; r covers f of 2. Mean of 1/2 and 1/2.
    assert found["s"].cover.value == 0.5
    assert found["s"].cover_se == 0.0
    # Normalized: q's passages cover a, b, c, so 2/3; r's cover f, so 1. Mean 5/6,
    # deviation sqrt(2 * (1/6)^2), standard error that by sqrt(2), which is 1/6.
    assert found["s"].normalised.value == pytest.approx(5 / 6)
    assert found["s"].normalised_se == pytest.approx(1 / 6)
    assert (found["s"].n_queries, found["s"].cover.n, found["s"].normalised.n) == (2, 6, 4)
    # t has p1 at rank 2 only: nothing at 1, so no query counts, and it has no row.
    assert set(found) == {OVERALL, "s"}
    # Together: 3 of 4, and 1 of 2.
    assert found[OVERALL].cover.value == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert found[OVERALL].normalised.value == 1.0


def test_the_last_rank_and_the_least_rating_count() -> None:
    assert covers(*two_queries(), k=2)["s"].cover.value == pytest.approx((3 / 4 + 1 / 2) / 2)
    # 4 or more at 2: q covers a (5) and b (4), r covers f.
    assert covers(*two_queries(), k=2, min_rating=4)["s"].cover.value == 0.5
    assert covers(*two_queries(), k=2)["t"].cover.value == 0.5
    assert covers(*two_queries(), k=2)["t"].cover_se is None


def test_a_query_that_nobody_covers_has_no_normalised_cover() -> None:
    found = covers(*two_queries(), k=1, min_rating=5)["s"]
    # q: a of 4; r: nothing of 2, and nobody has more. The original's n-EXAM is 0 there.
    assert found.cover.value == pytest.approx((1 / 4 + 0) / 2)
    assert (found.normalised.value, found.normalised.n, found.normalised_se) == (1.0, 1, None)
    assert (found.original.n_exam, found.original.exam) == (0.5, 0.125)


def test_a_minimum_without_ratings_is_undefined() -> None:
    found = covers(query("q", passage("p", extracted({"a": "x"}), ranks={"s": 1})), min_rating=1)
    assert found["s"].cover.value is None
    assert found["s"].normalised.value is None
    assert (found["s"].original.exam, found[OVERALL].original.n_exam) == (0.0, 1.0)


def test_unscored_items_are_left_out_and_bounded() -> None:
    first = passage("p1", rated({"a": 4, "b": 0}, ["c", "d"]), ranks={"s": 1})
    second = passage("p2", rated({"c": 4}, ["a"]), ranks={"s": 2})
    found = covers(query("q", first, second))
    # a is covered by p1 and c by p2, b is not; d alone has no verdict: 2 of 3, 1 left out.
    s = found["s"].cover
    assert (s.value, s.n, s.n_unscored) == (pytest.approx(2 / 3), 3, 1)
    # d missed: 2 of 4; covered: 3 of 4.
    assert (s.worst, s.best) == (0.5, 0.75)
    # The original counts the three items that have a verdict somewhere.
    assert found["s"].original.exam == pytest.approx(2 / 3)


def test_a_system_without_a_grade_covers_nothing_and_says_so() -> None:
    graded = passage("p1", rated({"a": 4}), ranks={"s": 1})
    found = covers(query("q", graded, passage("p2", ranks={"t": 1})))
    assert (found["t"].cover.value, found["t"].n_ungraded) == (0.0, 1)
    assert found["s"].n_ungraded == 0
    assert rubric_cover((), ANY) == ()
    assert covers(query("q", passage("p")))[OVERALL].cover.value is None


def test_rankings_of_run_files_replace_those_in_the_file() -> None:
    (found,) = rubric_cover(two_queries()[1:], ANY, rankings={"run": {"r": {"p3": 1}}})[1:]
    assert (found.system, found.cover.value) == ("run", 0.5)


VERDICTS = st.sampled_from([0, 4, None])
PASSAGES = st.lists(
    st.tuples(st.fixed_dictionaries({i: VERDICTS for i in "abc"}), st.booleans()),
    min_size=1,
    max_size=3,
)


def cover_of(passages: list[tuple[dict[str, int | None], bool]]) -> SystemCover | None:
    made = []
    for i, (verdicts, is_own) in enumerate(passages):
        ratings = {item: rating for item, rating in verdicts.items() if rating is not None}
        grade = rated(ratings, [item for item in verdicts if item not in ratings])
        made.append(passage(str(i), grade, ranks={"s": 1} if is_own else {}))
    return covers(query("q", *made)).get("s")


@given(PASSAGES)
def test_bounds_are_those_of_every_way_to_fill_in(
    passages: list[tuple[dict[str, int | None], bool]],
) -> None:
    found = cover_of(passages)
    holes = [(i, k) for i, (v, _) in enumerate(passages) for k in v if v[k] is None]
    if found is None or len(holes) > 5:
        return
    every: list[SystemCover] = []
    for ratings in itertools.product((0, 4), repeat=len(holes)):
        filled = [(dict(v), own) for v, own in passages]
        for (i, item), rating in zip(holes, ratings, strict=True):
            filled[i][0][item] = rating
        one = cover_of(filled)
        assert one is not None
        every.append(one)
    for name in ("cover", "normalised"):
        score = getattr(found, name)
        values = [v for one in every if (v := getattr(one, name).value) is not None]
        if not values:
            continue
        # A query that may have no value at all counts in a bound only where it moves it.
        for bound, value, end in (
            (score.worst, min(values), 1),
            (score.best, max(values), 0),
        ):
            assert bound == pytest.approx(value) or (bound, value) == (None, end)
        if score.value is not None:
            assert score.worst <= score.value + 1e-12
            assert score.value <= score.best + 1e-12


def test_the_original_program_gives_the_same(shared: Path) -> None:
    folder = shared / "oracles" / "workbench"
    queries = read_graded_paragraphs(folder / "graded.jsonl.gz").queries
    oracle = json.loads((folder / "output.json").read_text())
    tables = [
        (name, *key.removeprefix("cover@").split(" min_self_rating="), expected)
        for name in oracle["prompt_classes"]
        for key, expected in oracle[name].items()
        if key.startswith("cover@")
    ]
    assert len(tables) == 4 * 10
    for name, cut, rating, expected in tables:
        least = None if rating == "None" else int(rating)
        rows = rubric_cover(queries, GradeFilter(prompt_class=name), int(cut), least)
        assert {row.system for row in rows} == set(expected)
        for row in rows:
            values = expected[row.system]
            assert {field: getattr(row.original, field) for field in values} == pytest.approx(
                values, abs=1e-12
            )
            if row.cover.value is not None:
                assert row.cover.value == pytest.approx(values["exam"])
                assert row.cover_se == pytest.approx(values["exam_se"])
            else:
                assert least is not None and "SelfRated" not in name
