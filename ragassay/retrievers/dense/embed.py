"""Create and update the vectors of a corpus, and resume interrupted runs."""

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
    build_embedded_text,
    build_replacement_facts,
    build_vector_facts,
    connect,
    explain_errors,
)
from ragassay.retrievers.dense.index import (
    NamedEncoder,
    VectorState,
    build_collection_name,
    find_collection,
    read_corpus_identity,
    read_vector_state,
)
from ragassay.retrievers.disk.corpus import PAGE_SIZE, DiskCorpus
from ragassay.retrievers.reranked_literature import STORE, TokenStore
from ragassay.retrievers.rerankers import encode_tokens, list_reranked_texts
from ragassay.store import lock_file

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

N_A_BATCH = 64
"""Number of articles to embed and store in one batch. An interruption loses at most one batch."""

HNSW = {"space": "cosine", "ef_construction": 200, "ef_search": 200, "max_neighbors": 32}
"""HNSW parameters that suit rankings of up to 1,000 articles: twice Chroma's defaults."""

SYNCED_AT_WORK = 1000
"""Number of changes after which Chroma rewrites its whole graph during embedding. For corpora with
many articles, the number is a twentieth of the number of articles."""

SYNCED_AT_REST = 10
"""Number of changes after which Chroma rewrites its graph once the corpus is embedded. A low number
makes opening faster, because Chroma then replays fewer changes."""


@dataclass(frozen=True)
class EmbedEvent:
    """Progress of embedding a corpus.

    Attributes:
        n_done: Number of processed articles.
        n_embedded: Number of processed articles that had to be embedded.
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
    """Create or update the vectors of a corpus.

    Only new and changed articles are embedded, and vectors of removed articles are deleted. At most
    two pages of articles are in memory at a time.

    Args:
        embedder: Embedding model. A corpus can have vectors of several embedding models.
        url: URL of a Chroma server, or empty to store the vectors in the corpus folder.

    Returns:
        Description of the stored vectors.

    Raises:
        CorpusError: The server fails, or another process is embedding this corpus.
    """
    folder = corpus.folder
    refusal = CorpusError(f"another process is embedding {folder}")
    with lock_file(folder / ".vectors.lock", refusal), explain_errors(url or str(folder / VECTORS)):
        identity = read_corpus_identity(corpus.folder, make=True)
        with connect(corpus.folder, url) as client:
            name = build_collection_name(identity, embedder)
            collection = find_collection(client, name) or client.create_collection(
                name,
                configuration=cast(Any, {"hnsw": HNSW}),
                metadata=_build_metadata(embedder, ""),
                embedding_function=None,
            )
            state = read_vector_state(collection)
            if state.check_status(corpus) == "complete":
                return state
            collection.modify(metadata=_build_metadata(embedder, ""))
            _sync_every(collection, max(SYNCED_AT_WORK, len(corpus) // 20))
            _Embedding(corpus, embedder, collection, listen).run()
            collection.modify(metadata=_build_metadata(embedder, corpus.sha256))
            _sync_every(collection, SYNCED_AT_REST)
        return _warm_up_index(corpus, url, name)


def embed_tokens(
    corpus: DiskCorpus,
    embedder: NamedEncoder,
    listen: Callable[[EmbedEvent], None] = lambda event: None,
) -> None:
    """Compute and store the token vectors that the embedded reranker needs and that are missing.

    Vectors of removed articles are not deleted.
    """
    store = TokenStore(corpus.folder / STORE, embedder)
    n_done = n_new = 0
    for page in corpus.iter_pages():
        for start in range(0, len(page), N_A_BATCH):
            batch = page[start : start + N_A_BATCH]
            texts = list(
                dict.fromkeys(t for article in batch for t in list_reranked_texts(article))
            )
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
    """Set the number of changes after which Chroma rewrites its graph."""
    with warnings.catch_warnings():
        # Chroma deprecates collections without an embedding function.
        warnings.simplefilter("ignore", DeprecationWarning)
        collection.modify(configuration={"hnsw": {"sync_threshold": n}})


def _warm_up_index(corpus: DiskCorpus, url: str, name: str) -> VectorState:
    """Run one query on the vectors, because the first query makes Chroma reorganize its files."""
    with connect(corpus.folder, url) as client:
        collection = client.get_collection(name, embedding_function=None)
        sample = collection.get(limit=1, include=["embeddings"])["embeddings"]
        if sample is not None and len(sample):
            collection.query(query_embeddings=sample, n_results=1, include=[])
        return read_vector_state(collection)


class _Embedding:
    """Creates, updates and deletes vectors while reading a corpus once."""

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
        """Create, update and delete the vectors of the corpus."""
        for page in self._corpus.iter_pages():
            self._update_page(page)
        self._remove_deleted()

    def _update_page(self, page: Sequence[Article]) -> None:
        stored = self._get_facts(page)
        new: list[tuple[Article, Facts]] = []
        changed: list[tuple[Article, Facts]] = []
        for article in page:
            facts, known = build_vector_facts(article), stored.get(article.id)
            if known is None or known.get("digest") != facts["digest"]:
                new.append((article, build_replacement_facts(facts, known)))
            elif known != facts:
                changed.append((article, build_replacement_facts(facts, known)))
        if changed:
            self._collection.update(
                ids=[article.id for article, _ in changed],
                metadatas=cast(Any, [facts for _, facts in changed]),
            )
        self._report_progress(len(page) - len(new), 0)
        for start in range(0, len(new), N_A_BATCH):
            self._embed(new[start : start + N_A_BATCH])

    def _get_facts(self, page: Sequence[Article]) -> dict[str, dict[str, Any]]:
        stored = self._collection.get(ids=[article.id for article in page], include=["metadatas"])
        facts = stored["metadatas"] or []
        return {name: dict(known or {}) for name, known in zip(stored["ids"], facts, strict=True)}

    def _embed(self, batch: Sequence[tuple[Article, Facts]]) -> None:
        texts = [build_embedded_text(article) for article, _ in batch]
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

    def _remove_deleted(self) -> None:
        n_extra = self._collection.count() - len(self._corpus)
        deleted: list[str] = []
        offset = 0
        while len(deleted) < n_extra:
            names = self._collection.get(limit=PAGE_SIZE, offset=offset, include=[])["ids"]
            if not names:
                break
            existing = self._corpus.select(names)
            deleted += [name for name in names if name not in existing]
            offset += len(names)
        for start in range(0, len(deleted), PAGE_SIZE):
            self._collection.delete(ids=deleted[start : start + PAGE_SIZE])
        n_vectors = self._collection.count()
        if n_vectors != len(self._corpus):
            raise CorpusError(
                f"{self._corpus.folder} has {n_vectors:,} vectors for {len(self._corpus):,} "
                "articles, because it changed during embedding; run `ragassay corpus embed` again"
            )
