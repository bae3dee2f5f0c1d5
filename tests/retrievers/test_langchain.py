"""LangChain's retrievers and ours, in both directions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing

import pytest
from corpora import add_to_corpus
from fakes import WordEmbedder
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever

from ragassay.errors import InputError
from ragassay.records import Article
from ragassay.retrievers.dense.embed import embed_corpus
from ragassay.retrievers.dense.index import DenseIndex
from ragassay.retrievers.langchain import LiteratureRetriever, RetrieverLiterature
from ragassay.retrievers.literature import Corpus, Filters, Literature
from ragassay.retrievers.opening import DenseCorpus, HybridCorpus
from ragassay.retrievers.reranked_literature import RerankedLiterature
from ragassay.retrievers.rerankers import EmbeddedReranker

ARTICLES = (
    Article(id="10001", title="One", text="Aspirin relieved pain.", published="2019"),
    Article(id="10002", text="Aspirin again.", published="2021"),
)


class Fixed(BaseRetriever):
    """Returns what it was given."""

    documents: list[LangChainDocument]

    def _get_relevant_documents(self, query: str, *, run_manager) -> list[LangChainDocument]:
        return self.documents


async def test_a_corpus_is_a_langchain_retriever_also_in_a_running_loop():
    retriever = LiteratureRetriever(literature=Corpus(ARTICLES), filters=Filters(until="2020"))
    (found,) = retriever.invoke("aspirin")
    assert found.id == "10001"
    assert found.page_content == "Aspirin relieved pain."
    assert found.metadata["title"] == "One"
    assert found.metadata["published"] == "2019"
    assert await retriever.ainvoke("aspirin") == [found]


def test_a_users_retriever_stands_in_for_a_corpus():
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


def test_what_it_cannot_do_it_says_and_another_version_has_another_hash():
    retriever = Fixed(documents=[])
    with pytest.raises(InputError, match="does not support filters"):
        RetrieverLiterature(retriever).search("x", 1, Filters(since="2020"))
    first, second = (RetrieverLiterature(retriever, version) for version in ("1", "2"))
    assert first.sha256 != second.sha256


def test_both_ways_round_gives_the_same_documents():
    there = LiteratureRetriever(literature=Corpus(ARTICLES))
    back = RetrieverLiterature(there).search("aspirin")
    assert {h.document.id for h in back} == {a.id for a in ARTICLES}


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> Iterator[dict[str, Literature]]:
    disk = add_to_corpus(tmp_path_factory.mktemp("langchain"), *ARTICLES)
    embed_corpus(disk, WordEmbedder())
    with closing(DenseIndex(disk, WordEmbedder())) as index:
        dense = DenseCorpus(disk, index)
        hybrid = HybridCorpus(disk, dense)
        reranked = RerankedLiterature(hybrid, EmbeddedReranker(WordEmbedder()), "embedded")
        yield {"disk": disk, "dense": dense, "hybrid": hybrid, "reranked": reranked}


@pytest.mark.parametrize("kind", ["disk", "dense", "hybrid", "reranked"])
async def test_every_corpus_is_an_async_retriever_of_many_queries_at_once(places, kind):
    place = places[kind]
    retriever = LiteratureRetriever(literature=place, k=2)
    queries = ["aspirin", "relieved pain", "again", "pain"] * 5
    expected = [[hit.document.id for hit in place.search(query, 2)] for query in queries]
    batched = await retriever.abatch(queries)
    gathered = await asyncio.gather(*(retriever.ainvoke(query) for query in queries))
    for found in (batched, gathered, retriever.batch(queries)):
        assert [[document.id for document in documents] for documents in found] == expected
    scores = [[document.metadata["score"] for document in documents] for documents in batched]
    assert all(row == sorted(row, reverse=True) for row in scores)
