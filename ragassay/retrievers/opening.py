"""Open the corpus that a user names, searched by words, by meaning, or by both."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragassay.errors import CorpusError, InputError, SettingsError
from ragassay.formats import read_corpus
from ragassay.models.embeddings import Embedder
from ragassay.models.weights import sha256_of
from ragassay.records import Article, Document, FileFingerprint, Rejection
from ragassay.retrievers.dense.index import DenseIndex
from ragassay.retrievers.disk.corpus import LEDGER, DiskCorpus
from ragassay.retrievers.evidence import RRF_K, reciprocal_rank_fusion
from ragassay.retrievers.literature import ANY, Corpus, Filters, Hit, Literature
from ragassay.safe_text import without_secrets
from ragassay.settings import Settings
from ragassay.store import hash_of

if TYPE_CHECKING:
    from ragassay.retrievers.dense.index import NamedEncoder


FUSED_DEPTH = 100
"""Fewest hits of each ranking that are fused: one that is tenth in both beats one that is first
in only one."""


class DenseCorpus:
    """A corpus searched by the cosine similarity of query and article. Safe across threads.

    Args:
        corpus: The corpus that has the articles.
    """

    def __init__(self, corpus: DiskCorpus, index: DenseIndex) -> None:
        self.folder = corpus.folder
        self._corpus = corpus
        self._index = index

    @property
    def sha256(self) -> str:
        """Hash of the corpus, of the embedder, and of this way of searching."""
        return hash_of("dense", self._index.sha256)

    def get(self, identifier: str) -> Article | None:
        """Return the article of a PMID or a DOI, in any spelling."""
        return self._corpus.get(identifier)

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return the `k` articles most like the query, with their cosines in [-1, 1].

        Unlike a search by words, it finds something for any query except an empty one.

        Raises:
            CorpusError: The vectors changed while the corpus was open, or cannot be reached.
        """
        found = self._index.nearest(query, k, filters)
        articles = self._corpus.select([name for name, _ in found])
        if len(articles) < len(found):
            raise CorpusError(
                f"the vectors of {self._corpus.folder} changed since they were opened: open again"
            )
        return [Hit(articles[name], score) for name, score in found]


class HybridCorpus:
    """Two searches of the same articles, fused by reciprocal rank. Safe across threads.

    Args:
        lexical: Searches by words; has the articles.
        dense: Searches by meaning.
    """

    def __init__(self, lexical: Literature, dense: Literature) -> None:
        self.folder = getattr(lexical, "folder", None)
        self._lexical = lexical
        self._dense = dense

    @property
    def sha256(self) -> str:
        """Hash of both, and of how they are fused."""
        return hash_of("hybrid", self._lexical.sha256, self._dense.sha256, RRF_K, FUSED_DEPTH)

    def get(self, identifier: str) -> Document | None:
        """Return the document of an id from the search by words."""
        return self._lexical.get(identifier)

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return the `k` best documents of both searches, with fused scores in (0, 2 / 61]."""
        if k < 1:
            return []
        depth = max(k, FUSED_DEPTH)
        rankings = [place.search(query, depth, filters) for place in (self._lexical, self._dense)]
        documents = {hit.document.id: hit.document for found in rankings for hit in found}
        fused = reciprocal_rank_fusion([[hit.document.id for hit in found] for found in rankings])
        return [Hit(documents[name], score) for name, score in fused[:k]]


LIVE = "pubmed"
"""The name of PubMed itself, over the network."""

_ADDRESS = re.compile(r"https?:/", re.IGNORECASE)
"""Matches a path too, in which "//" has become "/"."""

Way = Literal["bm25", "dense", "hybrid"]


@dataclass(frozen=True)
class OpenedCorpus:
    """A corpus, ready to be searched.

    Attributes:
        fingerprint: Its identity, for the manifest.
        rejections: Lines that could not be read.
        note: What the user should know about the search; usually empty.
    """

    literature: Literature
    fingerprint: FileFingerprint
    rejections: tuple[Rejection, ...] = ()
    note: str = ""


def open_literature(
    where: str | Path, settings: Settings, embedder: NamedEncoder | None = None
) -> OpenedCorpus:
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
        return _open_built_corpus(
            path, settings, embedder or Embedder(settings.literature.embedder)
        )
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
    fingerprint = FileFingerprint(
        name=path.name, sha256=sha256_of(path), n_items=len(found.documents), format="jsonl"
    )
    return OpenedCorpus(Corpus(found.documents), fingerprint, found.rejections)


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


def _open_built_corpus(path: Path, settings: Settings, embedder: NamedEncoder) -> OpenedCorpus:
    corpus = DiskCorpus(path)
    way, note = _way(corpus, settings, embedder)
    url = settings.literature.chroma_url
    literature = corpus if way == "bm25" else _by_vectors(corpus, way, embedder, url)
    fingerprint = FileFingerprint(
        name=path.name,
        sha256=literature.sha256,
        n_items=len(corpus),
        format="corpus" if way == "bm25" else f"corpus, {way}",
    )
    return OpenedCorpus(literature, fingerprint, note=note)


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
    index = DenseIndex(corpus, embedder, url)
    dense = DenseCorpus(corpus, index)
    return dense if way == "dense" else HybridCorpus(corpus, dense)


def _live(settings: Settings) -> OpenedCorpus:
    from ragassay.retrievers.pubmed.live import LivePubMed

    key = (
        settings.literature.ncbi_api_key.get_secret_value()
        if settings.literature.ncbi_api_key
        else None
    )
    live = LivePubMed(settings.literature.cache_dir / "pubmed", key, settings.literature.ncbi_email)
    return OpenedCorpus(
        live, FileFingerprint(name=LIVE, sha256=live.sha256, n_items=0, format="live")
    )
