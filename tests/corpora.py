"""Corpora on disk, built from items in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragassay.records import Document, Rejection
from ragassay.retrievers.disk import build
from ragassay.retrievers.disk.build import build_corpus
from ragassay.retrievers.disk.corpus import DiskCorpus
from ragassay.retrievers.pubmed.xml import Deletion


def add_to_corpus(folder: Path, *items: Document | Deletion | Rejection) -> DiskCorpus:
    """Add items to the corpus in a folder as one more file, and open it."""
    file = folder / f"{len(list(folder.iterdir()))}.jsonl"
    file.write_text(file.name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "iter_source", lambda path: iter(items))
        build_corpus([file], folder / "corpus")
    return DiskCorpus(folder / "corpus")
