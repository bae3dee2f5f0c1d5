"""Vectors in an index of OpenSearch: the field, its query, and the embedder that made them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ragassay.errors import CorpusError
from ragassay.records import Frozen
from ragassay.retrievers.cluster.client import Cluster
from ragassay.retrievers.cluster.schema import INDEX_BODY, MOST_HITS, filter_clauses
from ragassay.retrievers.literature import Filters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.retrievers.dense.index import NamedEncoder

VECTOR: Final = "vector"
"""The field of an article's vector."""

_META: Final = "ragassay"
_N_DIGITS: Final = 5
"""Digits after the point: half as many bytes to send, and finer than the 16 bits of the graph."""

METHOD: Final = {
    "name": "hnsw",
    "engine": "faiss",
    "space_type": "innerproduct",
    "parameters": {"m": 16, "ef_construction": 128},
}
COMPRESSION: Final = "2x"
"""Vectors in the graph have 16 bits a number: half the memory, and the same ranking."""


class VectorMaker(Frozen):
    """The embedder whose vectors an index has, as its mapping notes it.

    Attributes:
        embedder: Name of the model.
        embedder_digest: SHA-256 of its weights; empty where unknown.
    """

    embedder: str
    embedder_digest: str = ""


def maker_of(embedder: NamedEncoder) -> VectorMaker:
    """Return how an embedder is noted."""
    return VectorMaker(embedder=embedder.name, embedder_digest=embedder.digest)


def index_body(embedder: NamedEncoder | None) -> dict[str, Any]:
    """Return settings and mapping of an index: `INDEX_BODY`, with vectors if an embedder is given.

    `_source` leaves the vector out: as text it would be larger than the article.
    """
    if embedder is None:
        return INDEX_BODY
    mappings = INDEX_BODY["mappings"]
    field = {
        "type": "knn_vector",
        "dimension": int(embedder.encode(["dimensions"]).shape[1]),
        "compression_level": COMPRESSION,
        "method": METHOD,
    }
    return {
        "settings": INDEX_BODY["settings"] | {"index.knn": True},
        "mappings": mappings
        | {
            "_meta": {_META: maker_of(embedder).model_dump()},
            "_source": {"excludes": [VECTOR]},
            "properties": mappings["properties"] | {VECTOR: field},
        },
    }


def find_maker(cluster: Cluster) -> VectorMaker | None:
    """Return the embedder whose vectors an index has; None where it has none.

    Raises:
        CorpusError: The cluster cannot be reached, has no such index, or refuses.
    """
    with cluster.explained():
        found = cluster.client.indices.get_mapping(index=cluster.index)
    for index in found.values():
        if noted := index["mappings"].get("_meta", {}).get(_META):
            return VectorMaker.model_validate(noted)
    return None


def check_maker(cluster: Cluster, embedder: NamedEncoder | None) -> None:
    """Check that an index has vectors by this embedder, or none where none is given.

    Raises:
        CorpusError: It has others, or the cluster cannot be reached.
    """
    known = find_maker(cluster)
    if known == (maker_of(embedder) if embedder else None):
        return
    if known is None:
        raise CorpusError(
            f"index {cluster.index!r} was made without vectors: load into a new index, or without"
        )
    raise CorpusError(
        f"index {cluster.index!r} has vectors by {known.embedder}: load with them, by the same "
        f"model (--vectors --embedder {known.embedder})"
    )


def ensure_index(cluster: Cluster, embedder: NamedEncoder | None = None) -> None:
    """Make the index where it is missing; where it is not, check that its vectors fit.

    Raises:
        CorpusError: They do not, or the cluster cannot be reached or refuses.
    """
    with cluster.explained():
        if not cluster.client.indices.exists(index=cluster.index):
            cluster.client.indices.create(index=cluster.index, body=index_body(embedder))
            return
    check_maker(cluster, embedder)


def rounded(vector: NDArray[np.float32]) -> list[float]:
    """Return a vector as it is sent."""
    return [round(value, _N_DIGITS) for value in vector.tolist()]


def nearest_body(vector: NDArray[np.float32], k: int, filters: Filters) -> dict[str, Any]:
    """Return the body of `_search` for the `k` articles nearest to a unit vector.

    The filter stands inside the k-NN query: it is applied while the graph is searched.
    """
    n = min(k, MOST_HITS)
    asked: dict[str, Any] = {"vector": rounded(vector), "k": n}
    if clauses := filter_clauses(filters):
        asked["filter"] = {"bool": clauses}
    return {"query": {"knn": {VECTOR: asked}}, "size": n, "track_total_hits": False}
