"""Load files into an index of a cluster; a killed load continues where it stopped."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.errors import CorpusError
from ragassay.formats.answered import rejection_line
from ragassay.records import Article, Document, Rejection
from ragassay.retrievers.cluster.bulk import N_A_BATCH, send
from ragassay.retrievers.cluster.client import Cluster
from ragassay.retrievers.cluster.ledger import ClusterLedger, FirstLoad
from ragassay.retrievers.cluster.vectors import ensure_index
from ragassay.retrievers.disk.build import BuildEvent
from ragassay.retrievers.disk.ledger import SourceFile, check_order, counted, stamp_of
from ragassay.retrievers.disk.sources import find_sources, iter_source

if TYPE_CHECKING:
    from ragassay.retrievers.dense.index import NamedEncoder
    from ragassay.retrievers.pubmed.xml import Deletion

N_BATCHES_A_COMMIT = 10
"""Batches after which the ledger is written: what is sent again after a kill, at most."""

N_NAMED = 100
"""Rejections of a file that the ledger names; all are counted."""


def build_in_cluster(
    sources: Sequence[Path],
    cluster: Cluster,
    listen: Callable[[BuildEvent], None] = lambda event: None,
    embedder: NamedEncoder | None = None,
) -> ClusterLedger:
    """Load files into an index, made if missing; files that are in it already are not read again.

    A later record of an id replaces an earlier one; a deletion removes it. A file is identified by
    its name and content. During a first load the index has no replicas and is not refreshed;
    afterwards, and after an error, it has its own settings again.

    Args:
        sources: Files and folders; see `find_sources`.
        cluster: The index. One that was made by hand keeps its mapping, shards and settings.
        listen: Receives progress events.
        embedder: Makes a vector of each article; None for an index without vectors.

    Returns:
        The ledger, with all that was ever loaded.

    Raises:
        InputError: A file is unusable, or older than the index' content.
        CorpusError: The cluster cannot be reached or refuses, the index has other vectors, or
            another process loads into it.
    """
    files = find_sources(sources)
    ensure_index(cluster, embedder)
    ledger = ClusterLedger(cluster)
    new = [stamp for path in files if (stamp := stamp_of(path, ledger.ledger))]
    check_order([stamp for _, stamp in new], ledger.ledger)
    with _first_load(cluster, ledger):
        for n_done, (path, stamp) in enumerate(new):
            n_items = _Loading(cluster, ledger, embedder).run(
                path, stamp, lambda n, p=path, d=n_done: listen(BuildEvent(p.name, d, n))
            )
            listen(BuildEvent(path.name, n_done + 1, n_items))
    with cluster.explained():
        cluster.client.indices.refresh(index=cluster.index)
    return ledger


@contextmanager
def _first_load(cluster: Cluster, ledger: ClusterLedger) -> Iterator[None]:
    """Spare an index copies and refreshes while it is loaded for the first time.

    What it had is in the ledger before it is changed, for a killed process restores nothing.
    """
    state = ledger.first_load
    if state is None and not ledger.files and _is_empty(cluster):
        own = cluster.settings()
        state = FirstLoad(
            refresh_interval=own.get("refresh_interval"),
            number_of_replicas=own.get("number_of_replicas"),
        )
        ledger.write_first_load(state)
    if state is None or state.is_complete:
        yield
        return
    _set(cluster, "-1", "0")
    try:
        yield
    except BaseException:
        with suppress(CorpusError):  # The first error says more; the next load restores.
            _set(cluster, state.refresh_interval, state.number_of_replicas)
        raise
    _set(cluster, state.refresh_interval, state.number_of_replicas)
    ledger.write_first_load(state.model_copy(update={"is_complete": True}))


def _is_empty(cluster: Cluster) -> bool:
    with cluster.explained():
        return not cluster.client.count(index=cluster.index)["count"]


def _set(cluster: Cluster, refresh_interval: str | None, number_of_replicas: str | None) -> None:
    """Change the settings; None is the cluster's own."""
    body = {"refresh_interval": refresh_interval, "number_of_replicas": number_of_replicas}
    with cluster.explained():
        cluster.client.indices.put_settings(index=cluster.index, body={"index": body})


class _Loading:
    """Loads one file; the ledger follows the index."""

    def __init__(
        self, cluster: Cluster, ledger: ClusterLedger, embedder: NamedEncoder | None
    ) -> None:
        self._cluster = cluster
        self._ledger = ledger
        self._embedder = embedder

    def run(self, path: Path, file: SourceFile, listen: Callable[[int], None]) -> int:
        """Load the missing items of a file, and return how many it has."""
        known = self._ledger.files.get(file.name)
        rejected = list(known.rejected) if known else []
        self._ledger.write_file(file, rejected)
        remaining = itertools.islice(iter_source(path), file.n_items, None)
        for n_batches in itertools.count(1):
            batch = list(itertools.islice(remaining, N_A_BATCH))
            if not batch:
                break
            rejections = [item for item in batch if isinstance(item, Rejection)]
            items = [_loadable(item) for item in batch if not isinstance(item, Rejection)]
            send(self._cluster, items, file.n_articles, self._embedder)
            named = (one.model_copy(update={"file": path.name}) for one in rejections)
            rejected = [*rejected, *map(rejection_line, named)][:N_NAMED]
            file = counted(file, Counter(map(_kind, batch)))
            listen(file.n_items)
            if n_batches % N_BATCHES_A_COMMIT == 0:
                self._ledger.write_file(file, rejected)
        self._ledger.write_file(file.model_copy(update={"is_complete": True}), rejected)
        return file.n_items


def _loadable(item: Document | Deletion) -> Article | Deletion:
    """Return an item as the index takes it: a plain document as an article."""
    if isinstance(item, Document) and not isinstance(item, Article):
        return Article.model_validate(item.model_dump())
    return item


def _kind(item: Document | Deletion | Rejection) -> str:
    """Return the field of the ledger that counts an item."""
    if isinstance(item, Rejection):
        return "n_rejected"
    return "n_articles" if isinstance(item, Document) else "n_deleted"
