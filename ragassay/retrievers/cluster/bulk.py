"""Send articles and deletions to an index, in batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ragassay.errors import CorpusError
from ragassay.models.text_roles import encode_role
from ragassay.records import Article
from ragassay.retrievers.cluster.client import Cluster
from ragassay.retrievers.cluster.schema import source_of
from ragassay.retrievers.cluster.vectors import VECTOR, rounded
from ragassay.retrievers.dense.chroma import embedded_text

if TYPE_CHECKING:
    from ragassay.retrievers.pubmed.xml import Deletion
    from ragassay.retrievers.rerank import TextEncoder

N_A_BATCH = 500
_CHUNK_BYTES = 10 * 2**20


def batches(items: Iterable[Article | Deletion]) -> Iterator[list[Article | Deletion]]:
    """Yield items in order, in batches of some hundred."""
    remaining = iter(items)
    while window := list(itertools.islice(remaining, N_A_BATCH)):
        yield window


def send(
    cluster: Cluster,
    window: Sequence[Article | Deletion],
    n_before: int = 0,
    embedder: TextEncoder | None = None,
) -> int:
    """Carry out a batch: each id once, in its last version.

    Items that a busy cluster rejects are sent again after the rest of their batch, which would undo
    a revision or deletion of the same article in it.

    Args:
        cluster: The index, which exists.
        window: The batch, in the order in which its items revise each other.
        n_before: Articles loaded before, for an error's text.
        embedder: Makes the vectors, where the index has them.

    Returns:
        How many articles were loaded.

    Raises:
        CorpusError: The cluster cannot be reached, or rejects an item.
    """
    from opensearchpy.helpers import streaming_bulk

    batch = list({item.id: item for item in window}.values())
    n_loaded = 0
    with cluster.explained():
        results = streaming_bulk(
            cluster.client,
            _actions(batch, cluster.index, embedder),
            max_chunk_bytes=_CHUNK_BYTES,
            raise_on_error=False,
            max_retries=8,
            initial_backoff=1,
            max_backoff=60,
        )
        for was_taken, result in results:
            if not was_taken and not _is_absent(result):
                raise _refusal(cluster.index, result, n_before + n_loaded)
            n_loaded += "index" in result
    return n_loaded


def _actions(
    batch: Sequence[Article | Deletion], index: str, embedder: TextEncoder | None
) -> Iterator[dict[str, Any]]:
    articles = [item for item in batch if isinstance(item, Article)]
    vectors: dict[str, list[float]] = {}
    if embedder is not None and articles:
        texts = [embedded_text(article) for article in articles]
        made = encode_role(embedder, texts, "passage")
        vectors = {article.id: rounded(row) for article, row in zip(articles, made, strict=True)}
    for item in batch:
        where = {"_index": index, "_id": item.id}
        if not isinstance(item, Article):
            yield {**where, "_op_type": "delete"}
            continue
        source = source_of(item)
        if item.id in vectors:
            source[VECTOR] = vectors[item.id]
        yield {**where, "_source": source}


def _refusal(index: str, result: dict[str, Any], n_loaded: int) -> CorpusError:
    ((action, item),) = result.items()
    what = "take" if action == "index" else "delete"
    return CorpusError(
        f"index {index!r} does not {what} article {item.get('_id')!r}"
        f" (after {n_loaded} others): {item.get('error')}"
    )


def _is_absent(result: dict[str, Any]) -> bool:
    """Return whether the article of a deletion was gone already, which is fine."""
    return result.get("delete", {}).get("status") == 404
