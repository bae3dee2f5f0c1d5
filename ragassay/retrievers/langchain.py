"""Adapt LangChain's retrievers to ours and ours to LangChain's."""

from __future__ import annotations

import hashlib
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever

from ragassay.errors import InputError
from ragassay.formats.values import PASSAGE_IDS
from ragassay.records import Document
from ragassay.retrievers.literature import ANY, Filters, Hit, bare_identifier


class LiteratureRetriever(BaseRetriever):
    """Any literature as a LangChain retriever of whole documents.

    Args:
        k: How many documents to return.
        filters: The articles to include.
    """

    literature: Any
    k: int = 10
    filters: Filters = ANY

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[LangChainDocument]:
        return [
            LangChainDocument(
                id=hit.document.id,
                page_content=hit.document.text,
                metadata={
                    **hit.document.model_dump(mode="json", exclude={"text"}, exclude_defaults=True),
                    "score": hit.score,
                },
            )
            for hit in self.literature.search(query, self.k, self.filters)
        ]


class RetrieverLiterature:
    """A LangChain retriever used as a corpus.

    It knows only documents that its searches returned; it cannot look up others.

    Args:
        retriever: Its documents have an id, their own or in their metadata (`PASSAGE_IDS`); the id
            of one without is the hash of its text. A `title` in the metadata is kept.
        version: Change it when search results change: cached verdicts depend on it.
    """

    can_look_up = False

    def __init__(self, retriever: BaseRetriever, version: str = "") -> None:
        self._retriever = retriever
        self._seen: dict[str, Document] = {}
        self.sha256 = hashlib.sha256(
            f"{type(retriever).__qualname__} {version}".encode()
        ).hexdigest()

    def get(self, identifier: str) -> Document | None:
        """Return a document that a search returned, or None."""
        return self._seen.get(bare_identifier(identifier))

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return the retriever's first `k` documents, in its order.

        Raises:
            InputError: Filters are given: LangChain's retrievers take none.
        """
        if filters != ANY:
            raise InputError(f"{type(self._retriever).__name__} cannot filter: search without")
        hits: list[Hit] = []
        for rank, found in enumerate(self._retriever.invoke(query)[:k], 1):
            document = _document(found)
            self._seen[bare_identifier(document.id)] = document
            hits.append(Hit(document, 1.0 / rank))
        return hits


def _document(found: LangChainDocument) -> Document:
    names = [found.id, *(found.metadata.get(key) for key in PASSAGE_IDS)]
    digest = hashlib.sha256(found.page_content.encode()).hexdigest()[:16]
    name = next((str(name) for name in names if name), digest)
    return Document(id=name, text=found.page_content, title=str(found.metadata.get("title") or ""))
