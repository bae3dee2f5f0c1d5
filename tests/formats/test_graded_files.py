"""Grades of a graded file: chosen, merged, filtered; and how systems ranked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from graded import EXTRACTED, RATED, direct, extracted, passage, query, rated

from ragassay.errors import InputError
from ragassay.formats import (
    QueryParagraphs,
    RankedDocument,
    RetrievalRun,
    read_graded_paragraphs,
    write_graded_paragraphs,
)
from ragassay.workbench.cover import build_run_rankings, collect_rankings, read_official
from ragassay.workbench.graded_files import filter_grades, merge_grades
from ragassay.workbench.grades import GradeFilter, find_grade, infer_grade_kind, select_grades


def test_the_first_grade_that_is_accepted_counts() -> None:
    one = passage("p", rated({"a": 4}), extracted({"a": "text"}), direct(2))
    assert [grade.prompt_class for grade in select_grades(one, GradeFilter())] == [
        RATED,
        EXTRACTED,
        "Thomas",
    ]
    chosen = {
        GradeFilter(): RATED,
        GradeFilter(self_rated=False): EXTRACTED,
        GradeFilter(prompt_class=EXTRACTED): EXTRACTED,
        GradeFilter(items="direct"): "Thomas",
    }
    for accepts, expected in chosen.items():
        grade = find_grade(one, accepts)
        assert grade is not None and grade.prompt_class == expected
    assert find_grade(one, GradeFilter(items="nugget")) is None
    assert find_grade(one, GradeFilter(model="other")) is None


def test_an_item_that_failed_has_no_verdict_unless_it_was_graded_all_the_same() -> None:
    grade = find_grade(passage("p", rated({"a": 4, "b": 0}, ["b", "c"])), GradeFilter())
    assert grade is not None and grade.unscored == ("c",)
    assert grade.check_cover() == {"a": True, "b": False, "c": None}
    assert grade.check_cover(5) == {"a": False, "b": False, "c": None}


def test_a_grade_without_ratings_has_no_verdicts_at_a_minimum() -> None:
    grade = find_grade(passage("p", extracted({"a": "x"}, ["b"])), GradeFilter())
    assert grade is not None and grade.check_cover() == {"a": True, "b": False}
    assert grade.check_cover(1) == {}
    with pytest.raises(InputError, match=r"q/p: .*QuestionExtractionPrompt include no ratings"):
        grade.list_verdicts(1, "q/p")


def test_ratings_that_all_failed_are_ratings() -> None:
    failed = rated({}, ["a"]).model_copy(update={"self_ratings": None})
    grade = find_grade(passage("p", failed), GradeFilter(self_rated=True))
    assert grade is not None and grade.check_cover(1) == {"a": None}


def test_a_direct_grade_has_one_item() -> None:
    grade = find_grade(passage("p", direct(2)), GradeFilter(items="direct"))
    assert grade is not None
    assert (grade.ratings, grade.check_cover()) == ({"direct": 2}, {"direct": True})
    failed = find_grade(passage("p", direct(0, error="unparsable")), GradeFilter())
    assert failed is not None and failed.check_cover() == {"direct": None} == failed.check_cover(1)


def test_the_kind_is_found_without_a_prompt_type() -> None:
    nuggets = rated({"a": 1}, kind="nugget").model_copy(update={"prompt_type": None})
    named = extracted({"a": "x"}).model_copy(
        update={"prompt_type": None, "prompt_info": {"prompt_class": "NuggetExtractionPrompt"}}
    )
    bare = extracted({"a": "x"}).model_copy(update={"prompt_type": None, "prompt_info": None})
    assert [infer_grade_kind(grade) for grade in (nuggets, named, bare)] == [
        "nugget",
        "nugget",
        "question",
    ]
    assert GradeFilter(prompt_class="QuestionPromptWithChoices").accepts_grade(bare)


def test_failures_stay_in_the_file(tmp_path: Path) -> None:
    queries = (query("q", passage("p", rated({"a": 4}, ["b"]), direct(0, error="refused"))),)
    path = tmp_path / "graded.jsonl.gz"
    write_graded_paragraphs(queries, path)
    assert read_graded_paragraphs(path).queries == queries


def test_merge_unites_graders_judgments_and_ranks() -> None:
    first = query("q", passage("p", rated({"a": 4}), judged=1, ranks={"s": 1}))
    second = query("q", passage("p", rated({"a": 2}, model="n"), direct(1), ranks={"t": 3}))
    more = query("r", passage("x"))
    (merged, other) = merge_grades([(first,), (second, more)])
    assert other == more
    (one,) = merged.paragraphs
    assert [grade.llm for grade in one.exam_grades or ()] == ["m", "n"]
    assert [grade.llm for grade in one.grades or ()] == ["m"]
    assert [ranking.method for ranking in one.paragraph_data.rankings] == ["s", "t"]
    assert len(one.paragraph_data.judgments) == 1
    assert merge_grades([(first,), (first,)]) == (first,)
    assert merge_grades([]) == ()


def test_merge_refuses_what_differs() -> None:
    first = query("q", passage("p", rated({"a": 4}), judged=1, ranks={"s": 1}))
    (one,) = first.paragraphs
    text = replace(first, paragraphs=(one.model_copy(update={"text": "other"}),))
    with pytest.raises(InputError, match="query 'q', passage 'p': the texts differ"):
        merge_grades([(first,), (text,)])
    for other, problem in (
        (passage("p", judged=2), "judgment"),
        (passage("p", ranks={"s": 2}), "rank"),
    ):
        with pytest.raises(InputError, match=f"passage 'p': {problem} .* differs"):
            merge_grades([(first,), (query("q", other),)])


def test_the_later_grade_wins_only_if_told_so() -> None:
    first = query("q", passage("p", rated({"a": 4}), rated({"a": 1}, prompt="Other")))
    later = query("q", passage("p", rated({"a": 2})))
    with pytest.raises(InputError, match=f"different grades by m with {RATED}.*--later-wins"):
        merge_grades([(first,), (later,)])
    (merged,) = merge_grades([(first,), (later,)], later_wins=True)
    grades = select_grades(merged.paragraphs[0], GradeFilter())
    assert [(g.prompt_class, dict(g.ratings or {})) for g in grades] == [
        (RATED, {"a": 2}),
        ("Other", {"a": 1}),
    ]


def test_filter_keeps_passages_and_some_of_their_grades() -> None:
    whole = query("q", passage("p", rated({"a": 4}), direct(1)), passage("bare"))
    (kept,) = filter_grades((whole,), GradeFilter(items="direct"))
    first, bare = kept.paragraphs
    assert (first.exam_grades, len(first.grades or ())) == ((), 1)
    assert bare == whole.paragraphs[1]


def test_rankings_in_a_file_are_sorted_by_rank() -> None:
    queries = (query("q", passage("a", ranks={"s": 2}), passage("b", ranks={"s": 1, "t": 1})),)
    found = collect_rankings(queries)
    assert {s: {q: list(r.items()) for q, r in of.items()} for s, of in found.items()} == {
        "s": {"q": [("b", 1), ("a", 2)]},
        "t": {"q": [("b", 1)]},
    }
    assert collect_rankings(()) == {}


def test_runs_are_ranked_as_trec_eval_does() -> None:
    # Equal scores: the id that comes last in the order of text goes first.
    documents = [("a", 1.0), ("b", 2.0), ("c", 1.0)]
    run = RetrievalRun("s", {"q": tuple(RankedDocument(n, 0, score) for n, score in documents)})
    assert build_run_rankings([run]) == {"s": {"q": {"b": 1, "c": 2, "a": 3}}}
    with pytest.raises(InputError, match="two runs have the tag 's'"):
        build_run_rankings([run, run])


def test_official_leaderboards(tmp_path: Path) -> None:
    ranks = tmp_path / "official.json"
    ranks.write_text('{\n "best": 1,\n "tied": 2.5\n}\n')
    assert read_official(ranks) == ({"best": -1.0, "tied": -2.5}, [])
    scores = tmp_path / "official.tsv"
    scores.write_text("system\tscore\nbest\t0.7\nworst\t0.1\n")
    assert read_official(scores) == ({"best": 0.7, "worst": 0.1}, [])


@pytest.mark.parametrize(
    ("name", "text", "line", "problem"),
    [
        ("a.json", '{"s": -1, "t": "first"}', 0, 'the text "first"'),
        ("a.tsv", "s\t1\nt\tgood\n", 2, 'the text "good"'),
        ("a.tsv", "s\t1\ns\t2\n", 2, '"s" is a duplicate'),
        ("a.tsv", "t 1 2\ns 1\n", 1, "found 3 columns"),
    ],
)
def test_a_bad_line_of_an_official_leaderboard_is_rejected_alone(
    write, name: str, text: str, line: int, problem: str
) -> None:
    path = write(text, name=name, end=b"")
    scores, (rejection,) = read_official(path)
    assert scores == {"s": 1.0}
    assert rejection.line == line
    assert problem in rejection.problem


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.json", "[1]", "expected a JSON object"),
        ("a.json", '{"s": "first"}', 'no system: .* s: found the text "first"'),
        ("a.tsv", "s 1 2\n", ":1: found 3 columns, expected `system score`"),
        ("a.tsv", "system\tscore\n", "has no system$"),
    ],
)
def test_malformed_official_leaderboards(write, name: str, text: str, problem: str) -> None:
    path = write(text, name=name, end=b"")
    with pytest.raises(InputError, match=problem):
        read_official(path)


def test_the_released_file_is_kept_by_a_merge_with_itself(shared: Path) -> None:
    path = shared / "oracles" / "workbench" / "graded.jsonl.gz"
    queries = read_graded_paragraphs(path).queries
    assert merge_grades([queries, queries]) == queries
    halves: list[tuple[QueryParagraphs, ...]] = [
        filter_grades(queries, GradeFilter(self_rated=flag)) for flag in (True, False)
    ]
    merged = merge_grades(halves)
    assert sum(len(one.exam_grades or ()) for q in merged for one in q.paragraphs) == 4 * 480
