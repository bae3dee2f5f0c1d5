"""Evidence: a corpus, the best passage for a claim, the LangChain retriever."""

from __future__ import annotations

import numpy as np

from ragassay.records import Document
from ragassay.retrievers.evidence import find_best_passages
from ragassay.retrievers.literature import Corpus
from ragassay.text.search import tokenize

VOCABULARY = ("pain", "fell", "sleep", "rose", "drug")
DOCUMENTS = (
    Document(id="1", text="Pain fell. It was seen. All of it. Sleep rose.", title="Drug A"),
    Document(id="2", text="Sleep rose.", title="Other"),
    Document(id="3", text="", title="Pain"),
)


class WordEmbedder:
    """Unit vectors of word counts; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def encode(self, texts):
        self.asked.append(list(texts))
        counts = [[tokenize(text).count(word) for word in VOCABULARY] for text in texts]
        rows = np.array(counts, dtype=np.float32).reshape(len(texts), len(VOCABULARY))
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def test_corpus_search_returns_only_what_shares_a_word():
    corpus = Corpus(DOCUMENTS)
    assert [h.document.id for h in corpus.search("pain")] == ["3", "1"]
    assert [h.document.id for h in corpus.search("sleep", 1)] == ["2"]
    assert corpus.search("glucose") == corpus.search("") == Corpus().search("pain") == []


def test_corpus_is_known_by_its_content():
    assert Corpus(DOCUMENTS).sha256 == Corpus(list(DOCUMENTS)).sha256
    assert Corpus(DOCUMENTS).sha256 != Corpus(DOCUMENTS[::-1]).sha256
    assert Corpus().sha256 != Corpus(DOCUMENTS).sha256


def test_best_passage_worked_by_hand():
    # The first passage of document 1 counts pain 1, fell 1; the second none of the two, and
    # sleep 1, rose 1. The claim "pain fell" has cosine 1 with the first, 0 with the other two.
    (found,) = find_best_passages(["Pain fell"], [DOCUMENTS], WordEmbedder())
    assert (found.document, found.relevance_score) == ("1", 1.0)
    assert found.text == "Pain fell. It was seen. All of it."
    assert DOCUMENTS[0].text[found.start : found.end] == found.text


def test_each_claim_looks_at_its_own_documents():
    found = find_best_passages(
        ["Pain fell", "Sleep rose", "Pain", ""],
        [[DOCUMENTS[1]], DOCUMENTS, [DOCUMENTS[2]], DOCUMENTS],
        WordEmbedder(),
    )
    assert [span and (span.document, span.relevance_score) for span in found] == [
        ("2", 0.0),
        # Both passages with "Sleep rose." tie: the one that comes first.
        ("1", 1.0),
        None,
        None,
    ]


def test_texts_are_embedded_once():
    embedder = WordEmbedder()
    find_best_passages(["Pain", "Sleep"], [DOCUMENTS, DOCUMENTS], embedder)
    texts, claims = embedder.asked
    assert len(texts) == len(set(texts)) == 3
    assert claims == ["Pain", "Sleep"]
    assert find_best_passages([], [], WordEmbedder()) == []
