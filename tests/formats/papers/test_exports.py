"""Pairs as other tools read them: each file is read back."""

from __future__ import annotations

import gzip
import json

import pytest

from ragassay.errors import InputError
from ragassay.formats import build_exam_items, read_records, read_records_from_rows, read_test_banks
from ragassay.formats.exam_queries import read_exam_queries
from ragassay.formats.papers import EXPORT_FORMS, export_pairs
from ragassay.formats.papers.exports import bind_instruction, build_paper_address
from ragassay.records import Paper, PaperSection, QAPair

PAPER = Paper(
    id="10.1000/a",
    title="On sleep",
    journal="J",
    licence="https://creativecommons.org/licenses/by/4.0/",
    sections=(
        PaperSection(title="Abstract", text="Sleep was short. It hurt.", kind="abstract"),
        PaperSection(title="Methods", text="Rats ran."),
        PaperSection(title="Table 1", text="Rats slept 5 h.", kind="table"),
        PaperSection(title="Results", text="In all, rats slept 5 h. Good."),
    ),
)
ORIGIN = {"paper": PAPER.id, "journal": "J", "licence": PAPER.licence, "generator": "gpt"}
BARE = Paper(id="PMC7", sections=(PaperSection(text="Whole text."),))
PAIRS = (
    QAPair(
        id="p1",
        question="How long?",
        answer="5 h.",
        paper="10.1000/a",
        system="gpt",
        sources=("It hurt.", "rats slept 5 h.", "Not in it."),
    ),
    QAPair(id="p2", question="How long? ", answer="Five hours.", paper="10.1000/a"),
    QAPair(id="p3", question="Why \u2028?", answer="So.", paper="PMC7"),
)


@pytest.fixture
def export(tmp_path):
    """Write the pairs; return the path."""

    def _export(form: str, name: str = "out.jsonl", **more: str):
        path = tmp_path / name
        n = export_pairs(PAIRS, (PAPER, BARE), path, form, **more)
        assert n == (2 if form in ("testbank", "sft") else 3)
        return path

    return _export


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_ragas_is_a_test_set_that_becomes_records_with_responses(export):
    # The fields of ragas 0.4.3's SingleTurnSample, and of the pair's origin.
    first, second, third = rows_of(export("ragas"))
    assert (
        first
        == {
            "id": "p1",
            "user_input": "How long?",
            "reference": "5 h.",
            "reference_contexts": list(PAIRS[0].sources),
        }
        | ORIGIN
    )
    assert "reference_contexts" not in second and "licence" not in third
    answered = [row | {"response": "Own reply."} for row in (first, second, third)]
    found = read_records_from_rows(answered)
    assert (found.format, found.rejections) == ("ragas", ())
    assert [record.id for record in found.records] == ["p1", "p2", "p3"]
    assert found.records[0].reference == "5 h."
    assert found.records[0].metadata["licence"] == PAPER.licence


def test_deepevals_goldens_become_records_with_outputs(export):
    # The fields of DeepEval 4.3.1's Golden, as `add_goldens_from_json_file` reads them.
    goldens = json.loads(export("deepeval", "goldens.json").read_text())
    assert goldens[0] == {
        "name": "p1",
        "input": "How long?",
        "expected_output": "5 h.",
        "context": list(PAIRS[0].sources),
        "source_file": "10.1000/a",
        "additional_metadata": ORIGIN,
    }
    found = read_records_from_rows([golden | {"actual_output": "Own."} for golden in goldens])
    assert (found.format, found.rejections) == ("deepeval", ())
    assert [source.text for source in found.records[0].sources] == list(PAIRS[0].sources)
    assert found.records[2].reference == "So."


def test_bioasq_has_snippets_with_offsets_in_their_sections(export):
    path = export("bioasq", "questions.json")
    first = json.loads(path.read_text())["questions"][0]
    assert first["documents"] == ["https://doi.org/10.1000/a"]
    places = [
        (one.get("beginSection"), one.get("offsetInBeginSection"), one.get("offsetInEndSection"))
        for one in first["snippets"]
    ]
    assert places == [("abstract", 17, 25), ("sections.1", 8, 23), (None, None, None)]
    found = read_records(path)
    assert (found.format, found.rejections) == ("bioasq", ())
    assert [record.reference for record in found.records] == ["5 h.", "Five hours.", "So."]
    assert [record.question for record in found.records] == [pair.question for pair in PAIRS]
    assert found.records[0].metadata["licence"] == PAPER.licence


@pytest.mark.parametrize("name", ["bank.jsonl", "bank.jsonl.gz"])
def test_a_test_bank_has_a_bank_a_paper_with_the_answers_as_keys(export, name):
    found = read_test_banks(export("testbank", name))
    assert found.rejections == ()
    first, second = found.banks
    assert (first.query_id, first.query_text, first.kind) == ("10.1000/a", "On sleep", "questions")
    assert (second.query_id, second.query_text) == ("PMC7", "PMC7")
    (item,) = build_exam_items(first)
    assert (item.text, item.answers) == ("How long?", ("5 h.", "Five hours."))
    assert item.id.startswith("10.1000/a/")
    assert json.loads(first.info)["licence"] == PAPER.licence
    told = json.loads(first.items[0].info)
    assert told == {"pairs": ["p1", "p2"], "sources": list(PAIRS[0].sources)}


def test_jsonl_needs_only_the_answer_to_be_evaluated(export):
    rows = rows_of(export("jsonl"))
    assert "answer" not in rows[0]
    found = read_records_from_rows(
        [row | {"answer": "Own reply [1].", "system": "s"} for row in rows]
    )
    assert (found.format, found.rejections) == ("ragassay", ())
    first, second, third = found.records
    assert (first.id, first.topic, first.reference) == ("p1", "p1", "5 h.")
    assert [(one.id, one.text) for one in first.sources] == [
        ("10.1000/a#1", "It hurt."),
        ("10.1000/a#2", "rats slept 5 h."),
        ("10.1000/a#3", "Not in it."),
    ]
    assert [(one.id, one.text) for one in second.sources] == [("10.1000/a", PAPER.text)]
    assert first.metadata["licence"] == PAPER.licence
    assert third.metadata == {"paper": "PMC7"}


def test_jsonl_is_a_file_of_queries_too(export):
    found = read_exam_queries(export("jsonl"))
    assert [(query.id, query.text) for query in found.queries] == [
        (pair.id, pair.question) for pair in PAIRS
    ]


def test_sft_is_an_example_a_paper(export):
    first, second = rows_of(export("sft", example=bind_instruction("Write pairs.")))
    assert (first["instruction"], first["input"]) == ("Write pairs.", PAPER.text)
    assert json.loads(first["output"]) == [
        {"Q": "How long?", "A": "5 h."},
        {"Q": "How long? ", "A": "Five hours."},
    ]
    assert first["licence"] == PAPER.licence
    assert json.loads(second["output"]) == [{"Q": "Why \u2028?", "A": "So."}]


@pytest.mark.parametrize("form", EXPORT_FORMS)
def test_the_same_pairs_give_the_same_bytes_packed_or_not(export, form):
    plain = export(form, "a.json", example=bind_instruction("Do.")).read_bytes()
    assert export(form, "b.json", example=bind_instruction("Do.")).read_bytes() == plain
    assert (
        gzip.decompress(export(form, "c.json.gz", example=bind_instruction("Do.")).read_bytes())
        == plain
    )


@pytest.mark.parametrize(
    ("pairs", "form", "problem"),
    [
        ((), "ragas", "there are no pairs"),
        (PAIRS, "xml", "cannot be written as 'xml'"),
        (PAIRS, "sft", "requires training examples"),
        ((PAIRS[0].model_copy(update={"paper": "z"}),), "jsonl", "about the unknown paper 'z'"),
        ((PAIRS[2].model_copy(update={"answer": "\ud800"}),), "jsonl", "lone surrogate"),
    ],
)
def test_what_cannot_be_written_leaves_no_file(tmp_path, pairs, form, problem):
    path = tmp_path / "out.json"
    with pytest.raises(InputError, match=problem):
        export_pairs(pairs, (PAPER, BARE), path, form)
    assert not path.exists()


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("10.1000/a", "https://doi.org/10.1000/a"),
        ("PMC7", "https://www.ncbi.nlm.nih.gov/pmc/articles/PMC7"),
        ("own/name", "own/name"),
        ("PMCx", "PMCx"),
    ],
)
def test_the_address_of_a_paper(name, address):
    assert build_paper_address(Paper(id=name, sections=())) == address
