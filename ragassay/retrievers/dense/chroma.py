"""Store articles' vectors in Chroma, and translate filters."""

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
from ragassay.retrievers.literature import Filters, day_number

if TYPE_CHECKING:
    from chromadb.api.client import Client

VECTORS = "vectors"
"""The folder of a corpus in which Chroma keeps its vectors, unless a server does."""

MEND = "if its files are damaged, remove {where} and embed again"

Facts = dict[str, str | int | bool | list[str] | None]
"""Metadata of a vector: the digest of its text, and the fields that filters use."""


def embedded_text(article: Article) -> str:
    """Return the embedded text of an article: "title. abstract".

    Example:
        >>> embedded_text(Article(id="1", title="Aspirin", text="It helps."))
        'Aspirin. It helps.'
    """
    title = article.title.strip()
    if title and title[-1] not in ".!?:":
        title += "."
    return f"{title} {article.text.strip()}".strip()


def facts_of(article: Article) -> Facts:
    """Return the metadata of an article's vector; the day is 0 where it is unknown."""
    facts: Facts = {
        "digest": hashlib.sha256(embedded_text(article).encode()).hexdigest()[:32],
        "day": day_number(article.published) if article.published else 0,
        "retracted": "retracted" in article.notices,
    }
    if kinds := sorted({kind.lower() for kind in article.publication_types}):
        facts["types"] = kinds
    return facts


def replacing(facts: Facts, stored: Mapping[str, Any] | None) -> Facts:
    """Return metadata that replaces stored metadata: Chroma merges, and drops only what is None."""
    return {**dict.fromkeys(stored or ()), **facts}


def where_of(filters: Filters) -> dict[str, Any] | None:
    """Return Chroma's `where` for filters, equivalent to `is_kept`; None for all articles.

    `no_retracted` is not included: Chroma lists all articles that pass before it searches, and
    nearly all pass. The caller drops the few retracted ones.
    """
    asked: list[dict[str, Any]] = []
    if filters.since:
        asked.append({"day": {"$gte": day_number(filters.since)}})
    if filters.until:
        asked.append({"day": {"$gte": 1}})
        asked.append({"day": {"$lte": day_number(filters.until, last=True)}})
    if filters.types:
        kinds = sorted({kind.lower() for kind in filters.types})
        asked.append(_join_conditions("$or", [{"types": {"$contains": kind}} for kind in kinds]))
    return _join_conditions("$and", asked) if asked else None


def _join_conditions(operator: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Join conditions: Chroma takes `$and` and `$or` for two or more."""
    return {operator: parts} if len(parts) > 1 else parts[0]


def connect(folder: Path, url: str) -> Client:
    """Connect to Chroma in a corpus' folder, or to a server. Nothing is sent to anybody else.

    Args:
        url: "http://host:8000" or "https://host"; empty for the folder.

    Raises:
        ExtraError: Chroma is not installed.
        SettingsError: Chroma does not accept the address.
        CorpusError: The server cannot be reached, or the folder is damaged.
    """
    need("chromadb")
    import chromadb
    from chromadb.config import Settings

    # `_env_file`: Chroma would read any `.env` in the working directory.
    settings = cast(Any, Settings)(_env_file=None, anonymized_telemetry=False)
    if not url:
        with explain_errors(str(folder / VECTORS)):
            path = str((folder / VECTORS).resolve())
            return cast("Client", chromadb.PersistentClient(path, settings))
    host, port, ssl = _address(url)
    try:
        with explain_errors(url):
            return cast("Client", chromadb.HttpClient(host, port, ssl, settings=settings))
    except ValueError as error:
        # Its client's way of saying that a server is not there.
        raise CorpusError(f"cannot reach the Chroma server at {url}: {error}") from error


def _address(url: str) -> tuple[str, int, bool]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise SettingsError("setting 'chroma_url': give http://HOST:PORT") from None
    if parts.username or parts.password:
        raise SettingsError("setting 'chroma_url': an address, without user and password")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
        raise SettingsError(f"setting 'chroma_url': give http://HOST:PORT, not {url!r}")
    ssl = parts.scheme == "https"
    return parts.hostname, port or (443 if ssl else 8000), ssl


@contextmanager
def explain_errors(where: str) -> Iterator[None]:
    """Turn Chroma's errors into a `CorpusError` that names the place.

    Raises:
        CorpusError: Chroma raised something.
    """
    need("chromadb")
    import httpx
    from chromadb.errors import ChromaError

    try:
        yield
    except httpx.HTTPError as error:
        if not where.startswith("http"):  # Another service: a model being downloaded.
            raise
        raise CorpusError(f"cannot reach the Chroma server at {where}: {error}") from error
    except ChromaError as error:
        mend = "" if where.startswith("http") else f"; {MEND.format(where=where)}"
        raise CorpusError(f"Chroma at {where} refuses: {error}{mend}") from error
