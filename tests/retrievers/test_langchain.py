"""LangChain's retrievers and ours, in both directions."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever

from ragassay.errors import InputError
from ragassay.records import Article
from ragassay.retrievers.langchain import LiteratureRetriever, RetrieverLiterature
from ragassay.retrievers.literature import Filters, Literature
from ragassay.retrievers.memory import Corpus

ARTICLES = (
    Article(id="10001", title="One", text="Aspirin relieved pain.", published="2019"),
    Article(id="10002", text="Aspirin again.", published="2021"),
)


class Fixed(BaseRetriever):
    """Returns what it was given."""

    documents: list[LangChainDocument]

    def _get_relevant_documents(self, query: str, *, run_manager) -> list[LangChainDocument]:
        return self.documents


async def test_a_corpus_is_a_langchain_retriever_also_in_a_running_loop() -> None:
    retriever = LiteratureRetriever(literature=Corpus(ARTICLES), filters=Filters(until="2020"))
    (found,) = retriever.invoke("aspirin")
    assert found.id == "10001"
    assert found.page_content == "Aspirin relieved pain."
    assert found.metadata["title"] == "One"
    assert found.metadata["published"] == "2019"
    assert await retriever.ainvoke("aspirin") == [found]


def test_a_users_retriever_stands_in_for_a_corpus() -> None:
    documents = [
        LangChainDocument(id="1", page_content="a", metadata={"title": "A"}),
        LangChainDocument(page_content="b", metadata={"pmid": 12345}),
        LangChainDocument(page_content="c"),
    ]
    literature = RetrieverLiterature(Fixed(documents=documents))
    assert isinstance(literature, Literature)
    hits = literature.search("anything", 3)
    assert [(h.document.text, h.document.title) for h in hits] == [("a", "A"), ("b", ""), ("c", "")]
    assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
    assert literature.get("PMID 12345") == hits[1].document
    assert literature.get(hits[2].document.id) == hits[2].document
    assert literature.get("777") is None
    assert len(literature.search("x", 1)) == 1


def test_what_it_cannot_do_it_says() -> None:
    with pytest.raises(InputError, match="cannot filter"):
        RetrieverLiterature(Fixed(documents=[])).search("x", 1, Filters(since="2020"))


def test_verdicts_of_another_version_are_not_taken_over() -> None:
    retriever = Fixed(documents=[])
    first, second = (RetrieverLiterature(retriever, version).sha256 for version in ("1", "2"))
    assert first != second


def test_both_ways_round_gives_the_same_documents() -> None:
    there = LiteratureRetriever(literature=Corpus(ARTICLES))
    back = RetrieverLiterature(there).search("aspirin")
    assert {h.document.id for h in back} == {a.id for a in ARTICLES}
