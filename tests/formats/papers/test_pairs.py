"""Question-answer pairs."""

from __future__ import annotations

import json

import pytest
from case_tables import each_case

from ragassay.errors import InputError
from ragassay.formats.papers import read_pairs, write_pairs
from ragassay.records import Paper, PaperSection, QAPair

ONE = Paper(id="10.1000/a", sections=(PaperSection(text="Text."),))
TWO = Paper(id="b", sections=(PaperSection(text="Other."),))

PAIRS = (
    QAPair(id="x", question="Why?", answer="So.", paper="b", system="s", sources=("A.", "B.")),
    QAPair(id="y", question="How \u2028?", answer="", paper="10.1000/a"),
)


@pytest.mark.parametrize("name", ["p.jsonl", "p.jsonl.gz"])
def test_pairs_are_written_and_read_back(tmp_path, name):
    write_pairs(PAIRS, tmp_path / name)
    found = read_pairs(tmp_path / name, (ONE, TWO))
    assert found.pairs == PAIRS
    assert (found.rejections, found.papers) == ((), (ONE, TWO))


def test_two_pairs_of_one_id_are_not_written(tmp_path):
    with pytest.raises(InputError, match="two pairs have the id 'x'"):
        write_pairs((PAIRS[0], PAIRS[0]), tmp_path / "p.jsonl")


SCIQAG = {
    "doi": "10.1000-a.json",
    "txt": "Its text.",
    "Q&A": [{"Q": "Why?", "A": "So."}, {"Q": "How?", "A": "Thus."}],
}


def test_sciqag_brings_its_papers(put):
    other = SCIQAG | {"doi": "10.1000-c.json"}
    found = read_pairs(put("s.jsonl", json.dumps(SCIQAG) + "\n" + json.dumps(other)))
    assert found.rejections == ()
    assert [pair.id for pair in found.pairs] == [
        "10.1000/a/1",
        "10.1000/a/2",
        "10.1000/c/1",
        "10.1000/c/2",
    ]
    assert [pair.paper for pair in found.pairs] == ["10.1000/a"] * 2 + ["10.1000/c"] * 2
    assert [paper.text for paper in found.papers] == ["Its text."] * 2


def test_a_paper_that_was_given_stands_for_the_one_that_the_file_brings(put):
    found = read_pairs(put("s.jsonl", json.dumps(SCIQAG)), (ONE,))
    assert found.papers == (ONE,)
    assert len(found.pairs) == 2


@pytest.mark.parametrize(
    "text",
    [
        "question,answer,paper\nWhy?,So.,b\nHow?,Thus.,b\n",
        "\ufeffQuestion,Answer,Paper\r\nWhy?,So.,b\r\nHow?,Thus.,b\r\n",
        "question\tanswer\tpaper\nWhy?\tSo.\tb\nHow?\tThus.\tb\n",
        "q;a;paper\nWhy?;So.;b\n;;\nHow?;Thus.;b\n",
        '[{"Q": "Why?", "A": "So.", "paper": "b"}, {"q": "How?", "a": "Thus.", "doi": "b"}]',
        '{"question": "Why?", "answer": "So.", "paper_id": "b"}\n'
        '{"question": "How?", "answer": "Thus.", "paper": "b", "more": 1}',
    ],
)
def test_pairs_in_any_form(put, text):
    found = read_pairs(put("p.txt", text), (ONE, TWO))
    assert found.rejections == ()
    assert [(p.id, p.question, p.answer, p.paper) for p in found.pairs] == [
        ("b/1", "Why?", "So.", "b"),
        ("b/2", "How?", "Thus.", "b"),
    ]


def test_cells_in_quotes_hold_commas_and_line_ends(put):
    text = 'question,answer,paper\n"Why, then?","So.\nAnd so.",b\nHow?,,b\nWhen?,Now.,c\n'
    found = read_pairs(put("p.csv", text), (ONE, TWO))
    assert [(p.question, p.answer) for p in found.pairs] == [("Why, then?", "So.\nAnd so.")]
    assert [(r.line, r.field) for r in found.rejections] == [(4, "answer"), (5, "paper")]


@pytest.mark.parametrize(
    ("row", "field", "problem"),
    [
        ("Why?,So.,c", "paper", 'the paper "c" is unknown'),
        ("Why?,So.,", "paper", "does not specify a paper, but there are 2 papers"),
        ("Why?,So.,b,more", "", "found 4 cells"),
        (",So.,b", "question", "missing"),
        ('"Why?,So.,b', "", "not CSV"),
    ],
)
def test_a_bad_row_is_rejected(put, row, field, problem):
    path = put("p.csv", f"question,answer,paper\nFirst?,Yes.,b\n{row}\n")
    found = read_pairs(path, (ONE, TWO))
    assert [pair.question for pair in found.pairs] == ["First?"]
    (rejection,) = found.rejections
    assert (rejection.line, rejection.field) == (3, field)
    assert problem in rejection.problem
    assert rejection.expected


def test_the_only_paper_is_that_of_a_pair_without_one(put):
    found = read_pairs(put("p.csv", "question,answer\nWhy?,So.\n"), (ONE,))
    assert [(pair.id, pair.paper) for pair in found.pairs] == [("10.1000/a/1", "10.1000/a")]


def test_without_papers_none_is_checked(put):
    lines = '{"question": "Why?", "answer": "So."}\n{"Q": "How?", "A": "Thus.", "paper": "z"}\n'
    found = read_pairs(put("p.jsonl", lines))
    assert [(pair.id, pair.paper) for pair in found.pairs] == [("pair/1", ""), ("z/1", "z")]


def test_a_paper_is_known_by_its_doi_however_it_is_written(put):
    names = ["10.1000/a", "https://doi.org/10.1000/a", "10.1000-a.json"]
    text = "\n".join(json.dumps({"Q": "Why?", "A": "So.", "doi": name}) for name in names)
    found = read_pairs(put("p.jsonl", text), (ONE, TWO))
    assert [pair.paper for pair in found.pairs] == ["10.1000/a"] * 3


def test_an_id_that_occurs_twice_is_named(put):
    lines = [{"id": "x", "question": "Why?", "answer": "So."}, {"id": "x", "Q": "How?", "A": "T"}]
    found = read_pairs(put("p.jsonl", "\n".join(map(json.dumps, lines))), (ONE,))
    assert [pair.question for pair in found.pairs] == ["Why?"]
    assert found.rejections[0].line == 2
    assert 'the pair "x" is already on line 1' in found.rejections[0].problem


@each_case(
    ("data", "problem"),
    [
        (b"", "has no question-answer pair; expected one of:"),
        (b"name,value\n1,2\n", 'found the fields "name", "value"'),
        (b"Just a text.\n", "not JSON"),
        (b'{"doi": "10.1/a", "txt": "A paper without pairs."}', "has no question-answer pair"),
        (b'{"question": "Why?"}', "1: answer: the field is missing"),
        (b'{"a": 1', "1: not JSON"),
        ("question,answer\nWhy\u00b0,x\n".encode("latin-1"), "not UTF-8: byte 0xb0"),
        (b"\x1f\x8b\x08\x00 no gzip", "no question-answer pair"),
    ],
)
def test_a_file_without_a_pair_is_an_error_that_tells_the_forms(put, data, problem):
    path = put("p.txt", data)
    with pytest.raises(InputError) as caught:
        read_pairs(path)
    assert problem in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_folder_of_sciqags_files(put, tmp_path):
    put("f/1.json", json.dumps(SCIQAG, indent=2))
    put("f/2.json", json.dumps(SCIQAG | {"doi": None}))
    put("f/3.json", json.dumps(SCIQAG))
    found = read_pairs(tmp_path / "f")
    assert [paper.id for paper in found.papers] == ["10.1000/a", "2"]
    assert len(found.pairs) == 4
    assert "10.1000/a" in found.rejections[0].problem
