"""Runs of TREC RAG 2024 and 2025 and of TREC BioGen 2024 and 2025."""

from __future__ import annotations

import json

import pytest
from case_tables import each_case
from format_samples import RAG24, RAG25, RUN24, TASK_A

from ragassay.errors import InputError
from ragassay.formats import (
    read_records,
    write_answers,
)
from ragassay.formats.write import WRITABLE_FORMATS
from ragassay.records import Document, Record, SentenceInput


@pytest.fixture
def topics(write):
    return write(
        {"topics": [{"id": 116, "question": "Q116?"}, {"id": "117", "question": "Q117?"}]},
        name="topics.json",
    )


def test_a_trec_rag_2024_answer_becomes_a_record(write):
    result = read_records(write(RAG24))
    assert (result.format, result.rejections) == ("trec-rag-2024", ())
    (record,) = result.records
    assert (record.id, record.topic, record.system) == ("r/2024-1", "2024-1", "r")
    assert record.question == "Q?"
    assert record.answer == (
        SentenceInput(text="One two.", citations=("d1", "d2")),
        SentenceInput(text="Three."),
    )
    assert record.metadata == {}


def test_references_that_nobody_cites_and_another_length_are_kept(write):
    (record,) = read_records(
        write({**RAG24, "references": ["d1", "d2", "d3"], "response_length": 7, "extra": [1]})
    ).records
    assert record.metadata == {
        "references": '["d1", "d2", "d3"]',
        "response_length": "7",
        "extra": "[1]",
    }


def test_a_trec_rag_2025_answer_becomes_a_record(write):
    result = read_records(write(RAG25))
    assert (result.format, result.rejections) == ("trec-rag-2025", ())
    (record,) = result.records
    assert (record.id, record.topic, record.system) == ("t/r/14", "14", "t/r")
    assert [sentence.citations for sentence in record.answer] == [("d3", "d1"), ("references[9]",)]
    assert record.metadata == {
        "metadata.type": "automatic",
        "metadata.prompt": "P",
        "references": '["d1", "d2", "d3"]',
    }


@each_case(
    ("citation", "found"),
    [
        (0, "31452104"),
        ("0", "31452104"),
        (31452104, "31452104"),
        ("31452104", "31452104"),
        (1.0, "d"),
        (2, "references[2]"),
        (-1, "references[-1]"),
        ("msmarco#2", "msmarco#2"),
        ("7", "7"),
    ],
)
def test_citations_in_the_wild_are_positions_or_ids(write, citation, found):
    line = {**RAG24, "references": [31452104, "d"],
            "answer": [{"text": "S", "citations": [citation]}]}  # fmt: skip
    (record,) = read_records(write(line)).records
    assert record.answer[0].citations == (found,)


def test_narratives_and_topics_may_stand_beside_the_run(write):
    bare = {**RAG25, "metadata": {**RAG25["metadata"], "narrative": None}}
    topics = ({"id": "14", "narrative": "N?"}, {"id": 15, "narrative": "other"})
    for narratives in (write(list(topics), name="n.json"), write(*topics, name="n.jsonl")):
        (record,) = read_records(write(bare), questions=narratives).records
        assert record.question == "N?"
    broken = write(*topics, '{"id": 16, "narrative": NaN}', "{", name="n.jsonl")
    result = read_records(write(bare), questions=broken)
    assert [one.line for one in result.rejections] == [3, 4]
    (rejection,) = read_records(write({**RAG24, "topic": None})).rejections
    assert rejection.field == "topic"


@pytest.mark.parametrize("indent", [None, 1])
def test_a_biogen_2024_run_is_read_however_it_is_laid_out(write, topics, indent):
    result = read_records(write(json.dumps(RUN24, indent=indent)), questions=topics)
    assert (result.format, result.rejections) == ("biogen-2024", ())
    first, second = result.records
    assert (first.id, first.topic, first.system) == ("t/r/116", "116", "t/r")
    assert first.question == "Q116?"
    assert first.answer == "S1 [111, 222, 333]. S2 [111]."
    assert first.metadata == {
        "uncut_answer": "S1 [111,222, 333,444]. S2 [111].",
        "contact_email": "a@b.c",
    }
    assert second.metadata == {"references": '["9"]', "contact_email": "a@b.c"}


def test_bad_results_of_a_biogen_2024_run_are_named_with_their_line(write, topics):
    results = [
        *RUN24["results"],
        {"topic_id": 118, "answer": "A"},
        {"topic_id": 116, "answer": 3},
        {"topic_id": 116, "answer": "again"},
    ]
    text = json.dumps({**RUN24, "results": results}, indent=0)
    result = read_records(write(text), questions=topics)
    assert [record.topic for record in result.records] == ["116", "117"]
    assert [one.field for one in result.rejections] == [
        "results.2.topic_id",
        "results.3.answer",
        "results.4",
    ]
    lines = text.splitlines()
    assert all(lines[one.line - 1] == "{" for one in result.rejections)


def test_a_biogen_2024_run_without_a_name_or_topics_names_the_mend(write, topics):
    (rejection,) = read_records(write({**RUN24, "results": RUN24["results"][:1]})).rejections
    assert "questions file" in rejection.expected
    nameless = {**RUN24, "run_name": None}
    rejections = read_records(write(nameless), questions=topics).rejections
    assert len(rejections) == 2
    assert "run_name of the run" in rejections[0].problem


@pytest.mark.parametrize(
    "wild",
    [
        json.dumps(TASK_A),
        json.dumps([TASK_A], indent=2).replace('"111"', "111"),
        json.dumps(TASK_A).replace('"metadata"', '"meta_data"'),
        json.dumps(TASK_A).replace("contradicted", "contradicting"),
    ],
)
def test_a_biogen_2025_task_a_answer_becomes_a_record(write, wild):
    result = read_records(write(wild))
    assert (result.format, result.rejections) == ("biogen-2025-a", ())
    (record,) = result.records
    assert (record.id, record.topic, record.system) == ("t/r/116", "116", "t/r")
    assert record.answer == (
        SentenceInput(text="S1.", citations=("111", "222")),
        SentenceInput(text="S2."),
    )
    assert record.metadata == {
        "contradicted_citations": '[["333"], []]',
        "metadata.existing_supported_citations": "[1, 2]",
        "answer.1.existing_supported_citations": '["5"]',
    }


@each_case(
    ("row", "change", "field", "problem"),
    [
        (RAG24, {"answer": "text"}, "answer", "the text"),
        (RAG24, {"answer": [{"text": "S", "citations": [None]}]}, "answer.0.citations.0", "null"),
        (RAG24, {"answer": [{"text": "S", "citations": [1.5]}]}, "answer.0.citations.0", "1.5"),
        (RAG24, {"references": ["", "x"]}, "references.0", "empty id"),
        (RAG24, {"response_length": "3"}, "response_length", "the text"),
        (RAG24, {"run_id": {}}, "run_id", "an empty object"),
        (RAG25, {"metadata": {"team_id": "t", "narrative_id": 1}}, "metadata.run_id", "missing"),
        (RAG25, {"references": "d1"}, "references", "the text"),
        (TASK_A, {"answer": [{"text": "S", "supported_citations": [1, 2, 3, 4]}]},
         "answer.0.supported_citations", "4 entries"),
        (TASK_A, {"answer": [{"text": "S", "contradicted_citations": [True]}]},
         "answer.0.contradicted_citations.0", "true"),
        (TASK_A, {"metadata": {"qa_id": "1", "team_id": "t", "run_id": "r"}},
         "metadata.question", "not in the file"),
    ],
)  # fmt: skip
def test_an_answer_that_does_not_fit_is_rejected(write, row, change, field, problem):
    result = read_records(write(row, {**row, **change}))
    assert len(result.records) == 1
    (rejection,) = result.rejections
    assert (rejection.line, rejection.field) == (2, field)
    assert problem in rejection.problem


PLAIN = Record(id="a", question="Q", answer="A [1].", system="t/r", topic="1")
CITING = PLAIN.model_copy(
    update={
        "sources": (Document(id="111", text="T1"), Document(id="222", text="T2")),
        "answer": (
            SentenceInput(text="S1.", citations=("1", "333")),
            SentenceInput(text='He said "S2."', citations=("222",)),
            SentenceInput(text="S3 [111].", citations=("111",)),
            SentenceInput(text="Loose", citations=("222",)),
        ),
    }
)


def test_sentences_become_biogen_2024_text_with_pmids_before_the_stop(tmp_path):
    path = tmp_path / "run.json"
    result = write_answers([CITING], path, "biogen-2024")
    (row,) = json.loads(path.read_text())["results"]
    assert row["answer"] == ('S1 [111, 333]. He said "S2 [222]." S3 [111]. Loose [222]')
    assert row["references"] == ["111", "333", "222"]
    assert result.left_out == {"id": 1, "answer": 1, "sources": 1}


def test_positions_in_a_text_become_pmids_in_biogen_2024(tmp_path):
    path = tmp_path / "run.json"
    write_answers([CITING.model_copy(update={"answer": "A [1, 2]. B [5]."})], path, "biogen-2024")
    assert json.loads(path.read_text())["results"][0]["answer"] == "A [111, 222]. B [5]."


def test_what_a_format_has_no_room_for_is_counted(tmp_path):
    full = CITING.model_copy(
        update={"id": "t/r/1", "reference": "R", "date": "2024", "metadata": {"a": "b"}}
    )
    result = write_answers([full], tmp_path / "run.jsonl", "trec-rag-2025")
    assert result.left_out == {"sources": 1, "reference": 1, "date": 1}
    result = write_answers([full], tmp_path / "create.jsonl", "nuggetizer-create")
    assert result.left_out == {"id": 1, "answer": 1, "reference": 1, "system": 1, "date": 1}


def test_answers_to_one_topic_become_one_question_for_the_nuggetizer(tmp_path):
    other = PLAIN.model_copy(update={"id": "b", "sources": (Document(id="x", text="T"),)})
    path = tmp_path / "create.jsonl"
    assert write_answers([CITING, other], path, "nuggetizer-create").n_records == 1
    (record,) = read_records(path).records
    assert [source.id for source in record.sources] == ["111", "222", "x"]
    differing = other.model_copy(update={"sources": (Document(id="111", text="else"),)})
    with pytest.raises(InputError, match="the text of '111' differs"):
        write_answers([CITING, differing], path, "nuggetizer-create")
    with pytest.raises(InputError, match="the question differs from that of another"):
        write_answers(
            [CITING, other.model_copy(update={"question": "else"})], path, "nuggetizer-create"
        )


@each_case(
    ("form", "change", "message"),
    [
        ("trec-rag-2024", {"system": None}, "the name of the run"),
        ("trec-rag-2024", {"answer": "plain"}, "sentences with citations"),
        ("trec-rag-2025", {"system": "run"}, "team_id/run_id"),
        ("trec-rag-2025", {"question": ""}, "metadata.narrative"),
        ("biogen-2024", {"system": "run"}, "team_id/run_id"),
        ("biogen-2024", {"answer": (SentenceInput(text="S", citations=("x",)),)}, "not a PMID"),
        ("biogen-2024", {"answer": (SentenceInput(text="S", citations=tuple("1234")),)},
         "4 citations"),
        ("biogen-2025-a", {"metadata": {"contradicted_citations": "[1]"}}, "for each sentence"),
        ("biogen-2025-a", {"metadata": {"contradicted_citations": "x"}}, "not a list with an"),
        ("biogen-2025-a", {"metadata": {"contradicted_citations": '[[1,2,3,4],[],[],[]]'}},
         "4 entries"),
        ("biogen-2025-b", {"topic": " "}, "empty id"),
        ("biogen-2025-b", {"system": None}, "team_id/run_id"),
        ("biogen-2025-b", {"system": "gpt"}, "team_id/run_id"),
        ("biogen-2025-b", {"answer": "plain"}, "sentences with citations"),
        ("biogen-2025-b", {"answer": (SentenceInput(text="S", citations=tuple("1234")),)},
         "at most 3"),
        ("biogen-2025-b", {"question": ""}, "question"),
    ],
)  # fmt: skip
def test_a_record_that_does_not_fit_is_refused_by_name(tmp_path, form, change, message):
    path = tmp_path / "run.jsonl"
    with pytest.raises(InputError, match=message) as caught:
        write_answers([CITING.model_copy(update={"sources": (), **change})], path, form)
    assert "record 'a'" in str(caught.value)
    assert not path.exists()


def test_a_biogen_2024_file_is_one_run_and_not_empty(tmp_path):
    other = CITING.model_copy(update={"id": "b", "topic": "2", "system": "t/other"})
    with pytest.raises(InputError, match="a different run"):
        write_answers([CITING, other], tmp_path / "run.json", "biogen-2024")
    with pytest.raises(InputError, match="at least one answer"):
        write_answers([], tmp_path / "run.json", "biogen-2024")


def test_a_format_is_chosen_by_name(tmp_path):
    for form in WRITABLE_FORMATS:
        assert write_answers([CITING], tmp_path / "out", form).n_records == 1
        found = read_records(tmp_path / "out", questions=None) if form != "biogen-2024" else None
        assert found is None or (found.format, found.rejections) == (form, ())
    with pytest.raises(InputError, match="choose one of ragassay"):
        write_answers([CITING], tmp_path / "out", "bibtex")


def test_a_listed_number_that_is_an_id_is_written_as_that_id(tmp_path):
    sources = tuple(Document(id=name, text="T") for name in ("2", "1", "31452104"))
    record = Record(
        id="r",
        question="Q?",
        answer=(SentenceInput(text="It grew.", citations=("1", "3")),),
        sources=sources,
        system="team/run",
    )
    write_answers([record], tmp_path / "run.jsonl", "biogen-2025-b")
    (response,) = json.loads((tmp_path / "run.jsonl").read_text())["responses"]
    assert response["citations"] == ["1", "31452104"]
