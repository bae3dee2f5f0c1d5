"""Runs of TREC RAG and BioGen, and input of the nuggetizer, as they are written and read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from case_tables import each_case
from format_samples import IDS, TEXT
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from ragassay.errors import InputError
from ragassay.formats import (
    read_records,
    write_answers,
)
from ragassay.formats.write import WRITABLE_FORMATS
from ragassay.records import Document, Record, SentenceInput

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


RUN = Record(id="a", question="Q", answer=(SentenceInput(text="S"),), system="t/r", topic="1")


def test_biogen_citations_by_position_become_document_ids(tmp_path: Path):
    record = RUN.model_copy(
        update={
            "sources": (Document(id="31452104", text="T"),),
            "answer": (SentenceInput(text="S", citations=("1", "999")),),
        }
    )
    path = tmp_path / "run.jsonl"
    write_answers([record], path, "biogen-2025-b")
    assert json.loads(path.read_text()) == {
        "metadata": {"team_id": "t", "run_id": "r", "topic_id": "1", "question": "Q"},
        "responses": [{"text": "S", "citations": ["31452104", "999"]}],
    }


DOCUMENT = st.builds(Document, id=IDS, text=TEXT, title=TEXT)
NAMES = IDS.filter(lambda name: "/" not in name)
CITED = st.one_of(IDS, st.sampled_from(["references[7]", "references[0]", "1", "31452104"]))
CITING_SENTENCES = st.lists(
    st.builds(SentenceInput, text=TEXT, citations=st.lists(CITED, max_size=3)), max_size=3
)
METADATA = st.dictionaries(
    st.one_of(TEXT, st.sampled_from(["metadata.type", "answer.0.x", "responses.0.x", "metadata"])),
    st.one_of(TEXT, st.sampled_from(["1", "1.0", "[1]", '{"a": null}', "true", "null", "NaN"])),
    max_size=3,
)


def records(system):
    return st.builds(
        lambda topic, **fields: Record(id="-", topic=topic, **fields),
        topic=IDS,
        question=TEXT.filter(bool),
        answer=CITING_SENTENCES,
        system=system,
        metadata=METADATA,
    )


TEAMS = st.builds("{}/{}".format, NAMES, IDS)
SETTINGS = settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)


def assert_nothing_lost(path: Path, record: Record, form: str) -> None:
    try:
        result = write_answers([record], path, form)
    except InputError as error:
        assert "the citations would be read back as different citations" in str(error)
        assume(False)
        return
    found = read_records(path)
    assert found.rejections == ()
    changed = {
        name
        for name in Record.model_fields
        if getattr(record, name) != getattr(found.records[0], name)
    }
    assert changed == set(result.left_out)
    assert changed <= {"metadata"}, "all but metadata with names of the format's own fields"


@SETTINGS
@given(records(TEAMS))
@example(RUN.model_copy(update={"metadata": {"is_ragtime": "", "note": "kept"}}))
@example(RUN.model_copy(update={"metadata": {"documents": "", "metadata.task": "x"}}))
@example(RUN.model_copy(update={"metadata": {"metadata.narrative_id": "1"}}))
def test_runs(tmp_path: Path, record: Record):
    record = record.model_copy(update={"id": f"{record.system}/{record.topic}"})
    for form in ("trec-rag-2024", "trec-rag-2025", "biogen-2025-a", "biogen-2025-b"):
        assert_nothing_lost(tmp_path / "run", record, form)


@SETTINGS
@given(st.lists(st.integers(0, 10**17), max_size=6), records(TEAMS), TEXT)
def test_biogen_2024(tmp_path: Path, pmids: list[int], record: Record, email: str):
    listed = ", ".join(str(pmid) for pmid in pmids[:3])
    answer = f"{record.question} [{listed}]" if listed else record.question
    metadata = {"contact_email": email} if email else {}
    if pmids[3:]:
        metadata["references"] = json.dumps([str(pmid) for pmid in dict.fromkeys(pmids)])
    record = record.model_copy(
        update={"id": f"{record.system}/{record.topic}", "answer": answer, "metadata": metadata}
    )
    path, topics = tmp_path / "run", tmp_path / "topics"
    topics.write_text(json.dumps({record.topic: record.question}))
    assume(record.topic not in ("topics",))
    result = write_answers([record], path, "biogen-2024")
    (again,) = read_records(path, questions=topics).records
    if "[" not in record.question:
        assert result.left_out == ({} if again == record else {"metadata": 1})
        assert again.model_copy(update={"metadata": {}}) == record.model_copy(
            update={"metadata": {}}
        )


@SETTINGS
@given(IDS, TEXT, st.lists(DOCUMENT, max_size=3, unique_by=lambda one: one.id))
def test_nuggetizer_input(tmp_path: Path, topic: str, question: str, sources: list[Document]):
    record = Record(id=topic, topic=topic, question=question, answer="", sources=tuple(sources))
    assert write_answers([record], tmp_path / "create", "nuggetizer-create").left_out == {}
    assert read_records(tmp_path / "create").records == (record,)


@pytest.mark.parametrize("form", ["trec-rag-2024", "trec-rag-2025"])
def test_a_position_that_would_point_to_another_reference_is_refused(tmp_path: Path, form):
    sentence = SentenceInput(text="S", citations=("a", "references[0]"))
    record = Record(id="t/r/1", topic="1", question="Q", answer=(sentence,), system="t/r")
    with pytest.raises(InputError, match="read back as different citations"):
        write_answers([record], tmp_path / "run", form)
