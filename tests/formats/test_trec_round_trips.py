"""Runs that are written are read back as equal records, whatever their text holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ragassay.errors import InputError
from ragassay.formats import (
    read_records,
    write_biogen_2024,
    write_biogen_2025_a,
    write_biogen_2025_b,
    write_create_input,
    write_trec_rag_2024,
    write_trec_rag_2025,
)
from ragassay.records import Document, Record, SentenceInput

TEXT = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"], exclude_characters="\x00"),
        st.sampled_from('\n\r\u2028\ufeff"\\[]{}.'),
    ),
    max_size=12,
)
IDS = TEXT.filter(str.strip)
NAMES = IDS.filter(lambda name: "/" not in name)
CITED = st.one_of(IDS, st.sampled_from(["references[7]", "references[0]", "1", "31452104"]))
SENTENCES = st.lists(
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
        answer=SENTENCES,
        system=system,
        metadata=METADATA,
    )


TEAMS = st.builds("{}/{}".format, NAMES, IDS)
SETTINGS = settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)


def assert_nothing_lost(path: Path, record: Record, write) -> None:
    try:
        result = write([record], path)
    except InputError as error:
        assert "its citations would be read back as others" in str(error)
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
@given(records(IDS))
def test_trec_rag_2024(tmp_path: Path, record: Record):
    record = record.model_copy(update={"id": f"{record.system}/{record.topic}"})
    assert_nothing_lost(tmp_path / "run", record, write_trec_rag_2024)


@SETTINGS
@given(records(TEAMS))
def test_runs_of_teams(tmp_path: Path, record: Record):
    record = record.model_copy(update={"id": f"{record.system}/{record.topic}"})
    for write in (write_trec_rag_2025, write_biogen_2025_a, write_biogen_2025_b):
        assert_nothing_lost(tmp_path / "run", record, write)


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
    result = write_biogen_2024([record], path)
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
    assert write_create_input([record], tmp_path / "create").left_out == {}
    assert read_records(tmp_path / "create").records == (record,)


@pytest.mark.parametrize("write", [write_trec_rag_2024, write_trec_rag_2025])
def test_a_position_that_would_point_to_another_reference_is_refused(tmp_path: Path, write):
    sentence = SentenceInput(text="S", citations=("a", "references[0]"))
    record = Record(id="t/r/1", topic="1", question="Q", answer=(sentence,), system="t/r")
    with pytest.raises(InputError, match="read back as others"):
        write([record], tmp_path / "run")
