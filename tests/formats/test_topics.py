"""Topics as the tracks give them; the samples keep the form of their files, with invented text."""

from __future__ import annotations

import pytest
from case_tables import each_case

from ragassay.formats.exam_queries import read_exam_queries
from ragassay.formats.topics import read_topics

CSV = "topic_id,title,question,narrative\n1,t,Is it?,long\n2,t,Was it?,long"
CSV_2026 = "id\tquestion\n1\tIs it?\n2\tWas it?"
EXPECTED = {"1": "Is it?", "2": "Was it?"}


@each_case(
    "content",
    [
        CSV,
        CSV_2026,
        "1\tIs it?\n2\tWas it?\n",
        '{"id": "1", "title": "Is it?"}\n{"id": "2", "title": "Was it?"}',
        '{"id": 1, "title": "t", "question": "Is it?"}\n{"id": 2, "title": "Was it?"}',
        '[{"id": "1", "title": "Is it?"}, {"id": "2", "narrative": "Was it?", "title": "t"}]',
        '{"topics": [{"id": 1, "topic": "t", "text": "Is it?"}, {"id": 2, "topic": "Was it?"}]}',
        '{"questions": [{"id": "1", "body": "Is it?"}, {"id": "2", "body": "Was it?"}]}',
        '{"1": "Is it?", "2": "Was it?"}',
        '[{"question_id": 1, "question": "Is it?"}, {"question_id": 2, "question": "Was it?"}]',
    ],
    ids=range(10),
)
def test_topics_are_read_in_any_form(write, content: str):
    assert read_topics(write(content)) == (EXPECTED, [])


def test_one_topic_alone_is_no_mapping(write):
    assert read_topics(write('{"id": "1", "title": "Is it?"}')) == ({"1": "Is it?"}, [])


def test_a_line_that_is_no_topic_is_rejected_alone(write):
    path = write("1\tIs it?\n\t\nno tab\n2\tWas it?\n1\tIs it?")
    topics, rejections = read_topics(path)
    assert topics == EXPECTED
    assert [(one.line, one.problem) for one in rejections] == [
        (3, "the line has no id, tab and question"),
        (5, 'the topic "1" already appeared'),
    ]
    assert {one.id: one.text for one in read_exam_queries(path).queries} == EXPECTED


@pytest.mark.parametrize(
    ("content", "line", "field"),
    [
        ("topic_id,question\n1,Is it?\n\n7,\n2,Was it?\n", 4, "question"),
        ("topic_id,question\r1,Is it?\r7,\r2,Was it?\r", 1, "question"),
        ('{"topics": [{"id": 1, "text": "Is it?"}, {"id": 7}, {"id": 2, "text": "Was it?"}]}',
         0, "topics.1.question"),
        ('[{"id": 1, "text": "Is it?"}, {"id": 7}, {"id": 2, "text": "Was it?"}]',
         0, "1.question"),
        ('{"1": "Is it?", "7": "", "2": "Was it?"}', 0, "7.question"),
    ],
    ids=range(5),
)  # fmt: skip
def test_a_rejected_topic_names_its_place(write, content: str, line: int, field: str):
    topics, (rejection,) = read_topics(write(content))
    assert topics == EXPECTED
    assert (rejection.line, rejection.field) == (line, field)


def test_the_real_topics_are_questions(shared_data):
    questions, _ = read_topics(shared_data / "trec-biogen" / "topics2024.json")
    assert questions["117"] == "What will mutation in runx2 affect in the future?"


REQUEST = {
    "request_id": "28",
    "title": "Shells",
    "problem_statement": "How do shells work?",
    "background": "I teach.",
    "collection_ids": ["c"],
    "limit": 2000,
}


@each_case(
    ("change", "question"),
    [
        ({"title": None}, "How do shells work?\nI teach."),
        ({"background": ""}, "Shells\nHow do shells work?"),
        ({"problem_statement": None}, "Shells\nI teach."),
        ({"question": "Own?"}, "Own?"),
    ],
)
def test_a_request_of_ragtime_is_its_title_problem_and_background(write, change, question):
    whole = "Shells\nHow do shells work?\nI teach."
    path = write(REQUEST, REQUEST | {"request_id": 29} | change)
    assert read_topics(path) == ({"28": whole, "29": question}, [])
