"""LangChain's retrievers and ours, in both directions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from fakes import WordEmbedder
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever

from ragassay.errors import InputError
from ragassay.records import Article
from ragassay.retrievers.dense.embed import embed_corpus
from ragassay.retrievers.dense.index import DenseIndex
from ragassay.retrievers.disk.build import build_corpus
from ragassay.retrievers.disk.corpus import DiskCorpus
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
    with pytest.raises(InputError, match="does not support filters"):
        RetrieverLiterature(Fixed(documents=[])).search("x", 1, Filters(since="2020"))


def test_verdicts_of_another_version_are_not_taken_over() -> None:
    retriever = Fixed(documents=[])
    first, second = (RetrieverLiterature(retriever, version).sha256 for version in ("1", "2"))
    assert first != second


def test_both_ways_round_gives_the_same_documents() -> None:
    there = LiteratureRetriever(literature=Corpus(ARTICLES))
    back = RetrieverLiterature(there).search("aspirin")
    assert {h.document.id for h in back} == {a.id for a in ARTICLES}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Literature]]:
    folder = tmp_path_factory.mktemp("langchain")
    rows = [article.model_dump(mode="json", exclude_defaults=True) for article in ARTICLES]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    build_corpus([folder / "a.jsonl"], folder / "corpus")
    disk = DiskCorpus(folder / "corpus")
    embed_corpus(disk, WordEmbedder())
    index = DenseIndex(disk, WordEmbedder())
    dense = DenseCorpus(disk, index)
    hybrid = HybridCorpus(disk, dense)
    reranker = EmbeddedReranker(WordEmbedder())
    reranked = RerankedLiterature(hybrid, reranker, "embedded")
    yield {"disk": disk, "dense": dense, "hybrid": hybrid, "reranked": reranked}
    index.close()


@pytest.mark.parametrize("kind", ["disk", "dense", "hybrid", "reranked"])
async def test_every_corpus_is_an_async_retriever_of_many_queries_at_once(
    places: dict[str, Literature], kind: str
) -> None:
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
