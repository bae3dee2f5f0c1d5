"""A corpus larger than one machine: articles in an OpenSearch or Elasticsearch cluster."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ragassay.errors import CorpusError, InputError
from ragassay.extras import need
from ragassay.rebuilt import Rebuilt
from ragassay.records import Article
from ragassay.retrievers.cluster.schema import INDEX_BODY, article_of, query_body, source_of
from ragassay.retrievers.literature import ANY, Filters, Hit, bare_identifier

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

    from ragassay.retrievers.pubmed.xml import Deletion

_N_A_BATCH = 500
_CHUNK_BYTES = 10 * 2**20


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
        self._index = index
        self._client = _connect(hosts, auth, ca_certs, timeout_s)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

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
        with self._explained():
            stats = self._client.indices.stats(index=self._index, params={"level": "shards"})
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
            found = self._search(by_doi)
            return found[0][0] if found else None
        with self._explained():
            try:
                return article_of(self._client.get(index=self._index, id=name)["_source"])
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
        return [Hit(*found) for found in self._search(query_body(query, k, filters))]

    def count(self) -> int:
        """Return how many articles a search sees.

        Raises:
            CorpusError: The cluster cannot be reached, has no such index, or refuses.
        """
        with self._explained():
            return int(self._client.count(index=self._index)["count"])

    def load(self, items: Iterable[Article | Deletion]) -> int:
        """Load articles into the index, created if missing, and delete some.

        An article that exists already is replaced; deleting one that does not exist does nothing.
        Requests that the cluster is too busy for are retried after 1 s, 2 s, 4 s and so on, at most
        8 times. Changes before an error remain; loading again is safe.

        Args:
            items: In the order in which they revise each other; consumed lazily, so of any number.

        Returns:
            How many articles were loaded; close versions of one article count once.

        Raises:
            CorpusError: The cluster cannot be reached, or rejects an item.
        """
        n_loaded = 0
        with self._explained():
            if not self._client.indices.exists(index=self._index):
                self._client.indices.create(index=self._index, body=INDEX_BODY)
            for batch in _batches(items):
                n_loaded += self._carry_out(batch, n_loaded)
            self._client.indices.refresh(index=self._index)
        return n_loaded

    def _carry_out(self, batch: Sequence[Article | Deletion], n_before: int) -> int:
        from opensearchpy.helpers import streaming_bulk

        n_loaded = 0
        results = streaming_bulk(
            self._client,
            (_action(item, self._index) for item in batch),
            max_chunk_bytes=_CHUNK_BYTES,
            raise_on_error=False,
            max_retries=8,
            initial_backoff=1,
            max_backoff=60,
        )
        for was_taken, result in results:
            if not was_taken and not _is_absent(result):
                raise self._refusal(result, n_before + n_loaded)
            n_loaded += "index" in result
        return n_loaded

    def _refusal(self, result: dict[str, Any], n_loaded: int) -> CorpusError:
        ((action, item),) = result.items()
        what = "take" if action == "index" else "delete"
        return CorpusError(
            f"index {self._index!r} does not {what} article {item.get('_id')!r}"
            f" (after {n_loaded} others): {item.get('error')}"
        )

    def _search(self, body: dict[str, Any]) -> list[tuple[Article, float]]:
        with self._explained():
            reply = self._client.search(index=self._index, body=body)
        # A search of some shards only would look like one of all.
        if reply.get("timed_out") or reply["_shards"]["failed"]:
            raise CorpusError(
                f"index {self._index!r} answered in part only: {reply['_shards']}; see whether all"
                " of the cluster's machines are up"
            )
        return [(article_of(hit["_source"]), hit["_score"]) for hit in reply["hits"]["hits"]]

    @contextmanager
    def _explained(self) -> Iterator[None]:
        from opensearchpy import exceptions

        try:
            yield
        except exceptions.ConnectionError as error:
            raise CorpusError(
                f"cannot reach the cluster: check its address and the network ({error})"
            ) from error
        except exceptions.NotFoundError as error:
            raise CorpusError(
                f"the cluster has no index {self._index!r}: make it with ClusterCorpus.load"
            ) from error
        except exceptions.OpenSearchException as error:
            raise CorpusError(f"the cluster refuses: {error}") from error


def _connect(
    hosts: str | Sequence[str],
    auth: tuple[str, str] | None,
    ca_certs: Path | None,
    timeout_s: float,
) -> OpenSearch:
    need("opensearchpy")
    from opensearchpy import ImproperlyConfigured, OpenSearch

    options: dict[str, Any] = {"ca_certs": str(ca_certs)} if ca_certs else {}
    try:
        return OpenSearch(
            hosts=[hosts] if isinstance(hosts, str) else list(hosts),
            http_auth=auth,
            timeout=timeout_s,
            **options,
        )
    except (ImproperlyConfigured, ValueError) as error:
        shown = re.sub(r"//[^/@]*@", "//***@", repr(hosts))
        raise InputError(f"hosts={shown} cannot be connected to: {error}") from error


def _batches(items: Iterable[Article | Deletion]) -> Iterator[list[Article | Deletion]]:
    """Yield items in order, in batches of a hundred; each id once a batch, in its last version.

    Items that a busy cluster rejects are sent again after the rest of their batch, which would undo
    a revision or deletion in the same batch.
    """
    remaining = iter(items)
    while window := list(itertools.islice(remaining, _N_A_BATCH)):
        yield list({item.id: item for item in window}.values())


def _action(item: Article | Deletion, index: str) -> dict[str, Any]:
    where = {"_index": index, "_id": item.id}
    if isinstance(item, Article):
        return {**where, "_source": source_of(item)}
    return {**where, "_op_type": "delete"}


def _is_absent(result: dict[str, Any]) -> bool:
    """Return whether the article of a deletion was gone already, which is fine."""
    return result.get("delete", {}).get("status") == 404
