"""What is read for a passage."""

from __future__ import annotations

import pytest

from ragassay.evaluators.comparing import Read, read_of
from ragassay.evaluators.toolbox import Toolbox
from ragassay.graphs.files import case_of
from ragassay.records import Document, EvidenceSpan, Record
from ragassay.retrievers.memory import Corpus
from ragassay.settings import load_settings

WHOLE = "Alpha was tried in 300 adults. It lowers pressure. It was safe. Nobody left."
SOURCES = (Document(id="a", text=WHOLE, title="Alpha"), Document(id="b", text="Beta.", title="B"))
CASE = case_of(
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
    tools = Toolbox.of(load_settings(signals=False, only=("citations",), **settings))
    assert read_of(passage(document), CASE.sentences[sentence - 1], CASE, tools) == read
