"""Use a `Literature` as a LangChain retriever, and a LangChain retriever as a `Literature`."""

from __future__ import annotations

import hashlib
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever

from ragassay.errors import InputError
from ragassay.formats.values import PASSAGE_IDS
from ragassay.records import Document
from ragassay.retrievers.literature import ANY, Filters, Hit, strip_article_id


class LiteratureRetriever(BaseRetriever):
    """LangChain retriever that searches a `Literature` and returns whole documents."""

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
    """A `Literature` that searches with a LangChain retriever.

    `get` finds only documents that an earlier search returned.

    Args:
        retriever: LangChain retriever. The id of a document comes from its `id` or its metadata
            (`PASSAGE_IDS`), and is otherwise a hash of its text.
        version: Version of the search results; a new version invalidates cached verdicts.
    """

    can_look_up = False

    def __init__(self, retriever: BaseRetriever, version: str = "") -> None:
        self._retriever = retriever
        self._seen: dict[str, Document] = {}
        self.sha256 = hashlib.sha256(
            f"{type(retriever).__qualname__} {version}".encode()
        ).hexdigest()

    def get(self, identifier: str) -> Document | None:
        """Return the document with the given id if an earlier search returned it, or None."""
        return self._seen.get(strip_article_id(identifier))

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return the first `k` documents that the retriever finds, scored 1, 1/2, 1/3, ...

        Raises:
            InputError: Filters are set, which LangChain retrievers do not support.
        """
        if filters != ANY:
            name = type(self._retriever).__name__
            raise InputError(f"{name} does not support filters; search without filters")
        hits: list[Hit] = []
        for rank, result in enumerate(self._retriever.invoke(query)[:k], 1):
            document = _convert(result)
            self._seen[strip_article_id(document.id)] = document
            hits.append(Hit(document, 1.0 / rank))
        return hits


def _convert(result: LangChainDocument) -> Document:
    text, metadata = result.page_content, result.metadata
    names = [result.id, *(metadata.get(key) for key in PASSAGE_IDS)]
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    name = next((str(name) for name in names if name), digest)
    return Document(id=name, text=text, title=str(metadata.get("title") or ""))
