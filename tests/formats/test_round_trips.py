"""What is written is read back."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from ragassay.errors import InputError
from ragassay.formats import read_records, write_answers, write_records
from ragassay.records import Document, Nugget, Record, SentenceInput

TEXT = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"], exclude_characters="\x00"),
        st.sampled_from('\n\r\u2028\ufeff"\\[]{}.'),
    ),
    max_size=12,
)
IDS = TEXT.filter(str.strip)
SENTENCES = st.builds(SentenceInput, text=TEXT, citations=st.lists(IDS, max_size=3).map(tuple))
RECORDS = st.builds(
    Record,
    id=IDS,
    question=TEXT,
    answer=TEXT | st.lists(SENTENCES, max_size=3).map(tuple),
    sources=st.lists(
        st.builds(Document, id=IDS, text=TEXT, title=TEXT), max_size=3, unique_by=lambda d: d.id
    ).map(tuple),
    nuggets=st.lists(
        st.builds(
            Nugget,
            text=TEXT.filter(bool),
            importance=st.sampled_from(["vital", "okay", None]),
            origin=st.sampled_from(["gold", "answer", "reference"]),
            method=st.sampled_from(["given", "model", "extractive"]),
            sentence=st.none() | st.integers(1, 9),
        ),
        max_size=2,
    ).map(tuple),
    reference=st.none() | TEXT,
    system=st.none() | TEXT,
    topic=st.none() | IDS,
    metadata=st.dictionaries(TEXT, TEXT, max_size=2),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(RECORDS, min_size=1, max_size=4, unique_by=lambda record: record.id))
def test_ragassay_json_lines_lose_nothing(tmp_path: Path, records: list[Record]):
    path = tmp_path / "records.jsonl"
    write_records(records, path)
    result = read_records(path)
    assert result.rejections == ()
    assert result.records == tuple(records)


RECORD = Record(id="a", question="Q", answer="A")
RUN = Record(id="a", question="Q", answer=(SentenceInput(text="S"),), system="t/r", topic="1")


def test_a_packed_file_is_gzip_and_the_same_each_time(tmp_path: Path):
    first, second = tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl.gz"
    write_records([RECORD], first)
    write_records([RECORD], second)
    assert first.read_bytes() == second.read_bytes()
    assert json.loads(gzip.decompress(first.read_bytes())) == {
        "id": "a",
        "question": "Q",
        "answer": "A",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": " "}, "empty id"),
        ({"answer": "\ud800"}, "answer: found text with a lone surrogate"),
        ({"question": "\x00"}, "NUL"),
    ],
)
def test_a_record_that_could_not_be_read_back_is_refused(tmp_path: Path, change, message):
    path = tmp_path / "records.jsonl"
    path.write_text("before")
    # Pydantic itself refuses half characters; a record may still hold one by way of a copy.
    with pytest.raises(InputError, match=message):
        write_records([RECORD, RECORD.model_copy(update={"id": "b", **change})], path)
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["records.jsonl"]


def test_two_records_with_one_id_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="already appeared"):
        write_records([RECORD, RECORD], tmp_path / "records.jsonl")


def test_a_place_that_cannot_be_written_is_an_input_error(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be written"):
        write_records([RECORD], tmp_path / "nowhere" / "records.jsonl")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_records([RECORD], tmp_path / "folder")


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


NAMES = IDS.filter(lambda name: "/" not in name)
CITED = st.one_of(IDS, st.sampled_from(["references[7]", "references[0]", "1", "31452104"]))
CITING_SENTENCES = st.lists(
    st.builds(SentenceInput, text=TEXT, citations=st.lists(CITED, max_size=3).map(tuple)),
    max_size=3,
).map(tuple)
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
@given(
    IDS,
    TEXT,
    st.lists(
        st.builds(Document, id=IDS, text=TEXT, title=TEXT), max_size=3, unique_by=lambda d: d.id
    ),
)
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
