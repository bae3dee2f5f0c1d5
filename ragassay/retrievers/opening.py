"""Open a corpus for keyword search, vector search or a combination of both."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragassay.errors import CorpusError, InputError, SettingsError
from ragassay.formats import read_corpus
from ragassay.models.embeddings import Embedder
from ragassay.models.weights import compute_sha256
from ragassay.records import Article, Document, FileFingerprint, Rejection
from ragassay.retrievers.dense.index import DenseIndex
from ragassay.retrievers.disk.corpus import LEDGER, DiskCorpus
from ragassay.retrievers.evidence import RRF_K, reciprocal_rank_fusion
from ragassay.retrievers.literature import ANY, Corpus, Filters, Hit, Literature
from ragassay.safe_text import hide_secrets
from ragassay.settings import Settings
from ragassay.store import hash_parts

if TYPE_CHECKING:
    from ragassay.retrievers.dense.index import NamedEncoder


FUSED_DEPTH = 100
"""Minimum number of hits of each search that hybrid search combines."""


class DenseCorpus:
    """A corpus that is searched by the cosine similarity of query and article. Thread-safe."""

    def __init__(self, corpus: DiskCorpus, index: DenseIndex) -> None:
        self.folder = corpus.folder
        self._corpus = corpus
        self._index = index

    @property
    def sha256(self) -> str:
        """Hash of the corpus, the embedding model and the search method."""
        return hash_parts("dense", self._index.sha256)

    def get(self, identifier: str) -> Article | None:
        """Return the article with the given PMID or DOI, or None if there is none."""
        return self._corpus.get(identifier)

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return the `k` articles most similar to the query, with cosines in [-1, 1] as scores.

        In contrast to keyword search, every query that is not blank has hits.

        Raises:
            CorpusError: The vectors changed while the corpus was open, or cannot be reached.
        """
        neighbors = self._index.find_nearest(query, k, filters)
        articles = self._corpus.select([name for name, _ in neighbors])
        if len(articles) < len(neighbors):
            raise CorpusError(
                f"the vectors of {self._corpus.folder} have changed; open the corpus again"
            )
        return [Hit(articles[name], score) for name, score in neighbors]


class HybridCorpus:
    """Combines keyword and vector search of a corpus by reciprocal rank fusion. Thread-safe.

    Args:
        lexical: The corpus with keyword search, which `get` uses.
        dense: The same corpus with vector search.
    """

    def __init__(self, lexical: Literature, dense: Literature) -> None:
        self.folder = getattr(lexical, "folder", None)
        self._lexical = lexical
        self._dense = dense

    @property
    def sha256(self) -> str:
        """Hash of the keyword search, the vector search and the parameters of the fusion."""
        return hash_parts("hybrid", self._lexical.sha256, self._dense.sha256, RRF_K, FUSED_DEPTH)

    def get(self, identifier: str) -> Document | None:
        """Return the document with the given id, or None if there is none."""
        return self._lexical.get(identifier)

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return the best `k` documents of both searches, with fused scores in (0, 2 / 61]."""
        if k < 1:
            return []
        depth = max(k, FUSED_DEPTH)
        rankings = [s.search(query, depth, filters) for s in (self._lexical, self._dense)]
        documents = {hit.document.id: hit.document for hits in rankings for hit in hits}
        fused = reciprocal_rank_fusion([[hit.document.id for hit in hits] for hits in rankings])
        return [Hit(documents[name], score) for name, score in fused[:k]]


LIVE = "pubmed"
"""Corpus name that selects PubMed over the network."""

_ADDRESS = re.compile(r"https?:/", re.IGNORECASE)
"""Matches URLs, also after conversion to a path, which shortens "//" to "/"."""

Way = Literal["bm25", "dense", "hybrid"]


@dataclass(frozen=True)
class OpenedCorpus:
    """A corpus that is ready to be searched.

    Attributes:
        fingerprint: Name, hash and size of the corpus, for the manifest of a run.
        rejections: Lines of the corpus file that could not be read.
        note: Message for the user, for example if the vectors cannot be used.
    """

    literature: Literature
    fingerprint: FileFingerprint
    rejections: tuple[Rejection, ...] = ()
    note: str = ""


def open_literature(
    where: str | Path, settings: Settings, embedder: NamedEncoder | None = None
) -> OpenedCorpus:
    """Open a corpus.

    Args:
        where: Folder of a built corpus, file with documents, or "pubmed" for PubMed over the
            network.
        settings: Settings, of which `search` affects only built corpora.
        embedder: Embedding model for queries, or None to load the model in the settings.

    Raises:
        InputError: The file is missing or has no documents, or `where` is a URL.
        SettingsError: The settings require vectors, but the corpus is not a built corpus.
        CorpusError: The folder is not a corpus, the required vectors are missing, unfinished or
            stale, or a server cannot be reached.
    """
    path = Path(where)
    if path.is_dir() or (path / LEDGER).exists():
        embedder = embedder or Embedder(settings.literature.embedder)
        return _open_built_corpus(path, settings, embedder)
    require_local_path(where)
    is_live = str(where) == LIVE and not path.exists()
    search = settings.literature.search
    if search in ("dense", "hybrid") and (is_live or path.exists()):
        raise SettingsError(
            f"setting 'search' is {search!r}, but {str(where)!r} has no vectors; build a corpus "
            "with `ragassay corpus build` and `ragassay corpus embed`"
        )
    if is_live:
        return _open_live(settings)
    file = read_corpus(path)
    fingerprint = FileFingerprint(
        name=path.name, sha256=compute_sha256(path), n_items=len(file.documents), format="jsonl"
    )
    return OpenedCorpus(Corpus(file.documents), fingerprint, file.rejections)


def require_local_path(where: str | Path) -> None:
    """Check that the location of a corpus is not a URL.

    Raises:
        InputError: `where` is a URL.
    """
    if _ADDRESS.match(str(where)):
        raise InputError(
            f"{hide_secrets(str(where))} is a URL; to use a search server, pass a LangChain "
            "retriever from Python (`corpus=ElasticsearchRetriever(...)`)"
        )


def _open_built_corpus(path: Path, settings: Settings, embedder: NamedEncoder) -> OpenedCorpus:
    corpus = DiskCorpus(path)
    way, note = _choose_search(corpus, settings, embedder)
    literature: Literature = corpus
    if way != "bm25":
        index = DenseIndex(corpus, embedder, settings.literature.chroma_url)
        dense = DenseCorpus(corpus, index)
        literature = dense if way == "dense" else HybridCorpus(corpus, dense)
    fingerprint = FileFingerprint(
        name=path.name,
        sha256=literature.sha256,
        n_items=len(corpus),
        format="corpus" if way == "bm25" else f"corpus, {way}",
    )
    return OpenedCorpus(literature, fingerprint, note=note)


def _choose_search(
    corpus: DiskCorpus, settings: Settings, embedder: NamedEncoder
) -> tuple[Way, str]:
    if settings.literature.search != "auto":
        return settings.literature.search, ""
    from ragassay.retrievers.dense.index import check_vectors

    status = check_vectors(corpus, embedder, settings.literature.chroma_url)
    if status == "complete":
        return "hybrid", ""
    if status == "missing":
        return "bm25", ""
    problem = "not finished" if status == "unfinished" else "older than the corpus"
    return "bm25", (
        f"only keyword search is used, because the vectors of {corpus.folder} are {problem}; run "
        f"`ragassay corpus embed {corpus.folder} --embedder {embedder.name}`"
    )


def _open_live(settings: Settings) -> OpenedCorpus:
    from ragassay.retrievers.pubmed.live import LivePubMed

    options = settings.literature
    key = options.ncbi_api_key.get_secret_value() if options.ncbi_api_key else None
    live = LivePubMed(options.cache_dir / "pubmed", key, options.ncbi_email)
    return OpenedCorpus(
        live, FileFingerprint(name=LIVE, sha256=live.sha256, n_items=0, format="live")
    )
