"""A corpus larger than one machine: articles in an OpenSearch or Elasticsearch cluster."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ragassay.errors import CorpusError
from ragassay.rebuilt import Rebuilt
from ragassay.records import Article
from ragassay.retrievers.cluster.bulk import batches, send
from ragassay.retrievers.cluster.client import connect
from ragassay.retrievers.cluster.schema import article_of, query_body
from ragassay.retrievers.cluster.vectors import ensure_index
from ragassay.retrievers.literature import ANY, Filters, Hit, bare_identifier

if TYPE_CHECKING:
    from ragassay.retrievers.dense.index import NamedEncoder
    from ragassay.retrievers.pubmed.xml import Deletion


class ClusterCorpus(Rebuilt):
    """Articles in an index of OpenSearch or Elasticsearch. Safe across threads.

    Args:
        hosts: One or more addresses: "https://search.example.org:9200".
        index: An index created with `INDEX_BODY`, or an alias of one.
        auth: User and password.
        ca_certs: Certificates to trust; None for the usual ones.
        timeout_s: Longest wait for one response.

    Raises:
        InputError: opensearch-py is not installed, or it rejects the hosts.
    """

    def __init__(
        self,
        hosts: str | Sequence[str],
        index: str = "pubmed",
        *,
        auth: tuple[str, str] | None = None,
        ca_certs: Path | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        self.cluster = connect(hosts, index, auth=auth, ca_certs=ca_certs, timeout_s=timeout_s)

    def close(self) -> None:
        """Close the connections."""
        self.cluster.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def sha256(self) -> str:
        """Hash of the index's identity and of the number of changes in each shard.

        Raises:
            CorpusError: The cluster cannot be reached or has no such index.
        """
        with self.cluster.explained():
            stats = self.cluster.client.indices.stats(
                index=self.cluster.index, params={"level": "shards"}
            )
        seen = [
            (index["uuid"], shard, copy["seq_no"]["max_seq_no"])
            for index in stats["indices"].values()
            for shard, copies in index["shards"].items()
            for copy in copies
            if copy["routing"]["primary"]
        ]
        return hashlib.sha256(json.dumps(sorted(seen)).encode()).hexdigest()

    def get(self, identifier: str) -> Article | None:
        """Return the article of a PMID (`123`, `PMID 123`) or a DOI, in any spelling.

        Raises:
            CorpusError: The cluster cannot be reached, has no such index, or refuses.
        """
        from opensearchpy.exceptions import NotFoundError

        name = bare_identifier(identifier)
        if not name:
            return None
        if name.startswith("10."):
            by_doi = {"query": {"term": {"doi": name}}, "size": 1}
            found = self.ask(by_doi)
            return found[0][0] if found else None
        with self.cluster.explained():
            try:
                return article_of(
                    self.cluster.client.get(index=self.cluster.index, id=name)["_source"]
                )
            except NotFoundError as error:
                # A missing index is a 404 too.
                if isinstance(error.info, dict) and error.info.get("found") is False:
                    return None
                raise

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return the best `k` articles by BM25, at most 10,000; each shares a word with the query.

        Raises:
            CorpusError: The cluster cannot be reached, has no such index, or refuses.
        """
        if k < 1 or not query.strip():
            return []
        return [Hit(*found) for found in self.ask(query_body(query, k, filters))]

    def count(self) -> int:
        """Return how many articles a search sees.

        Raises:
            CorpusError: The cluster cannot be reached, has no such index, or refuses.
        """
        with self.cluster.explained():
            return int(self.cluster.client.count(index=self.cluster.index)["count"])

    def load(
        self, items: Iterable[Article | Deletion], embedder: NamedEncoder | None = None
    ) -> int:
        """Load articles into the index, created if missing, and delete some.

        An article that exists already is replaced; deleting one that does not exist does nothing.
        Requests that the cluster is too busy for are retried after 1 s, 2 s, 4 s and so on, at most
        8 times. Changes before an error remain; loading again is safe.

        Args:
            items: In the order in which they revise each other; consumed lazily, so of any number.
            embedder: Makes a vector of each article; None for an index without vectors.

        Returns:
            How many articles were loaded; close versions of one article count once.

        Raises:
            CorpusError: The cluster cannot be reached, rejects an item, or has other vectors.
        """
        n_loaded = 0
        ensure_index(self.cluster, embedder)
        for batch in batches(items):
            n_loaded += send(self.cluster, batch, n_loaded, embedder)
        with self.cluster.explained():
            self.cluster.client.indices.refresh(index=self.cluster.index)
        return n_loaded

    def ask(self, body: dict[str, Any]) -> list[tuple[Article, float]]:
        """Return articles and scores of a search by its body, as OpenSearch takes it.

        Raises:
            CorpusError: The cluster cannot be reached, has no such index, refuses, or answers in
                part only.
        """
        with self.cluster.explained():
            reply = self.cluster.client.search(index=self.cluster.index, body=body)
        # A search of some shards only would look like one of all.
        if reply.get("timed_out") or reply["_shards"]["failed"]:
            raise CorpusError(
                f"index {self.cluster.index!r} answered in part only: {reply['_shards']};"
                " see whether all of the cluster's machines are up"
            )
        return [(article_of(hit["_source"]), hit["_score"]) for hit in reply["hits"]["hits"]]
