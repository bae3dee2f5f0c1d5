"""From what a user names as the corpus to the place that is searched."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ragassay.formats import read_corpus
from ragassay.models.weights import sha256_of
from ragassay.records import FileStamp, Rejection
from ragassay.retrievers.disk.corpus import DiskCorpus
from ragassay.retrievers.disk.ledger import LEDGER
from ragassay.retrievers.literature import Literature
from ragassay.retrievers.memory import Corpus
from ragassay.settings import Settings

LIVE = "pubmed"
"""Names PubMed itself, over the network."""


@dataclass(frozen=True)
class Opened:
    """A corpus, ready to be searched.

    Attributes:
        literature: What is searched.
        stamp: What it is, for the manifest.
        rejections: Lines that could not be read.
    """

    literature: Literature
    stamp: FileStamp
    rejections: tuple[Rejection, ...] = ()


def open_literature(where: str | Path, settings: Settings) -> Opened:
    """Open a built corpus (a folder), a file of documents, or PubMed itself ("pubmed").

    Raises:
        InputError: The file is missing or holds no documents.
        CorpusError: The folder is no corpus.
    """
    path = Path(where)
    if str(where) == LIVE and not path.exists():
        return _live(settings)
    if path.is_dir() or (path / LEDGER).exists():
        corpus = DiskCorpus(path)
        stamp = FileStamp(
            name=path.name, sha256=corpus.sha256, n_items=len(corpus), format="corpus"
        )
        return Opened(corpus, stamp)
    found = read_corpus(path)
    stamp = FileStamp(
        name=path.name, sha256=sha256_of(path), n_items=len(found.documents), format="jsonl"
    )
    return Opened(Corpus(found.documents), stamp, found.rejections)


def _live(settings: Settings) -> Opened:
    from ragassay.retrievers.pubmed.live import LivePubMed

    key = settings.ncbi_api_key.get_secret_value() if settings.ncbi_api_key else None
    live = LivePubMed(settings.cache_dir / "pubmed", key, settings.ncbi_email)
    return Opened(live, FileStamp(name=LIVE, sha256=live.sha256, n_items=0, format="live"))
