"""What other evaluators wrote: graded paragraphs, assignments, scores, qrels and runs."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest
from case_tables import each_case
from format_samples import GRADED
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragassay.errors import InputError
from ragassay.formats import (
    AssignedAnswer,
    AssignedNugget,
    GradedParagraph,
    NuggetScores,
    QueryParagraphs,
    RankedDocument,
    RetrievalRun,
    read_assignments,
    read_graded_paragraphs,
    read_qrels,
    read_run,
    write_assignments,
    write_graded_paragraphs,
    write_nugget_scores,
    write_qrels,
    write_run,
)

BARE = {"paragraph_id": "p2", "text": "T"}


def test_graded_paragraphs_are_read_and_written_as_they_were(tmp_path: Path):
    path = tmp_path / "graded.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(["q", [GRADED, BARE]]).encode()))
    result = read_graded_paragraphs(path)
    assert result.rejections == ()
    ((first, second),) = (query.paragraphs for query in result.queries)
    assert first.paragraph_data.judgments[0].relevance == 2
    assert first.paragraph_data.rankings[0].score == 17.560528
    assert first.exam_grades[0].self_ratings[1].nugget_id == "q/2"
    assert first.exam_grades[0].answers == (("q/1", "text"),)
    assert first.grades[0].self_ratings == 4
    assert (second.exam_grades, second.grades, second.paragraph_data.rankings) == (None, None, ())
    again = tmp_path / "again.jsonl.gz"
    write_graded_paragraphs(result.queries, again)
    assert read_graded_paragraphs(again) == result


def test_direct_grades_may_be_spelt_as_in_the_paper(write):
    grade = {"correctAnswered": False, "self_ratings": 0, "answers": "no", "llm": "x"}
    (query,) = read_graded_paragraphs(write(["q", [{**BARE, "grades": [grade]}]])).queries
    assert query.paragraphs[0].grades[0].answer == "no"


@each_case(
    ("line", "field", "problem"),
    [
        (["q2", [{"paragraph_id": "p"}]], "1.0.text", "missing"),
        (["q2", [BARE, BARE]], "1.1.paragraph_id", "already appeared"),
        (["q2", [3]], "1.0", "the number 3"),
        (["q2", [{**BARE, "exam_grades": [{"answers": [["a"]]}]}]],
         "1.0.exam_grades.0.answers.0.1", "missing"),
        (["q2", [{**BARE, "grades": [{"correctAnswered": "yes"}]}]],
         "1.0.grades.0.correctAnswered", "the text"),
        (["q", []], "0", "already appeared"),
        ({"query_id": "q"}, "", "an object"),
        (["q2"], "", "a list of 1"),
        ([" ", []], "", "a list of 2"),
        (b'["q2", [{"paragraph_id": "p", "text": "\\ud800"}]]', "1.0.text", "surrogate"),
        (b'["q2", [{"paragraph_id": "p", "text": "t", "x": NaN}]]', "1.0.x", "NaN"),
        (b'["q\\ud800", []]', "0", "surrogate"),
        (b'["q2", [' + b"[" * 100_000, "", "too deeply"),
        (b'["q2", [' + b"9" * 9999 + b"]]", "", "too many digits"),
        (b'["q2", ["\x00"]]', "", "NUL"),
        (b'["q2", [', "", "not JSON"),
    ],
    ids=lambda value: repr(value)[:40],
)  # fmt: skip
def test_a_bad_paragraph_or_line_is_rejected_alone(write, line, field, problem):
    result = read_graded_paragraphs(write(["q", [BARE]], line, ["q9", [BARE]]))
    assert {"q", "q9"} <= {query.query_id for query in result.queries}
    (rejection,) = result.rejections
    assert (rejection.line, rejection.field) == (2, field)
    assert problem in rejection.problem
    rejection.model_dump_json().encode("utf-8")


@pytest.mark.parametrize("content", [b"", b"{}", b"q 0 d 1", b"\x1f\x8b\x08\x00"])
def test_a_file_without_paragraphs_is_an_input_error(write, content):
    path = write(content, name="graded", end=b"")
    with pytest.raises(InputError, match="no graded paragraphs"):
        read_graded_paragraphs(path)


@pytest.mark.parametrize("ids", [["a", "a"], [" "]])
def test_paragraphs_without_an_id_of_their_own_are_refused(tmp_path: Path, ids):
    paragraphs = tuple(GradedParagraph(paragraph_id="p", text="T") for _ in ids)
    with pytest.raises(InputError, match="blank or occurs twice"):
        write_graded_paragraphs([QueryParagraphs(name, ()) for name in ids], tmp_path / "x")
    if len(ids) > 1:
        with pytest.raises(InputError, match="blank or occurs twice"):
            write_graded_paragraphs([QueryParagraphs("q", paragraphs)], tmp_path / "x")


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=10)
IDS = TEXT.filter(str.strip)
ANSWERS = st.builds(
    AssignedAnswer,
    topic=IDS,
    question=TEXT,
    answer=TEXT,
    system=IDS,
    nuggets=st.lists(
        st.builds(
            AssignedNugget,
            text=TEXT.filter(bool),
            importance=st.sampled_from(["vital", "okay", None]),
            assignment=st.sampled_from(["support", "partial_support", "not_support", None]),
        ),
        max_size=3,
    ).map(tuple),
    n_words=st.none() | st.integers(1000, 2000),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ANSWERS, min_size=1, max_size=3, unique_by=lambda one: (one.topic, one.system)))
def test_assignments_are_read_back_equal(tmp_path: Path, answers: list[AssignedAnswer]):
    path = tmp_path / "assigned.jsonl.gz"
    write_assignments(answers, path)
    assert read_assignments(path) == (tuple(answers), ())


def test_assignments_are_written_as_the_nuggetizer_writes_them(tmp_path: Path):
    nuggets = (AssignedNugget("n1", "vital", "support"), AssignedNugget("n2"))
    path = tmp_path / "assigned.jsonl"
    write_assignments([AssignedAnswer("1", "Q?", "Two words", "run", nuggets)], path)
    assert json.loads(path.read_text()) == {
        "query": "Q?",
        "qid": "1",
        "answer_text": "Two words",
        "response_length": 2,
        "run_id": "run",
        "nuggets": [
            {"text": "n1", "importance": "vital", "assignment": "support"},
            {"text": "n2", "importance": "failed", "assignment": "failed"},
        ],
    }
    path.write_text(path.read_text() * 2)
    _, (rejection,) = read_assignments(path)
    assert (rejection.line, rejection.field) == (2, "qid")


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([AssignedAnswer("1", "", "", "r", ())] * 2, "occurs twice"),
        ([AssignedAnswer("", "", "", "r", ())], "no topic, or neither system nor document"),
        ([AssignedAnswer("1", "", "", "r", (AssignedNugget(""),))], "no text"),
        ([AssignedAnswer("1", "\ud800", "", "r", ())], "lone surrogate"),
        ([AssignedAnswer("1", "", "", "r", (), document="d")], "both a system and a document"),
    ],
)
def test_assignments_that_could_not_be_read_back_are_refused(tmp_path: Path, answers, message):
    with pytest.raises(InputError, match=message):
        write_assignments(answers, tmp_path / "assigned")
    assert list(tmp_path.iterdir()) == []


def test_scores_end_with_their_means(tmp_path: Path):
    path = tmp_path / "scores.jsonl"
    write_nugget_scores(
        [NuggetScores("1", 1.0, 0.5, 1.0, 0.75), NuggetScores("2", None, 0.0, None, 0.25)], path
    )
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[-1] == {
        "qid": "all",
        "strict_vital_score": 1.0,
        "strict_all_score": 0.25,
        "vital_score": 1.0,
        "all_score": 0.5,
    }
    assert lines[1] == {"qid": "2", "strict_all_score": 0.0, "all_score": 0.25}


def test_scores_that_cannot_be_written_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="NaN"):
        write_nugget_scores([NuggetScores("1", math.nan, 0, 0, 0)], tmp_path / "scores")
    with pytest.raises(InputError, match="no scores"):
        write_nugget_scores([], tmp_path / "scores")


CELLS = st.text(
    st.characters(exclude_categories=["Cs", "Z", "Cc", "Cf"]), min_size=1, max_size=8
).filter(lambda cell: cell.split() == [cell])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        CELLS,
        st.dictionaries(CELLS, st.integers(-9, 9), min_size=1, max_size=3),
        min_size=1,
        max_size=3,
    )
)
def test_qrels_are_read_back_equal(tmp_path: Path, qrels: dict[str, dict[str, int]]):
    path = tmp_path / "qrels.gz"
    write_qrels(qrels, path)
    assert read_qrels(path) == (qrels, [])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    CELLS,
    st.dictionaries(
        CELLS,
        st.lists(
            st.builds(
                RankedDocument,
                id=CELLS,
                rank=st.integers(0, 10**6),
                score=st.floats(allow_nan=False, allow_infinity=False),
            ),
            min_size=1,
            max_size=3,
            unique_by=lambda document: document.id,
        ).map(tuple),
        min_size=1,
        max_size=3,
    ),
)
def test_runs_are_read_back_equal(tmp_path: Path, tag: str, rankings):
    path = tmp_path / "run.gz"
    write_run(RetrievalRun(tag, rankings), path)
    assert read_run(path) == (RetrievalRun(tag, rankings), [])


BAD_RUN_LINES = [
    (b"q Q0 d 1 2.5", "", "found 5 columns"),
    (b"q Q0 d one 2.5 t", "rank", '"one"'),
    (b"q Q0 d " + b"9" * 5000 + b" 1 t", "rank", "9…"),
    (b"q Q0 d 1 NaN t", "score", '"NaN"'),
    (b"q Q0 d 1 1e999 t", "score", '"1e999"'),
    (b"q Q0 d 1 high t", "score", '"high"'),
    (b"q Q0 first 2 1 t", "docid", '"q" already ranks "first"'),
    (b"q Q0 e 2 1 u", "tag", '"u"'),
    (b"q Q0 \xff 1 2 t", "", "not UTF-8"),
    (b"q Q0 d\x00 1 2 t", "", "a NUL byte"),
]


@each_case(("line", "field", "problem"), BAD_RUN_LINES)
def test_a_bad_line_of_a_run_is_rejected_alone(write, line, field, problem):
    path = write(b"q Q0 first 1 3 t\n\n" + line + b"\nq Q0 last 3 1 t\n", name="run")
    run, (rejection,) = read_run(path)
    assert run.tag == "t"
    assert [(d.id, d.score) for d in run.rankings["q"]] == [("first", 3.0), ("last", 1.0)]
    assert (rejection.file, rejection.line, rejection.field) == (str(path), 3, field)
    assert problem in rejection.problem
    assert rejection.expected


BAD_QRELS_LINES = [
    (b"q 0 first 2", "docid", '"first" already has the grade 1 for "q"'),
    (b"q 0 first 1", "docid", "already has the grade 1"),
    (b"q d", "", "found 2 columns"),
    (b"q d high", "grade", '"high"'),
    (b"q 0 d --1", "grade", '"--1"'),
    ("q 0 d \u00b2".encode(), "grade", "\u00b2"),
    (b"q 0 d " + b"9" * 5000, "grade", "9…"),
    (b"q 0 \xff 1", "", "not UTF-8"),
    (b"q 0 d\x00 1", "", "a NUL byte"),
]


@each_case(("line", "field", "problem"), BAD_QRELS_LINES)
def test_a_bad_judgment_is_rejected_alone(write, line, field, problem):
    path = write(b"q 0 first 1\n\n" + line + b"\nq 0 last 0\n", name="qrels")
    qrels, (rejection,) = read_qrels(path)
    assert qrels == {"q": {"first": 1, "last": 0}}
    assert (rejection.file, rejection.line, rejection.field) == (str(path), 3, field)
    assert problem in rejection.problem
    assert rejection.expected


@pytest.mark.parametrize("read", [read_run, read_qrels], ids=["run", "qrels"])
@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "has no (rankings|judgments)$"), (b"q\n", ":1: found 1 columns, expected `qid")],
)
def test_a_file_without_a_usable_line_is_refused_by_its_first(write, read, content, message):
    path = write(content, name="columns", end=b"")
    with pytest.raises(InputError, match=message):
        read(path)


@pytest.mark.parametrize("cell", ["", "a b", "a\n", "\u00a0", "\x00", "\ud800", "\ufeffa"])
def test_ids_that_columns_cannot_hold_are_refused(tmp_path: Path, cell):
    with pytest.raises(InputError, match="contains whitespace"):
        write_qrels({cell: {"d": 1}}, tmp_path / "qrels")
    with pytest.raises(InputError, match="contains whitespace"):
        write_run(RetrievalRun(cell, {"q": (RankedDocument("d", 1, 1.0),)}), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "ranking",
    [
        (RankedDocument("d", 1, 1.0), RankedDocument("d", 2, 0.5)),
        (RankedDocument("d", -1, 1.0),),
        (RankedDocument("d", 1, math.inf),),
    ],
)
def test_rankings_that_could_not_be_read_back_are_refused(tmp_path: Path, ranking):
    with pytest.raises(InputError, match="cannot be written"):
        write_run(RetrievalRun("t", {"q": ranking}), tmp_path / "run")
