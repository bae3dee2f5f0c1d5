"""A corpus past one machine: articles in an OpenSearch or Elasticsearch cluster."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from ragassay.errors import CorpusError, InputError
from ragassay.records import Article
from ragassay.retrievers.literature import ANY, Filters, Hit, bare_identifier, day_number

if TYPE_CHECKING:
    from opensearchpy import OpenSearch

TITLE_BOOST = 0.2
"""Weight of a match in the title beside one in title and abstract together, as on one machine."""

_KEPT_ONLY: Final = {"type": "keyword", "index": False, "doc_values": False}
_FOLDED: Final = {"type": "keyword", "normalizer": "folded"}

INDEX_BODY: Final[dict[str, Any]] = {
    "settings": {
        "analysis": {"normalizer": {"folded": {"type": "custom", "filter": ["lowercase"]}}}
    },
    "mappings": {
        "dynamic": "strict",
        "properties": {
            "id": {"type": "keyword"},
            "doi": {"type": "keyword"},
            "title": {"type": "text", "analyzer": "english", "copy_to": "words"},
            "text": {"type": "text", "index": False, "copy_to": "words"},
            "words": {"type": "text", "analyzer": "english"},
            "publication_types": _FOLDED,
            "notices": {"type": "keyword"},
            "day": {"type": "integer"},
            "published": _KEPT_ONLY,
            "journal": _KEPT_ONLY,
            "mesh": _KEPT_ONLY,
            "links": {"type": "object", "enabled": False},
            "version": {"type": "integer", "index": False, "doc_values": False},
        },
    },
}
"""Settings and mapping of the index. Shards and replicas are the cluster's own: add them to taste.

`words` is title and abstract as one field, by the English analyzer; `day` is the publication date
as a number (20200309; 20200000 for "2020") and `notices` what `Article.notices` says, both only
there to filter by. An article's own fields come back as they went in.
"""

_DERIVED = ("notices", "day")
_MOST_HITS = 10_000
"""`index.max_result_window`, unless somebody has raised it."""

_MOST_WORDS = 400
"""A cluster refuses a query of more than 1,024 clauses; a word is one in each of two fields."""

_CHUNK_BYTES = 10 * 2**20


def source_of(article: Article) -> dict[str, Any]:
    """The document that stands for an article in the index."""
    source = article.model_dump(mode="json", exclude_defaults=True)
    if article.notices:
        source["notices"] = list(article.notices)
    if article.published:
        source["day"] = day_number(article.published)
    return source


def article_of(source: dict[str, Any]) -> Article:
    """The article of a document."""
    return Article.model_validate({k: v for k, v in source.items() if k not in _DERIVED})


def bulk_lines(articles: Iterable[Article]) -> Iterator[str]:
    """NDJSON for `POST /INDEX/_bulk`: two lines an article, each with its line end.

    The id in the cluster is the PMID, so a later version of an article takes the earlier one's
    place, and a load can be repeated. A request's body should stay below some tens of MB.

    Example:
        >>> print("".join(bulk_lines([Article(id="1", text="Aspirin helps.")])), end="")
        {"index":{"_id":"1"}}
        {"id":"1","text":"Aspirin helps."}
    """
    for article in articles:
        for line in ({"index": {"_id": article.id}}, source_of(article)):
            yield json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n"


def query_body(query: str, k: int, filters: Filters) -> dict[str, Any]:
    """The body of `_search`: any of the query's words, the more and the rarer the better.

    Nothing in a query is an operator: `multi_match` takes its text as text.
    """
    words = " ".join(query.split()[:_MOST_WORDS])
    fields = ["words", f"title^{TITLE_BOOST}"]
    asked: dict[str, list[dict[str, Any]]] = {
        "must": [{"multi_match": {"query": words, "type": "most_fields", "fields": fields}}]
    }
    days: dict[str, int] = {}
    if filters.since:
        days["gte"] = day_number(filters.since)
    if filters.until:
        days["lte"] = day_number(filters.until, last=True)
    kept: list[dict[str, Any]] = [{"range": {"day": days}}] if days else []
    if filters.types:
        kept.append({"terms": {"publication_types": list(filters.types)}})
    if kept:
        asked["filter"] = kept
    if filters.no_retracted:
        asked["must_not"] = [{"term": {"notices": "retracted"}}]
    return {"query": {"bool": asked}, "size": min(k, _MOST_HITS), "track_total_hits": False}


class ClusterCorpus:
    """Articles in an index of OpenSearch or Elasticsearch. Safe across threads.

    Args:
        hosts: One or more addresses: "https://search.example.org:9200".
        index: An index that was made with `INDEX_BODY`, or an alias of one.
        auth: User and password.
        ca_certs: Certificates to trust; None for the usual ones.
        timeout_s: Longest wait for one answer.

    Raises:
        InputError: opensearch-py is not installed, or the hosts make no sense to it.
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
        """Hash of the index's identity and of how many changes each shard has seen.

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
        """The article of a PMID (`123`, `PMID 123`) or a DOI, in any of its spellings.

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
        """The best `k` articles by BM25, at most 10,000; each shares a word with the query.

        Raises:
            CorpusError: The cluster cannot be reached, has no such index, or refuses.
        """
        if k < 1 or not query.strip():
            return []
        return [Hit(*found) for found in self._search(query_body(query, k, filters))]

    def load(self, articles: Iterable[Article]) -> int:
        """Put articles into the index, which is made where it is missing.

        An article that is there already is replaced. Requests that the cluster is too busy for
        are sent again, after 1 s, 2 s, 4 s and so on, at most 8 times. What was loaded before an
        error stays, and loading again does no harm.

        Args:
            articles: Taken as they are needed, so any number.

        Returns:
            How many were put in.

        Raises:
            CorpusError: The cluster cannot be reached, or does not take an article.
        """
        from opensearchpy.helpers import streaming_bulk

        n_loaded = 0
        with self._explained():
            if not self._client.indices.exists(index=self._index):
                self._client.indices.create(index=self._index, body=INDEX_BODY)
            results = streaming_bulk(
                self._client,
                ({"_index": self._index, "_id": a.id, "_source": source_of(a)} for a in articles),
                max_chunk_bytes=_CHUNK_BYTES,
                raise_on_error=False,
                max_retries=8,
                initial_backoff=1,
                max_backoff=60,
            )
            for was_taken, result in results:
                if not was_taken:
                    (item,) = result.values()
                    raise CorpusError(
                        f"index {self._index!r} does not take article {item.get('_id')!r}"
                        f" (after {n_loaded} others): {item.get('error')}"
                    )
                n_loaded += 1
            self._client.indices.refresh(index=self._index)
        return n_loaded

    def _search(self, body: dict[str, Any]) -> list[tuple[Article, float]]:
        with self._explained():
            reply = self._client.search(index=self._index, body=body)
        # A search of some shards only would pass for one of all.
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
    try:
        from opensearchpy import ImproperlyConfigured, OpenSearch
    except ImportError as error:
        raise InputError(
            "a corpus in a cluster needs opensearch-py: pip install 'ragassay[cluster]'"
        ) from error
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
