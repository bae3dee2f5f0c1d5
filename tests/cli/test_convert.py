"""`ragassay convert`, as a user calls it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import calls
import pytest
from case_tables import each_case

from ragassay.formats import read_records
from ragassay.formats.write import WRITABLE_FORMATS

convert = partial(calls.run, "convert")

RESULTS = [
    {"topic_id": "116", "answer": "It helps [111, 222]. It is safe [333].", "references": []},
    {"topic_id": "117", "answer": "None."},
]
RUN = {"team_id": "t", "run_name": "r", "contact_email": "a@b", "results": RESULTS}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(RUN, indent=1))
    return path


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    path = tmp_path / "topics.csv"
    path.write_text("topic_id,title,question,narrative\n116,t,Q116?,n\n117,t,Q117?,n\n")
    return path


def test_a_run_becomes_ragassay_lines_with_questions_and_nuggets(run, topics, tmp_path):
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"qid": "116", "nuggets": [{"text": "n1", "importance": "vital"}]}\n')
    out = tmp_path / "answers.jsonl.gz"
    said = convert(run, out, "--questions", topics, "--nuggets", gold)
    assert said == (f"2 answers, biogen-2024 to ragassay: {out}\n", "")
    first, _ = read_records(out).records
    assert (first.id, first.question) == ("t/r/116", "Q116?")
    assert first.nuggets[0].importance == "vital"


@each_case("form", WRITABLE_FORMATS)
def test_the_sample_becomes_every_format_and_what_is_left_out_is_said(sample, tmp_path, form):
    answers, out = sample / "answers.jsonl", tmp_path / "out"
    if form == "biogen-2024":
        lines = (sample / "answers.jsonl").read_text(encoding="utf-8").splitlines()
        answers = tmp_path / "alpha.jsonl"
        answers.write_text("\n".join(one for one in lines if '"alpha-rag"' in one))
    _, errors = convert(answers, out, "--to", form, "--team", "team")
    if form == "ragassay":
        assert errors == ""
    else:
        assert errors.startswith(f"fields dropped or changed because {form} does not support them")
        assert " answers\n" in errors
    if form != "biogen-2024":
        assert read_records(out).format == form


def test_a_plain_answer_is_cut_into_sentences_that_list_what_they_cite(run, topics, tmp_path):
    out = tmp_path / "run.jsonl"
    convert(run, out, "--questions", topics, "--to", "trec-rag-2025")
    first = json.loads(out.read_text().splitlines()[0])
    sentences = [(one["text"], one["citations"]) for one in first["answer"]]
    assert sentences == [("It helps.", [0, 1]), ("It is safe.", [2])]
    assert first["references"] == ["111", "222", "333"]


def test_a_name_is_given_to_systems_that_have_none(tmp_path):
    answers, out = tmp_path / "answers.jsonl", tmp_path / "run.jsonl"
    answers.write_text('{"id": "1", "question": "Q", "answer": "A."}\n')
    _, errors = convert(answers, out, "--to", "biogen-2025-b", code=1)
    assert not out.exists()
    assert errors == "error: record '1' cannot be written: system: found None (team_id/run_id)\n"
    convert(answers, out, "--to", "biogen-2025-b", "--system", "t/r")
    assert read_records(out).records[0].system == "t/r"


def test_a_bad_line_is_named_and_the_rest_is_written(tmp_path):
    answers, out = tmp_path / "answers.jsonl", tmp_path / "out.jsonl"
    bad = '{"question": "Q"}\n' * 12
    answers.write_text(bad + '{"id": "a", "question": "Q", "answer": "A"}\n')
    _, errors = convert(answers, out, code=3)
    assert f"rejected {answers}:1: answer: the field is missing" in errors
    assert "... and 2 more rejected lines" in errors
    assert [record.id for record in read_records(out).records] == ["a"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("missing.jsonl out", "missing.jsonl does not exist"),
        ("{sample} out --to bibtex", "choose from ragassay, biogen-2024"),
        ("{sample} nowhere/out", "cannot be written"),
        ("{sample} out --questions {sample}", "already contains the questions"),
    ],
)
def test_a_mistake_is_one_clear_line(arguments, said, sample, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [word.format(sample=sample / "answers.jsonl") for word in arguments.split()]
    _, errors = convert(*words, code=1)
    assert said in errors
    assert len(errors.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_no_answer_at_all_is_written_as_none(tmp_path):
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"question": "Q"}\n')
    _, errors = convert(answers, tmp_path / "out.jsonl", code=1)
    assert f"{answers}: no usable record" in errors
    assert not (tmp_path / "out.jsonl").exists()


def test_an_empty_answer_is_rejected_unless_it_is_asked_for(tmp_path):
    path, out = tmp_path / "answers.jsonl", tmp_path / "out.jsonl"
    rows = [{"id": n, "question": "Q?", "answer": a} for n, a in (("a", "Yes."), ("b", " [1]"))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, told = convert(path, out, code=3)
    assert "found an empty answer" in told
    assert [one.id for one in read_records(out).records] == ["a"]
    convert(path, out, "--keep-empty")
    assert [one.id for one in read_records(out).records] == ["a", "b"]
    convert(path, out, "--to", "nuggetizer-create")


def test_what_was_read_as_what_and_what_was_not_read_is_said(tmp_path):
    path, out = tmp_path / "answers.jsonl", tmp_path / "out.jsonl"
    row = {"query": "Q?", "output": "Yes.", "blob": ["Drug A lowered blood pressure by far."]}
    path.write_text(json.dumps(row) + "\n")
    _, told = convert(path, out)
    assert "Read `query` as question, `output` as answer." in told
    assert "1 answer has text in `blob` that was not read" in told
    convert(path, out, "--map", "sources=blob")
    (record,) = read_records(out).records
    assert [one.text for one in record.sources] == row["blob"]
