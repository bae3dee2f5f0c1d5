"""Open the corpus that a user names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragassay.errors import InputError, SettingsError
from ragassay.formats import read_corpus
from ragassay.models.embeddings import Embedder
from ragassay.models.weights import sha256_of
from ragassay.records import FileStamp, Rejection
from ragassay.redaction import without_secrets
from ragassay.retrievers.disk.corpus import DiskCorpus
from ragassay.retrievers.disk.ledger import LEDGER
from ragassay.retrievers.literature import Literature
from ragassay.retrievers.memory import Corpus
from ragassay.settings import Settings

if TYPE_CHECKING:
    from ragassay.retrievers.dense.index import NamedEncoder

LIVE = "pubmed"
"""The name of PubMed itself, over the network."""

_ADDRESS = re.compile(r"https?:/", re.IGNORECASE)
"""Matches a path too, in which "//" has become "/"."""

Way = Literal["bm25", "dense", "hybrid"]


@dataclass(frozen=True)
class Opened:
    """A corpus, ready to be searched.

    Attributes:
        literature: The literature to search.
        stamp: Its identity, for the manifest.
        rejections: Lines that could not be read.
        note: What the user should know about the search; usually empty.
    """

    literature: Literature
    stamp: FileStamp
    rejections: tuple[Rejection, ...] = ()
    note: str = ""


def open_literature(
    where: str | Path, settings: Settings, embedder: NamedEncoder | None = None
) -> Opened:
    """Open the corpus that a user names.

    Args:
        where: A built corpus (a folder), a file of documents, or PubMed itself ("pubmed").
        settings: `search` selects how a built corpus is searched; others are searched by words.
        embedder: Encodes queries instead of the settings' embedder, so that its model is loaded
            once.

    Raises:
        InputError: The file is missing or has no documents, or `where` is an address.
        SettingsError: Vectors are requested where there can be none.
        CorpusError: The folder is not a corpus, the vectors that the settings require are missing,
            unfinished or stale, or a server cannot be reached.
    """
    path = Path(where)
    if path.is_dir() or (path / LEDGER).exists():
        return _built(path, settings, embedder or Embedder(settings.literature.embedder))
    refuse_address(where)
    is_live = str(where) == LIVE and not path.exists()
    search = settings.literature.search
    if search in ("dense", "hybrid") and (is_live or path.exists()):
        raise SettingsError(
            f"setting 'search' is {search!r}, but {str(where)!r} has no vectors: only a "
            "built corpus does (`ragassay corpus build`, then `ragassay corpus embed`)"
        )
    if is_live:
        return _live(settings)
    found = read_corpus(path)
    stamp = FileStamp(
        name=path.name, sha256=sha256_of(path), n_items=len(found.documents), format="jsonl"
    )
    return Opened(Corpus(found.documents), stamp, found.rejections)


def refuse_address(where: str | Path) -> None:
    """Refuse the address of a search server as a corpus.

    Raises:
        InputError: It is one.
    """
    if _ADDRESS.match(str(where)):
        raise InputError(
            f"{without_secrets(str(where))} is an address: a search server is given from Python, "
            "as a LangChain retriever (`corpus=ElasticsearchRetriever(...)`)"
        )


def _built(path: Path, settings: Settings, embedder: NamedEncoder) -> Opened:
    corpus = DiskCorpus(path)
    way, note = _way(corpus, settings, embedder)
    url = settings.literature.chroma_url
    literature = corpus if way == "bm25" else _by_vectors(corpus, way, embedder, url)
    stamp = FileStamp(
        name=path.name,
        sha256=literature.sha256,
        n_items=len(corpus),
        format="corpus" if way == "bm25" else f"corpus, {way}",
    )
    return Opened(literature, stamp, note=note)


def _way(corpus: DiskCorpus, settings: Settings, embedder: NamedEncoder) -> tuple[Way, str]:
    """Return how to search, and a note about it."""
    if settings.literature.search != "auto":
        return settings.literature.search, ""
    from ragassay.retrievers.dense.index import vectors_status

    status = vectors_status(corpus, embedder, settings.literature.chroma_url)
    if status == "complete":
        return "hybrid", ""
    if status == "missing":
        return "bm25", ""
    problem = "not finished" if status == "unfinished" else "older than the corpus"
    return "bm25", (
        f"searched by words alone: the vectors of {corpus.folder} are {problem} "
        f"(`ragassay corpus embed {corpus.folder} --embedder {embedder.name}` fixes that)"
    )


def _by_vectors(corpus: DiskCorpus, way: Way, embedder: NamedEncoder, url: str) -> Literature:
    from ragassay.retrievers.dense.index import DenseIndex
    from ragassay.retrievers.hybrid import DenseCorpus, HybridCorpus

    index = DenseIndex(corpus, embedder, url)
    dense = DenseCorpus(corpus, index)
    return dense if way == "dense" else HybridCorpus(corpus, dense)


def _live(settings: Settings) -> Opened:
    from ragassay.retrievers.pubmed.live import LivePubMed

    key = (
        settings.literature.ncbi_api_key.get_secret_value()
        if settings.literature.ncbi_api_key
        else None
    )
    live = LivePubMed(settings.literature.cache_dir / "pubmed", key, settings.literature.ncbi_email)
    return Opened(live, FileStamp(name=LIVE, sha256=live.sha256, n_items=0, format="live"))
