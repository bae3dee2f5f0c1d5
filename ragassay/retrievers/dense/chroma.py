"""Connect to Chroma, and convert articles and filters to its format."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from ragassay.errors import CorpusError, SettingsError
from ragassay.extras import need
from ragassay.records import Article
from ragassay.retrievers.literature import Filters, compute_day_number

if TYPE_CHECKING:
    from chromadb.api.client import Client

VECTORS = "vectors"
"""Name of the folder in the corpus folder that contains the Chroma database, if there is no Chroma
server."""

REBUILD_HINT = "if the files are damaged, remove {where} and run `ragassay corpus embed` again"

Facts = dict[str, str | int | bool | list[str] | None]
"""Metadata of a vector: a hash of the embedded text, and the fields that filters use."""


def build_embedded_text(article: Article) -> str:
    """Return the text to embed for an article: "title. abstract".

    Example:
        >>> build_embedded_text(Article(id="1", title="Aspirin", text="It helps."))
        'Aspirin. It helps.'
    """
    title = article.title.strip()
    if title and title[-1] not in ".!?:":
        title += "."
    return f"{title} {article.text.strip()}".strip()


def build_vector_facts(article: Article) -> Facts:
    """Return the metadata of an article's vector, where `day` is 0 if the date is unknown."""
    facts: Facts = {
        "digest": hashlib.sha256(build_embedded_text(article).encode()).hexdigest()[:32],
        "day": compute_day_number(article.published) if article.published else 0,
        "retracted": "retracted" in article.notices,
    }
    if kinds := sorted({kind.lower() for kind in article.publication_types}):
        facts["types"] = kinds
    return facts


def build_replacement_facts(facts: Facts, stored: Mapping[str, Any] | None) -> Facts:
    """Return metadata that replaces the stored metadata when it is written to Chroma.

    Stored keys that are not in the new metadata get the value None, because Chroma keeps all other
    keys.
    """
    return {**dict.fromkeys(stored or ()), **facts}


def build_where_clause(filters: Filters) -> dict[str, Any] | None:
    """Return date and type filters as a Chroma `where` clause, or None if there are none.

    The clause does not exclude retracted articles, because Chroma would then list all other
    articles before each search. The caller removes retracted articles from the hits.
    """
    conditions: list[dict[str, Any]] = []
    if filters.since:
        conditions.append({"day": {"$gte": compute_day_number(filters.since)}})
    if filters.until:
        conditions.append({"day": {"$gte": 1}})
        conditions.append({"day": {"$lte": compute_day_number(filters.until, last=True)}})
    if filters.types:
        kinds = sorted({kind.lower() for kind in filters.types})
        conditions.append(_join_conditions("$or", [{"types": {"$contains": k}} for k in kinds]))
    return _join_conditions("$and", conditions) if conditions else None


def _join_conditions(operator: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Join conditions with an operator, which Chroma only accepts for two or more conditions."""
    return {operator: parts} if len(parts) > 1 else parts[0]


def connect(folder: Path, url: str) -> Client:
    """Connect to the Chroma database of a corpus, or to a Chroma server. Telemetry is disabled.

    Args:
        url: URL of a Chroma server, such as "http://host:8000", or empty for the database in the
            corpus folder.

    Raises:
        ExtraError: Chroma is not installed.
        SettingsError: The URL is invalid.
        CorpusError: The server cannot be reached, or the database is damaged.
    """
    need("chromadb")
    import chromadb
    from chromadb.config import Settings

    # By default, Chroma reads any `.env` in the working directory.
    settings = cast(Any, Settings)(_env_file=None, anonymized_telemetry=False)
    if not url:
        with explain_errors(str(folder / VECTORS)):
            path = str((folder / VECTORS).resolve())
            return cast("Client", chromadb.PersistentClient(path, settings))
    host, port, ssl = _parse_url(url)
    try:
        with explain_errors(url):
            return cast("Client", chromadb.HttpClient(host, port, ssl, settings=settings))
    except ValueError as error:  # Raised by the client if there is no server.
        raise CorpusError(f"cannot reach the Chroma server at {url}: {error}") from error


def _parse_url(url: str) -> tuple[str, int, bool]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise SettingsError("setting 'chroma_url' must be http://HOST:PORT") from None
    if parts.username or parts.password:
        raise SettingsError("setting 'chroma_url' must not contain a user name or password")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
        raise SettingsError(f"setting 'chroma_url' must be http://HOST:PORT, got {url!r}")
    ssl = parts.scheme == "https"
    return parts.hostname, port or (443 if ssl else 8000), ssl


@contextmanager
def explain_errors(where: str) -> Iterator[None]:
    """Convert Chroma errors to a `CorpusError` that names the folder or the server.

    Raises:
        CorpusError: Chroma raised an error.
    """
    need("chromadb")
    import httpx
    from chromadb.errors import ChromaError

    try:
        yield
    except httpx.HTTPError as error:
        if not where.startswith("http"):  # Raised for another service, such as a model download.
            raise
        raise CorpusError(f"cannot reach the Chroma server at {where}: {error}") from error
    except ChromaError as error:
        mend = "" if where.startswith("http") else f"; {REBUILD_HINT.format(where=where)}"
        raise CorpusError(f"Chroma at {where} failed: {error}{mend}") from error
