"""Schema and queries of articles in an OpenSearch or Elasticsearch index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from ragassay.records import Article
from ragassay.retrievers.literature import Filters, day_number

if TYPE_CHECKING:
    from ragassay.retrievers.pubmed.xml import Deletion

TITLE_BOOST = 0.2
"""Weight of a match in the title relative to title and abstract together, as on one machine."""

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
            "part_of": {"type": "keyword"},
            "url": _KEPT_ONLY,
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
"""Settings and mapping of the index. Shards and replicas are left to the cluster: add them as
needed.

`words` is title and abstract as one field, by the English analyzer; `day` is the publication date
as a number (20200309; 20200000 for "2020") and `notices` the article's `Article.notices`, both only
for filtering. An article's own fields are returned as they were stored.
"""

_DERIVED = ("notices", "day", "vector")
MOST_HITS = 10_000
"""`index.max_result_window`, by default."""

_MOST_WORDS = 400
"""A cluster refuses a query of more than 1,024 clauses; a word takes one in each of two fields."""


def source_of(article: Article) -> dict[str, Any]:
    """Return the index document of an article."""
    source = article.model_dump(mode="json", exclude_defaults=True)
    if article.notices:
        source["notices"] = list(article.notices)
    if article.published:
        source["day"] = day_number(article.published)
    return source


def article_of(source: dict[str, Any]) -> Article:
    """Return the article of a document."""
    return Article.model_validate({k: v for k, v in source.items() if k not in _DERIVED})


def bulk_lines(items: Iterable[Article | Deletion]) -> Iterator[str]:
    """Yield NDJSON for `POST /INDEX/_bulk`: two lines an article, one a deletion, with line ends.

    The id in the cluster is the PMID, so a later version of an article replaces the earlier one,
    and a load can be repeated. Keep a request's body below some tens of MB, and send requests in
    order.

    Example:
        >>> print("".join(bulk_lines([Article(id="1", text="Aspirin helps.")])), end="")
        {"index":{"_id":"1"}}
        {"id":"1","text":"Aspirin helps."}
    """
    for item in items:
        lines = [{"index": {"_id": item.id}}, source_of(item)] if isinstance(item, Article) else []
        for line in lines or [{"delete": {"_id": item.id}}]:
            yield json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n"


def query_body(query: str, k: int, filters: Filters) -> dict[str, Any]:
    """Return the body of `_search`: any of the query's words, the more and the rarer the better.

    A query has no operators: `multi_match` takes its text literally.
    """
    words = " ".join(query.split()[:_MOST_WORDS])
    fields = ["words", f"title^{TITLE_BOOST}"]
    match = {"multi_match": {"query": words, "type": "most_fields", "fields": fields}}
    asked = {"must": [match], **filter_clauses(filters)}
    return {"query": {"bool": asked}, "size": min(k, MOST_HITS), "track_total_hits": False}


def filter_clauses(filters: Filters) -> dict[str, list[dict[str, Any]]]:
    """Return the clauses of a `bool` query that keep what passes; empty where all does."""
    clauses: dict[str, list[dict[str, Any]]] = {}
    days: dict[str, int] = {}
    if filters.since:
        days["gte"] = day_number(filters.since)
    if filters.until:
        days["lte"] = day_number(filters.until, last=True)
    kept: list[dict[str, Any]] = [{"range": {"day": days}}] if days else []
    if filters.types:
        kept.append({"terms": {"publication_types": list(filters.types)}})
    if kept:
        clauses["filter"] = kept
    if filters.no_retracted:
        clauses["must_not"] = [{"term": {"notices": "retracted"}}]
    return clauses
