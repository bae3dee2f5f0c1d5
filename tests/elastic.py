"""A double of langchain-elasticsearch with in-memory hits, as far as docs/pubmed.md uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


class ElasticsearchRetriever(BaseRetriever):
    """Retriever that returns hits with a word of the query."""

    hits: ClassVar[list[dict[str, Any]]] = []
    body_func: Callable[[str], dict[str, Any]]
    document_mapper: Callable[[dict[str, Any]], Document]

    @classmethod
    def from_es_params(
        cls,
        index_name: str,
        body_func: Callable[[str], dict[str, Any]],
        *,
        document_mapper: Callable[[dict[str, Any]], Document],
        url: str,
    ) -> ElasticsearchRetriever:
        assert url.startswith("https://") and index_name
        return cls(body_func=body_func, document_mapper=document_mapper)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        body = self.body_func(query)
        words = set(body["query"]["match"]["abstract"].lower().split())
        found = [hit for hit in self.hits if words & set(hit["_source"]["abstract"].split())]
        return [self.document_mapper(hit) for hit in found[: body["size"]]]
