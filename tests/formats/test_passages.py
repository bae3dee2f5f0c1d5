"""Several passages of one document among the sources: distinct ids, checked together."""

from __future__ import annotations

import pytest
from case_tables import each_case

from ragassay.evaluators.comparing import find_cited_sources
from ragassay.formats import read_records, read_records_from_rows, write_answers
from ragassay.formats.rows import assign_document_ids, restore_id
from ragassay.records import Citation, Document, Record, SentenceInput

FIRST = Document(id="31", text="One.", part_of="31")
SECOND = Document(id="31#2", text="Two.", part_of="31")
OTHER = Document(id="8", text="Three.")
CHUNKS = [{"id": 31, "text": "One."}, {"id": "8", "text": "Three."}, {"id": "31", "text": "Two."}]


def test_a_repeated_id_is_two_passages_of_one_document():
    for name in ("sources", "contexts", "passages"):
        (record,) = read_records_from_rows(
            [{"question": "Q?", "answer": "A.", name: CHUNKS}]
        ).records
        assert record.sources == (FIRST, OTHER, SECOND)


def test_a_position_is_no_document():
    given = [Document(id="1", text="a"), Document(id="2", text="b"), Document(id="1", text="c")]
    made = assign_document_ids(given, [False, False, True])
    assert [(one.id, one.part_of) for one in made] == [("1#2", ""), ("2", ""), ("1", "")]


@each_case(
    ("marker", "document", "sources"),
    [
        ("PMID 31", "31", (FIRST, SECOND)),
        ("PMID: 31", "31", (FIRST, SECOND)),
        ("31", "31", (FIRST, SECOND)),
        ("https://pubmed.ncbi.nlm.nih.gov/31/", "31", (FIRST, SECOND)),
        ("Smith et al., 2020", "31", (FIRST, SECOND)),
        ("1", "31", (FIRST,)),
        ("doc1", "31", (FIRST,)),
        ("3", "31#2", (SECOND,)),
        ("31#2", "31#2", (SECOND,)),
        ("2", "8", (OTHER,)),
        ("PMID 8", "8", (OTHER,)),
        ("9", None, ()),
    ],
)
def test_an_id_means_all_passages_and_a_position_one(marker, document, sources):
    citation = Citation(marker=marker, document=document)
    assert find_cited_sources(citation, (FIRST, OTHER, SECOND)) == sources


def test_an_id_of_the_users_is_no_copy():
    given = Document(id="31#2", text="T")
    assert restore_id(given) == "31#2"
    assert restore_id(Document(id="31-b", text="T", part_of="31")) == "31-b"
    assert restore_id(SECOND) == restore_id(FIRST) == "31"


RECORD = Record(
    id="a",
    question="Q?",
    answer=(SentenceInput(text="Two.", citations=("31#2", "31")),),
    sources=(FIRST, OTHER, SECOND),
    system="t/r",
    topic="1",
)


def test_our_own_format_has_the_original_ids_and_comes_back(tmp_path):
    path = tmp_path / "out.jsonl"
    assert write_answers([RECORD], path, "ragassay").left_out == {}
    assert "#2" not in path.read_text().replace('"31#2"]', "").replace('"31#2", "31"', "")
    assert read_records(path).records == (RECORD,)
    named = RECORD.model_copy(
        update={"sources": (Document(id="d-1", text="x", part_of="d"), OTHER), "answer": "A."}
    )
    write_answers([named], path, "ragassay")
    assert read_records(path).records == (named,)


@pytest.mark.parametrize(
    "form", ["ragas", "nuggetizer-create", "trec-rag-2024", "trec-rag-2025", "biogen-2025-b"]
)
def test_other_formats_get_the_original_ids(form, tmp_path):
    path = tmp_path / "out.jsonl"
    record = RECORD if form != "ragas" else RECORD.model_copy(update={"answer": "Two."})
    write_answers([record], path, form)
    assert "31#2" not in path.read_text()
    assert '"31"' in path.read_text()
