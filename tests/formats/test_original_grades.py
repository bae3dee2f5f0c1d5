"""Graded files beside the original's data model: theirs are read, ours are, nothing is lost."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from pydantic import create_model

from ragassay.formats import read_graded_paragraphs, write_graded_paragraphs
from ragassay.formats.workbench.paragraphs import GradedParagraph, QueryParagraphs
from ragassay.records import ExamGrade, ExamItem, Failure, RelevanceGrade
from ragassay.workbench.grades import add_grades

WHO = ExamItem(id="q/who", text="Who?")
WHEN = ExamItem(id="q/when", text="When?", answers=("1950",))
ROOTS = ExamItem(id="q/roots", text="Rooted in blues", kind="nugget")
LOST = Failure(reason="unparsable", detail="no JSON object")
OPEN = Failure(reason="undecided", detail="leans to 4 at 0.50")


# What the original reads of a graded file: unknown fields are ignored.
Text, Number, Info = (str | None, None), (int | None, None), (dict[str, Any] | None, None)
Rating = create_model("Rating", question_id=Text, nugget_id=Text, self_rating=(int, ...))
Error = create_model("Error", failure_reason=(str, ...), caught_exception=(Any, ...))
Grade = create_model(
    "Grade", llm=(str, ...), llm_options=(dict[str, Any], ...), prompt_info=Info,
    prompt_type=Text, relevance_label=Number,
)  # fmt: skip
Exam = create_model(
    "Exam", __base__=Grade, correctAnswered=(list[str], ...), wrongAnswered=(list[str], ...),
    answers=(list[tuple[str, str]], ...), exam_ratio=(float, ...),
    llm_response_errors=(dict[str, Error] | None, None), self_ratings=(list[Rating] | None, None),
)  # fmt: skip
Direct = create_model(
    "Direct", __base__=Grade, correctAnswered=(bool, ...), answer=(str, ...),
    llm_response_error=Text, self_ratings=Number,
)  # fmt: skip
Judgment = create_model(
    "Judgment", paragraphId=(str, ...), query=(str, ...), relevance=(int, ...),
    titleQuery=(str, ...),
)  # fmt: skip
Ranking = create_model(
    "Ranking", method=(str, ...), paragraphId=(str, ...), queryId=(str, ...), rank=(int, ...),
    score=(float, ...),
)  # fmt: skip
Data = create_model("Data", judgments=(list[Judgment], ...), rankings=(list[Ranking], ...))
Paragraph = create_model(
    "Paragraph", paragraph_id=(str, ...), text=(str, ...), paragraph=(Any, None),
    paragraph_data=(Data, ...), exam_grades=(list[Exam] | None, None),
    grades=(list[Direct] | None, None),
)  # fmt: skip
Queries = list[tuple[str, list[Any]]]


def theirs(path: Path, n: int | None = None) -> Queries:
    """Read a file's queries, or the first `n`, as the original does."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in islice(file, n)]
    return [(query, [Paragraph.model_validate(one) for one in found]) for query, found in lines]


PASSAGE = {
    "paragraph_id": "p",
    "text": "It began in 1950.",
    "paragraph": "",
    "paragraph_data": {
        "judgments": [{"paragraphId": "p", "query": "q", "relevance": 2, "titleQuery": "q"}],
        "rankings": [{"method": "a", "paragraphId": "p", "queryId": "q", "rank": 1, "score": 0.5}],
    },
}


def our_file(path: Path, *, like_original: bool = False) -> Queries:
    """A passage with every kind of grade that ragassay gives, read as the original reads it."""
    one = add_grades(
        GradedParagraph.model_validate(PASSAGE),
        (WHO, WHEN, ROOTS),
        [
            ExamGrade(exam_item="q/who", rating=0, score=0.2, is_correct=False),
            ExamGrade(exam_item="q/when", failure=LOST),
            ExamGrade(exam_item="q/roots", rating=4, score=4.1, is_correct=True),
            ExamGrade(exam_item="q/who", grader="extraction", is_correct=False),
            ExamGrade(exam_item="q/when", grader="extraction", answer="1950", is_correct=True),
            ExamGrade(exam_item="q/roots", grader="extraction", failure=OPEN),
        ],
        [
            RelevanceGrade(grader="thomas", rating=2, is_relevant=True),
            RelevanceGrade(grader="sun", failure=LOST),
        ],
        "openai/a",
        like_original=like_original,
    )
    write_graded_paragraphs([QueryParagraphs("q", (one,))], path)
    return theirs(path)


def test_the_original_reads_all_of_our_grades(tmp_path: Path):
    ((query, (one,)),) = our_file(tmp_path / "ours.jsonl.gz")
    exams = {exam.prompt_info["prompt_class"]: exam for exam in one.exam_grades}  # type: ignore[index,union-attr]
    assert query == "q" and exams.keys() == {
        "QuestionSelfRatedUnanswerablePromptWithChoices",
        "NuggetSelfRatedPrompt",
        "QuestionCompleteConciseUnanswerablePromptWithChoices",
        "QuestionCompleteConcisePromptWithAnswerKey2",
        "NuggetExtractionPrompt",
    }
    rated = exams["QuestionSelfRatedUnanswerablePromptWithChoices"]
    assert (rated.correctAnswered, rated.wrongAnswered) == ([], ["q/who"])
    assert rated.self_ratings == [Rating(question_id="q/who", self_rating=0)]
    assert rated.llm_response_errors is not None
    assert rated.llm_response_errors["q/when"].failure_reason == "unparsable: no JSON object"
    assert (rated.exam_ratio, rated.prompt_type, rated.llm) == (0.0, "question", "openai/a")
    key = exams["QuestionCompleteConcisePromptWithAnswerKey2"]
    assert key.answers == [("q/when", "1950")] and key.correctAnswered == ["q/when"]
    assert exams["NuggetSelfRatedPrompt"].self_ratings == [
        Rating(nugget_id="q/roots", self_rating=4)
    ]
    direct = {grade.prompt_info["prompt_class"]: grade for grade in one.grades}  # type: ignore[index,union-attr]
    assert (direct["Thomas"].correctAnswered, direct["Thomas"].self_ratings) == (True, 2)
    assert (direct["Sun"].correctAnswered, direct["Sun"].llm_response_error) == (
        False,
        "unparsable",
    )


def test_like_the_original_a_grade_that_was_not_read_is_1_and_correct(tmp_path: Path):
    ((_, (one,)),) = our_file(tmp_path / "ours.jsonl.gz", like_original=True)
    assert one.exam_grades and one.grades
    rated = one.exam_grades[0]
    assert rated.self_ratings == [
        Rating(question_id="q/who", self_rating=0),
        Rating(question_id="q/when", self_rating=1),
    ]
    assert rated.correctAnswered == ["q/when"] and rated.llm_response_errors is None
    # What a grader left open is no misread reply.
    (nugget,) = [exam for exam in one.exam_grades if exam.llm_response_errors]
    assert list(nugget.llm_response_errors or ()) == ["q/roots"]
    assert one.grades[1].correctAnswered and one.grades[1].self_ratings == 1


def test_grades_are_added_to_those_that_a_passage_has(tmp_path: Path):
    earlier = our_file(tmp_path / "ours.jsonl.gz")
    (query,) = read_graded_paragraphs(tmp_path / "ours.jsonl.gz").queries
    again = add_grades(
        query.paragraphs[0], (WHO,), [ExamGrade(exam_item="q/who", rating=5)], [], "openai/b"
    )
    assert again.exam_grades is not None and earlier[0][1][0].exam_grades is not None
    assert len(again.exam_grades) == len(earlier[0][1][0].exam_grades) + 1
    assert again.exam_grades[-1].llm == "openai/b"


def test_a_file_of_ours_is_read_again_as_it_was(tmp_path: Path):
    path, again = tmp_path / "ours.jsonl.gz", tmp_path / "again.jsonl.gz"
    our_file(path)
    write_graded_paragraphs(read_graded_paragraphs(path).queries, again)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "name", ["data/workbench/graded-llmjudge-test.jsonl.gz", "oracles/workbench/graded.jsonl.gz"]
)
def test_released_grades_pass_through_ours_unchanged(shared: Path, tmp_path: Path, name: str):
    n = 5  # queries: the original reads slowly, and a whole file passes in test_released_files.py
    with gzip.open(shared / name) as whole, gzip.open(tmp_path / "few.jsonl.gz", "w") as few:
        few.writelines(islice(whole, n))
    found = read_graded_paragraphs(tmp_path / "few.jsonl.gz")
    assert not found.rejections and len(found.queries) == n
    write_graded_paragraphs(found.queries, tmp_path / "ours.jsonl.gz")
    assert theirs(tmp_path / "ours.jsonl.gz") == theirs(shared / name, n)
