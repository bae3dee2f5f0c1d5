"""What is read for a passage."""

from __future__ import annotations

import pytest

from ragassay.evaluators.build_run import build_run
from ragassay.evaluators.comparing import Read, choose_compared_text
from ragassay.graphs.case import convert_to_case
from ragassay.graphs.passage_choice import find_cited_spans
from ragassay.records import Document, EvidenceSpan, Record
from ragassay.retrievers.literature import Corpus
from ragassay.settings import load_settings

WHOLE = "Alpha was tried in 300 adults. It lowers pressure. It was safe. Nobody left."
SOURCES = (Document(id="a", text=WHOLE, title="Alpha"), Document(id="b", text="Beta.", title="B"))
CASE = convert_to_case(
    Record(
        id="1", question="q?", answer="Alpha lowers pressure [1, 2]. It is new.", sources=SOURCES
    ),
    load_settings(signals=False),
    Corpus(),
)


def passage(document: str) -> EvidenceSpan:
    return EvidenceSpan(document=document, start=0, end=19, text="It lowers pressure.")


@pytest.mark.parametrize(
    ("settings", "document", "sentence", "read"),
    [
        ({}, "a", 1, Read(WHOLE, ("B\nBeta.",))),
        ({}, "a", 2, Read(WHOLE, ())),
        # Of a document that only the search found no more than the passage is at hand.
        ({}, "elsewhere", 1, Read("It lowers pressure.")),
        ({"citation_evidence": "sentence"}, "a", 1, Read("It lowers pressure.")),
        ({"model": "openai/a", "verifier": "judge"}, "a", 1, Read("It lowers pressure.")),
    ],
)
def test_an_encoder_reads_all_of_a_document_that_is_at_hand(settings, document, sentence, read):
    run = build_run(load_settings(signals=False, only=("citations",), **settings))
    assert choose_compared_text(passage(document), CASE.sentences[sentence - 1], CASE, run) == read


PASSAGES = (
    Document(id="31", text="It lowers pressure.", title="Alpha", part_of="31"),
    Document(id="8", text="Beta.", title="B"),
    Document(id="31#2", text="Nobody left.", title="Alpha", part_of="31"),
)
BOTH = "It lowers pressure.\n\nNobody left."


@pytest.mark.parametrize(
    ("answer", "document", "read"),
    [
        ("Alpha lowers pressure [PMID 31].", "31", Read(BOTH, ())),
        ("Alpha lowers pressure [PMID 31].", "31#2", Read(BOTH, ())),
        ("Alpha lowers pressure [PMID 31, PMID 8].", "31#2", Read(BOTH, ("B\nBeta.",))),
        ("Alpha lowers pressure [3].", "31#2", Read("Nobody left.", ())),
        ("Alpha lowers pressure [1].", "31", Read("It lowers pressure.", ())),
        ("Alpha lowers pressure [1][2].", "31", Read("It lowers pressure.", ("B\nBeta.",))),
        ("Alpha lowers pressure.", "31#2", Read("Nobody left.", ())),
    ],
)
def test_a_document_that_is_cited_by_its_id_is_read_with_all_its_passages(answer, document, read):
    settings = load_settings(signals=False, only=("citations",))
    record = Record(id="1", question="q?", answer=answer, sources=PASSAGES)
    case = convert_to_case(record, settings, Corpus())
    run = build_run(settings)
    assert choose_compared_text(passage(document), case.sentences[0], case, run) == read


@pytest.mark.parametrize("evidence", ["passage", "sentence", "document"])
def test_the_closest_of_all_passages_is_compared(evidence):
    options = {"citation_evidence": evidence, "evidence_threshold": 0.0}
    settings = load_settings(signals=False, only=("citations",), **options)
    run = build_run(settings)
    answer = "Nobody left the trial [PMID 31]. Nobody left the trial [1]."
    record = Record(id="1", question="q?", answer=answer, sources=PASSAGES)
    by_id, by_position = find_cited_spans(convert_to_case(record, settings, Corpus()), run)
    assert by_position.passage.text == "It lowers pressure."
    if evidence == "document":
        assert by_id.passage.text == BOTH
    else:
        assert (by_id.passage.document, by_id.passage.text) == ("31#2", "Nobody left.")
