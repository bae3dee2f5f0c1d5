"""How the vectors of articles lie in Chroma, and how filters are asked of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from ragassay.errors import CorpusError, SettingsError
from ragassay.records import Article
from ragassay.retrievers.literature import Filters, day_number

if TYPE_CHECKING:
    from chromadb.api.client import Client

VECTORS = "vectors"
"""The folder of a corpus in which Chroma keeps its vectors, where no server does."""

MEND = "if its files are damaged, remove {where} and embed again"

Facts = dict[str, str | int | bool | list[str] | None]
"""What stands beside a vector: the digest of its text, and what filters ask for."""


def embedded_text(article: Article) -> str:
    """What of an article is embedded: "title. abstract".

    Example:
        >>> embedded_text(Article(id="1", title="Aspirin", text="It helps."))
        'Aspirin. It helps.'
    """
    title = article.title.strip()
    if title and title[-1] not in ".!?:":
        title += "."
    return f"{title} {article.text.strip()}".strip()


def facts_of(article: Article) -> Facts:
    """What is kept beside the vector of an article; the day is 0 where it is unknown."""
    facts: Facts = {
        "digest": hashlib.sha256(embedded_text(article).encode()).hexdigest()[:32],
        "day": day_number(article.published) if article.published else 0,
        "retracted": "retracted" in article.notices,
    }
    if kinds := sorted({kind.lower() for kind in article.publication_types}):
        facts["types"] = kinds
    return facts


def replacing(facts: Facts, stored: Mapping[str, Any] | None) -> Facts:
    """Facts that replace stored ones: Chroma merges, and forgets only what is set to None."""
    return {**dict.fromkeys(stored or ()), **facts}


def where_of(filters: Filters) -> dict[str, Any] | None:
    """Chroma's `where` for filters, of the same meaning as `is_kept`; None for all articles.

    `no_retracted` is not in it: Chroma lists all articles that pass before it searches, and nearly
    all pass. It is for whoever searches to drop the few.
    """
    asked: list[dict[str, Any]] = []
    if filters.since:
        asked.append({"day": {"$gte": day_number(filters.since)}})
    if filters.until:
        asked.append({"day": {"$gte": 1}})
        asked.append({"day": {"$lte": day_number(filters.until, last=True)}})
    if filters.types:
        kinds = sorted({kind.lower() for kind in filters.types})
        asked.append(_joined("$or", [{"types": {"$contains": kind}} for kind in kinds]))
    return _joined("$and", asked) if asked else None


def _joined(operator: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Chroma takes `$and` and `$or` for two or more."""
    return {operator: parts} if len(parts) > 1 else parts[0]


def connect(folder: Path, url: str) -> Client:
    """Chroma in a corpus' folder, or the server at an address. Nothing is sent to anybody else.

    Args:
        folder: The corpus.
        url: "http://host:8000" or "https://host"; empty for the folder.

    Raises:
        SettingsError: The address is none that Chroma takes.
        CorpusError: The server cannot be reached, or the folder is damaged.
    """
    import chromadb
    from chromadb.config import Settings

    # `_env_file`: Chroma would read any `.env` that happens to lie in the working directory.
    settings = cast(Any, Settings)(_env_file=None, anonymized_telemetry=False)
    if not url:
        with explained(str(folder / VECTORS)):
            path = str((folder / VECTORS).resolve())
            return cast("Client", chromadb.PersistentClient(path, settings))
    host, port, ssl = _address(url)
    try:
        with explained(url):
            return cast("Client", chromadb.HttpClient(host, port, ssl, settings=settings))
    except ValueError as error:
        # How its client says that a server is not there.
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
def explained(where: str) -> Iterator[None]:
    """Turn what Chroma raises into a `CorpusError` that says where.

    Raises:
        CorpusError: Chroma raised something.
    """
    import httpx
    from chromadb.errors import ChromaError

    try:
        yield
    except httpx.HTTPError as error:
        if not where.startswith("http"):  # Somebody else's: a model that is being fetched.
            raise
        raise CorpusError(f"cannot reach the Chroma server at {where}: {error}") from error
    except ChromaError as error:
        mend = "" if where.startswith("http") else f"; {MEND.format(where=where)}"
        raise CorpusError(f"Chroma at {where} refuses: {error}{mend}") from error
