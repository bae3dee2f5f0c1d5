"""`ragassay qa read` and `ragassay qa export`, as a user calls them."""

from __future__ import annotations

import json

import pytest
from calls import judged_by, run
from case_tables import each_case
from conftest import ROOT
from fakes import WordEmbedder
from rows import write_rows

from ragassay.formats import read_graded_paragraphs
from ragassay.formats.papers import EXPORT_FORMS, read_papers
from ragassay.testing import ScriptedModel

EXAMPLE = ROOT / "examples" / "sciqag" / "paper.xml"
PAIRS = (
    "question,answer\n"
    "How long is the half-life of calvenol?,It is 6.4 hours.\n"
    "Which receptor does calvenol block?,The histamine H4 receptor.\n"
)


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(PAIRS)
    return path


def export(pairs, form, out, *more, code=0):
    given = ("export", pairs, "--papers", EXAMPLE, "--as", form, "--out", out, *more)
    return run("qa", *given, code=code)


def test_read_shows_what_was_read_and_writes_it(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.xml").write_bytes(EXAMPLE.read_bytes())
    (tmp_path / "in" / "b.txt").write_text("The glucose sensor is new. A glucose sensor is best.")
    shown, _ = run("qa", "read", tmp_path / "in", "--keywords", "--out", tmp_path / "p.jsonl")
    assert "2 papers" in shown
    first, second = read_papers(tmp_path / "p.jsonl").papers
    assert first.keywords[0] == "allergic rhinitis"
    assert len(first.keywords) == 5
    assert second.keywords == ("glucose sensor",)
    row = next(line for line in shown.splitlines() if "10.5555" in line).split()
    counts = [word for word in row if word.isdecimal()]
    # Sections, tables, references, sentences, words.
    assert counts[:4] == ["16", "2", "4", "65"]


def test_read_names_what_it_cannot_read_and_goes_on(tmp_path):
    (tmp_path / "a.xml").write_text("<article>")
    (tmp_path / "b.txt").write_text("A text of a paper.")
    shown, errors = run("qa", "read", tmp_path, code=3)
    assert "1 paper" in shown
    assert f"rejected {tmp_path / 'a.xml'}:1: not XML" in errors
    (tmp_path / "b.txt").unlink()
    _, errors = run("qa", "read", tmp_path, code=1)
    assert "no paper could be read" in errors


@each_case("form", EXPORT_FORMS)
def test_export_in_every_form(tmp_path, pairs, form):
    told, out = tmp_path / "instruction.txt", tmp_path / "out.json"
    told.write_text("Write pairs.")
    shown, _ = export(pairs, form, out, "--instruction", told)
    entries = "1 entry" if form in ("testbank", "sft") else "2 entries"
    assert f"2 pairs in {entries} ({form})" in shown
    assert out.stat().st_size > 100


def test_export_names_pairs_without_a_paper_and_an_unknown_form(tmp_path, pairs):
    out = tmp_path / "out.jsonl"
    _, errors = export(pairs, "xml", out, code=1)
    assert "ragas, deepeval, bioasq, testbank, jsonl, sft" in errors
    with pairs.open("a") as handle:
        handle.write("Only a question?,\n")
    _, errors = export(pairs, "ragas", out, code=3)
    assert f"{pairs}:4: answer" in errors
    assert len(out.read_text().splitlines()) == 2


@pytest.mark.integration
def test_a_rag_systems_answers_to_exported_questions_are_evaluated(tmp_path, pairs, monkeypatch):
    monkeypatch.setattr("ragassay.evaluators.models.Embedder", lambda name: WordEmbedder(name))
    out = tmp_path / "questions.jsonl"
    export(pairs, "jsonl", out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    answered = [row | {"answer": row["reference"] + " [1]", "system": "mine"} for row in rows]
    answers = write_rows(tmp_path / "answers.jsonl", answered)
    with ScriptedModel() as model:
        more = ("--out", tmp_path / "run", "--quiet", "--json", *judged_by(model))
        shown, _ = run("evaluate", answers, *more)
    assert json.loads(shown)["n_evaluated"] == 2


@pytest.mark.integration
def test_an_exported_test_bank_grades(tmp_path, pairs):
    bank = tmp_path / "bank.jsonl.gz"
    export(pairs, "testbank", bank)
    row = {"id": "a", "topic": "10.5555/ragassay.example.1", "question": "What is calvenol?"}
    row |= {"answer": "It blocks the histamine H4 receptor."}
    answers = write_rows(tmp_path / "answers.jsonl", [row])
    with ScriptedModel() as model:
        more = ("--testbank", bank, "--out", tmp_path / "run", "--quiet", *judged_by(model))
        run("grade", answers, *more)
    (query,) = read_graded_paragraphs(tmp_path / "run" / "graded.jsonl.gz").queries
    assert query.paragraphs[0].exam_grades
