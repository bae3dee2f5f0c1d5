"""Create and update the vectors of a corpus; a killed run continues where it stopped."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ragassay.errors import CorpusError
from ragassay.models.embeddings import encode_role
from ragassay.records import Article
from ragassay.retrievers.dense.chroma import (
    VECTORS,
    Facts,
    connect,
    embedded_text,
    explain_errors,
    facts_of,
    replacing,
)
from ragassay.retrievers.dense.index import (
    NamedEncoder,
    VectorState,
    collection_name,
    corpus_identity,
    find_collection,
    state_of,
)
from ragassay.retrievers.disk.corpus import N_A_PAGE, DiskCorpus
from ragassay.retrievers.reranked_literature import STORE, TokenStore
from ragassay.retrievers.rerankers import encode_tokens, reranked_texts
from ragassay.store import lock_file

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

N_A_BATCH = 64
"""Articles embedded and stored together: the most work that a kill can lose."""

HNSW = {"space": "cosine", "ef_construction": 200, "ef_search": 200, "max_neighbors": 32}
"""Width of the neighbour graph: twice Chroma's, for rankings as deep as 1,000."""

SYNCED_AT_WORK = 1000
"""Changes after which Chroma rewrites its whole graph while a corpus is embedded; a twentieth of
a large corpus, which would otherwise be written a thousand times."""

SYNCED_AT_REST = 10
"""The same afterwards. Changes missing from the graph on disk are added at each opening: keep
them few."""


@dataclass(frozen=True)
class EmbedEvent:
    """The progress of embedding a corpus.

    Attributes:
        n_embedded: Those of them that were embedded this time.
    """

    n_done: int
    n_articles: int
    n_embedded: int


def embed_corpus(
    corpus: DiskCorpus,
    embedder: NamedEncoder,
    url: str = "",
    listen: Callable[[EmbedEvent], None] = lambda event: None,
) -> VectorState:
    """Create the vectors of a corpus, or update them.

    Only articles that are new, or whose title or abstract changed, are embedded; vectors of
    articles that are gone are removed.

    Args:
        corpus: The corpus; at most two pages of its articles are held in memory.
        embedder: Vectors of several embedders can coexist.
        url: Address of a Chroma server; empty keeps the vectors in the corpus.
        listen: Receives progress events.

    Returns:
        The state of the complete vectors.

    Raises:
        CorpusError: The server cannot be reached or refuses, or another process embeds this corpus.
    """
    folder = corpus.folder
    refusal = CorpusError(f"another process is embedding {folder}")
    with lock_file(folder / ".vectors.lock", refusal), explain_errors(url or str(folder / VECTORS)):
        identity = corpus_identity(corpus.folder, make=True)
        with connect(corpus.folder, url) as client:
            name = collection_name(identity, embedder)
            collection = find_collection(client, name) or client.create_collection(
                name,
                configuration=cast(Any, {"hnsw": HNSW}),
                metadata=_build_metadata(embedder, ""),
                embedding_function=None,
            )
            state = state_of(collection)
            if state.status(corpus) == "complete":
                return state
            collection.modify(metadata=_build_metadata(embedder, ""))
            _sync_every(collection, max(SYNCED_AT_WORK, len(corpus) // 20))
            _Embedding(corpus, embedder, collection, listen).run()
            collection.modify(metadata=_build_metadata(embedder, corpus.sha256))
            _sync_every(collection, SYNCED_AT_REST)
        return _settle_index(corpus, url, name)


def embed_tokens(
    corpus: DiskCorpus,
    embedder: NamedEncoder,
    listen: Callable[[EmbedEvent], None] = lambda event: None,
) -> None:
    """Store in a corpus what the embedded reranker needs of its articles.

    Only what is new or changed is computed. What was stored for articles that are gone stays.
    """
    store = TokenStore(corpus.folder / STORE, embedder)
    n_done = n_new = 0
    for page in corpus.pages():
        for start in range(0, len(page), N_A_BATCH):
            batch = page[start : start + N_A_BATCH]
            texts = list(dict.fromkeys(t for article in batch for t in reranked_texts(article)))
            known = store.read(texts)
            new = [text for text in texts if text not in known]
            store.add(new, encode_tokens(embedder, new) if new else [])
            n_done, n_new = n_done + len(batch), n_new + (len(batch) if new else 0)
            listen(EmbedEvent(n_done, len(corpus), n_new))
    store.close()


def _build_metadata(embedder: NamedEncoder, corpus_sha256: str) -> dict[str, Any]:
    return {
        "embedder": embedder.name,
        "embedder_digest": embedder.digest,
        "corpus_sha256": corpus_sha256,
    }


def _sync_every(collection: Collection, n: int) -> None:
    """Make Chroma rewrite its whole graph after so many changes."""
    with warnings.catch_warnings():
        # Chroma calls a collection whose vectors come from outside "legacy".
        warnings.simplefilter("ignore", DeprecationWarning)
        collection.modify(configuration={"hnsw": {"sync_threshold": n}})


def _settle_index(corpus: DiskCorpus, url: str, name: str) -> VectorState:
    """Open the vectors once, so that the first search need not reorganise the graph on disk."""
    with connect(corpus.folder, url) as client:
        collection = client.get_collection(name, embedding_function=None)
        sample = collection.get(limit=1, include=["embeddings"])["embeddings"]
        if sample is not None and len(sample):
            collection.query(query_embeddings=sample, n_results=1, include=[])
        return state_of(collection)


class _Embedding:
    """One pass over a corpus that creates or updates its vectors."""

    def __init__(
        self,
        corpus: DiskCorpus,
        embedder: NamedEncoder,
        collection: Collection,
        listen: Callable[[EmbedEvent], None],
    ) -> None:
        self._corpus = corpus
        self._embedder = embedder
        self._collection = collection
        self._listen = listen
        self._n_done = self._n_embedded = 0

    def run(self) -> None:
        """Add, replace and remove vectors."""
        for page in self._corpus.pages():
            self._bring_up(page)
        self._sweep()

    def _bring_up(self, page: Sequence[Article]) -> None:
        stored = self._stored_facts(page)
        new: list[tuple[Article, Facts]] = []
        refiled: list[tuple[Article, Facts]] = []
        for article in page:
            wanted, known = facts_of(article), stored.get(article.id)
            if known is None or known.get("digest") != wanted["digest"]:
                new.append((article, replacing(wanted, known)))
            elif known != wanted:
                refiled.append((article, replacing(wanted, known)))
        if refiled:
            self._collection.update(
                ids=[article.id for article, _ in refiled],
                metadatas=cast(Any, [facts for _, facts in refiled]),
            )
        self._report_progress(len(page) - len(new), 0)
        for start in range(0, len(new), N_A_BATCH):
            self._embed(new[start : start + N_A_BATCH])

    def _stored_facts(self, page: Sequence[Article]) -> dict[str, dict[str, Any]]:
        found = self._collection.get(ids=[article.id for article in page], include=["metadatas"])
        facts = found["metadatas"] or []
        return {name: dict(known or {}) for name, known in zip(found["ids"], facts, strict=True)}

    def _embed(self, batch: Sequence[tuple[Article, Facts]]) -> None:
        texts = [embedded_text(article) for article, _ in batch]
        vectors = encode_role(self._embedder, texts, "passage")
        self._collection.upsert(
            ids=[article.id for article, _ in batch],
            embeddings=vectors,
            metadatas=cast(Any, [facts for _, facts in batch]),
        )
        self._report_progress(len(batch), len(batch))

    def _report_progress(self, n_done: int, n_embedded: int) -> None:
        self._n_done += n_done
        self._n_embedded += n_embedded
        self._listen(EmbedEvent(self._n_done, len(self._corpus), self._n_embedded))

    def _sweep(self) -> None:
        """Remove the vectors of deleted articles."""
        n_extra = self._collection.count() - len(self._corpus)
        gone: list[str] = []
        offset = 0
        while len(gone) < n_extra:
            names = self._collection.get(limit=N_A_PAGE, offset=offset, include=[])["ids"]
            if not names:
                break
            living = self._corpus.select(names)
            gone += [name for name in names if name not in living]
            offset += len(names)
        for start in range(0, len(gone), N_A_PAGE):
            self._collection.delete(ids=gone[start : start + N_A_PAGE])
        n_vectors = self._collection.count()
        if n_vectors != len(self._corpus):
            raise CorpusError(
                f"{n_vectors:,} vectors stand for {len(self._corpus):,} articles of "
                f"{self._corpus.folder}: they were changed meanwhile, embed again"
            )
