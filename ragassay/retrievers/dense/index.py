"""Search a corpus by the vectors of its articles, which are stored in Chroma."""

from __future__ import annotations

import hashlib
import itertools
import json
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import ValidationError

from ragassay.errors import CorpusError
from ragassay.models.embeddings import encode_role
from ragassay.process import Rebuilt
from ragassay.records import Frozen
from ragassay.retrievers.dense.chroma import (
    REBUILD_HINT,
    VECTORS,
    build_where_clause,
    connect,
    explain_errors,
)
from ragassay.retrievers.disk.corpus import DiskCorpus
from ragassay.retrievers.literature import ANY, Filters
from ragassay.retrievers.rerankers import TextEncoder

if TYPE_CHECKING:
    import numpy as np
    from chromadb.api.client import Client
    from chromadb.api.models.Collection import Collection
    from numpy.typing import NDArray

IDENTITY = "vectors.json"
"""Name of the file with the id of a corpus, which distinguishes corpora on a Chroma server."""

_N_A_PAGE = 100

VectorStatus = Literal["missing", "unfinished", "stale", "complete"]


class NamedEncoder(TextEncoder, Protocol):
    """Protocol for text encoders with a name, such as `ragassay.models.embeddings.Embedder`."""

    @property
    def name(self) -> str:
        """Name of the embedding model."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 of the model weights, or an empty string if unknown."""
        ...


class VectorState(Frozen):
    """Description of the vectors that one embedding model computed for a corpus.

    Attributes:
        embedder_digest: SHA-256 of the model weights, or an empty string if unknown.
        corpus_sha256: Hash of the embedded corpus, or empty until all articles are embedded.
    """

    embedder: str
    embedder_digest: str = ""
    corpus_sha256: str = ""
    n_vectors: int = 0

    def check_status(self, corpus: DiskCorpus) -> VectorStatus:
        """Return whether the vectors are unfinished, stale or complete for the current corpus."""
        if not self.corpus_sha256:
            return "unfinished"
        up_to_date = self.corpus_sha256 == corpus.sha256 and self.n_vectors == len(corpus)
        return "complete" if up_to_date else "stale"


class _Identity(Frozen):
    id: str


def read_corpus_identity(folder: Path, make: bool = False) -> str:
    """Return the id that a corpus has in Chroma, or an empty string if it never had vectors.

    Args:
        folder: Folder of the corpus. A copy of the folder has the same id, so embedding one copy on
            a Chroma server makes the vectors of a different copy stale.
        make: Whether to create an id for a corpus that has none.

    Raises:
        CorpusError: The file with the id cannot be read.
    """
    path = folder / IDENTITY
    try:
        return _Identity.model_validate_json(path.read_bytes()).id
    except FileNotFoundError:
        if not make:
            return ""
    except (OSError, ValidationError) as error:
        raise CorpusError(
            f"{path} cannot be read; remove it and run `ragassay corpus embed` again: {error}"
        ) from error
    identity = _Identity(id=uuid.uuid4().hex[:16])
    partial = folder / f".{IDENTITY}.partial"
    partial.write_text(identity.model_dump_json(), encoding="utf-8")
    partial.replace(path)
    return identity.id


def _find_identity(folder: Path, url: str) -> str:
    """Return the id that a corpus has in Chroma, or an empty string if it has no vectors."""
    identity = read_corpus_identity(folder)
    return identity if url or (folder / VECTORS).is_dir() else ""


def build_collection_name(identity: str, embedder: NamedEncoder) -> str:
    """Return the name of the Chroma collection for a corpus and an embedding model."""
    model = hashlib.sha256(f"{embedder.name} {embedder.digest}".encode()).hexdigest()[:16]
    return f"ragassay-{identity}-{model}"


def describe_vectors(folder: Path, url: str = "") -> list[VectorState]:
    """Describe the vectors of a corpus, with one entry per embedding model.

    Args:
        url: URL of the Chroma server, or empty if the vectors are in the corpus folder.

    Raises:
        CorpusError: The server cannot be reached, or the vectors are damaged.
    """
    identity = _find_identity(folder, url)
    if not identity:
        return []
    with explain_errors(url or str(folder / VECTORS)), connect(folder, url) as client:
        collections = _list_collections(client)
        ours = (c for c in collections if c.name.startswith(f"ragassay-{identity}-"))
        return sorted(map(read_vector_state, ours), key=lambda state: state.embedder)


def _list_collections(client: Client) -> Iterator[Collection]:
    for offset in itertools.count(0, _N_A_PAGE):
        page = client.list_collections(limit=_N_A_PAGE, offset=offset)
        yield from page
        if len(page) < _N_A_PAGE:
            return


def read_vector_state(collection: Collection) -> VectorState:
    """Return the description that is stored in the metadata of a Chroma collection."""
    metadata: Mapping[str, Any] = collection.metadata or {}
    return VectorState(
        embedder=str(metadata.get("embedder", "")),
        embedder_digest=str(metadata.get("embedder_digest", "")),
        corpus_sha256=str(metadata.get("corpus_sha256", "")),
        n_vectors=collection.count(),
    )


class DenseIndex(Rebuilt):
    """Read-only vector index of a built corpus for one embedding model. Thread-safe.

    A search may miss some of the nearest articles, because the index is an HNSW graph.

    Args:
        embedder: Embedding model that computed the vectors and embeds the queries.
        url: URL of the Chroma server, or empty if the vectors are in the corpus folder.

    Raises:
        CorpusError: The vectors are missing, unfinished or stale, or the server is unreachable.
    """

    def __init__(self, corpus: DiskCorpus, embedder: NamedEncoder, url: str = "") -> None:
        self._corpus = corpus
        self._embedder = embedder
        self._where = url or str(corpus.folder / VECTORS)
        self._client, self._collection = self._open_collection(url)

    def close(self) -> None:
        """Close the Chroma client."""
        self._client.close()

    @property
    def sha256(self) -> str:
        """Hash of the corpus and the embedding model."""
        parts = [self._corpus.sha256, self._embedder.name, self._embedder.digest]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def find_nearest(self, query: str, k: int, filters: Filters = ANY) -> list[tuple[str, float]]:
        """Return the ids and cosines of the `k` articles most similar to a query, best first.

        Args:
            query: Natural-language query; a blank query has no hits.
            k: Number of articles; with 0 or less, there are no hits.
            filters: Conditions on the articles. With dates or types, the search time grows with
                the number of matching articles.

        Raises:
            CorpusError: The Chroma server cannot be reached or fails.
        """
        if k < 1 or not query.strip() or not len(self._corpus):
            return []
        vector = encode_role(self._embedder, [query], "query")
        n = min(k, len(self._corpus))
        while True:
            hits = self._query_vectors(vector, n, filters)
            kept = [hit for hit in hits if not (filters.no_retracted and hit[2])]
            if len(kept) >= k or len(hits) < n or n == len(self._corpus):
                return [(name, score) for name, score, _ in kept[:k]]
            n = min(2 * n, len(self._corpus))

    def _query_vectors(
        self, vector: NDArray[np.float32], n: int, filters: Filters
    ) -> list[tuple[str, float, bool]]:
        """Return the id and cosine of each hit, and whether it is retracted, best hit first."""
        where = build_where_clause(filters)
        with explain_errors(self._where):
            result = self._collection.query(
                query_embeddings=vector,
                n_results=n,
                where=where,
                include=["distances", "metadatas"] if filters.no_retracted else ["distances"],
            )
        names, distances = result["ids"][0], (result["distances"] or [[]])[0]
        # If files are missing, Chroma creates an empty graph. An intact graph reaches nearly all.
        if where is None and len(names) < n / 2:
            mend = REBUILD_HINT.format(where=self._where)
            raise CorpusError(f"the vectors at {self._where} are incomplete: {mend}")
        facts = (result["metadatas"] or [[{}] * len(names)])[0]
        hits = [
            (name, 1.0 - distance, bool(known.get("retracted")))
            for name, distance, known in zip(names, distances, facts, strict=True)
        ]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))

    def _open_collection(self, url: str) -> tuple[Client, Collection]:
        folder = self._corpus.folder
        identity = _find_identity(folder, url)
        if not identity:
            raise self._build_status_error("missing")
        client = connect(folder, url)
        status: VectorStatus = "missing"
        with explain_errors(self._where):
            collection = find_collection(client, build_collection_name(identity, self._embedder))
            if collection is not None:
                status = read_vector_state(collection).check_status(self._corpus)
        if collection is None or status != "complete":
            client.close()
            raise self._build_status_error(status)
        return client, collection

    def _build_status_error(self, status: VectorStatus) -> CorpusError:
        problem = {
            "missing": "are missing",
            "unfinished": "are not finished",
            "stale": "are older than the corpus",
        }[status]
        folder, name = self._corpus.folder, self._embedder.name
        return CorpusError(
            f"the vectors of {folder} for {name} {problem}; run "
            f"`ragassay corpus embed {folder} --embedder {name}`"
        )


def find_collection(client: Client, name: str) -> Collection | None:
    """Return the Chroma collection with the given name, or None if there is none."""
    from chromadb.errors import NotFoundError

    try:
        return client.get_collection(name, embedding_function=None)
    except NotFoundError:
        return None


def check_vectors(corpus: DiskCorpus, embedder: NamedEncoder, url: str = "") -> VectorStatus:
    """Return whether the vectors of a corpus are missing, unfinished, stale or complete.

    Raises:
        CorpusError: The server cannot be reached, or the vectors are damaged.
    """
    folder = corpus.folder
    identity = _find_identity(folder, url)
    if not identity:
        return "missing"
    with explain_errors(url or str(folder / VECTORS)), connect(folder, url) as client:
        collection = find_collection(client, build_collection_name(identity, embedder))
        return (
            "missing" if collection is None else read_vector_state(collection).check_status(corpus)
        )
