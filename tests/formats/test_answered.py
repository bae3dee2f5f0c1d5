"""Answers that are to be evaluated: an empty one is rejected, an input of nothing else refused."""

from __future__ import annotations

import re

import pytest

from ragassay.errors import InputError, NoRecordError
from ragassay.formats import read_records, read_records_from_rows
from ragassay.formats.problems import detect_empty_answer, format_rejection
from ragassay.records import Record, Rejection, SentenceInput
from ragassay.text.segmenter import segment

GOOD = {"id": "a", "question": "Q?", "answer": "Iron helps."}
EMPTY = {"id": "b", "question": "Q?", "answer": " \n"}
BLANK = ["", " \t\n", "[1]", "[1], [2].", "...", "[PMID 123]", "-"]


@pytest.mark.parametrize("answer", BLANK)
def test_what_has_no_sentence_is_empty(answer):
    one = Record(id="a", question="Q?", answer=answer)
    assert detect_empty_answer(one) and not segment(one, lambda name: None)[1]
    listed = one.model_copy(update={"answer": (SentenceInput(text=answer, citations=("1",)),)})
    assert detect_empty_answer(listed)
    assert detect_empty_answer(one.model_copy(update={"answer": ()}))


@pytest.mark.parametrize("answer", ["No.", "5", "是", "No [1].", "[1] Yes"])
def test_a_short_answer_is_not_empty(answer):
    assert detect_empty_answer(Record(id="a", question="Q?", answer=answer)) is None


def test_an_empty_answer_is_rejected_by_line_where_answers_are_evaluated(write):
    path = write(GOOD, EMPTY)
    assert [r.id for r in read_records(path).records] == ["a", "b"]
    found = read_records(path, answered=True)
    assert [r.id for r in found.records] == ["a"]
    (rejected,) = found.rejections
    assert (rejected.line, rejected.field) == (2, "answer")
    assert format_rejection(rejected) == f"{path}:2: answer: found an empty answer, expected text"


def test_an_empty_answer_does_not_count_for_the_limit(write):
    found = read_records(write(EMPTY, GOOD), limit=1, answered=True)
    assert [r.id for r in found.records] == ["a"]


def test_nothing_but_rejections_is_an_error_that_has_them_all(write):
    path = write(*({"question": "Q?", "answer": ""} for _ in range(12)))
    with pytest.raises(NoRecordError) as caught:
        read_records(path, answered=True)
    assert len(caught.value.rejections) == 12
    shown = str(caught.value).splitlines()
    assert shown[0] == f"{path}: no usable record"
    assert shown[10] == f"  {path}:10: answer: found an empty answer, expected text"
    assert shown[11:] == ["  ... and 2 more rejected lines"]
    assert isinstance(caught.value, InputError)


def test_rows_are_counted_like_lines():
    found = read_records_from_rows([GOOD, EMPTY], answered=True)
    assert [(r.file, r.line) for r in found.rejections] == [("rows", 2)]


def test_what_may_be_a_submission_is_told_how_it_is_read(write):
    gold = {"id": "q1", "type": "factoid", "body": "Is it?", "ideal_answer": ["It is."]}
    path, questions = write({"questions": [gold]}), write({"questions": [gold]}, name="gold.json")
    told = "a system's submission is read with --questions GOLD.json"
    with pytest.raises(NoRecordError, match=re.escape(told)) as caught:
        read_records(path, answered=True)
    (rejection,) = caught.value.rejections
    assert (rejection.field, rejection.problem) == ("questions.0.answer", "found an empty answer")
    (record,) = read_records(path, questions=questions, answered=True).records
    assert record.answer == "It is."


def test_a_rejection_does_not_steer_the_terminal():
    line = format_rejection(Rejection(file="f\x1b[2J", line=1, problem="a\nb\u202ec"))
    assert line == "f\ufffd[2J:1: a\ufffdb\ufffdc"
