"""Build a corpus on disk, file by file, and resume interrupted builds."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.errors import CorpusError
from ragassay.records import Document, Rejection
from ragassay.retrievers.disk.corpus import (
    INDEX,
    LEDGER,
    Ledger,
    SourceFile,
    add_counts,
    check_order,
    describe_new_file,
    find_sources,
    iter_source,
    read_ledger,
    write_ledger,
)
from ragassay.store import convert_storage_errors, lock_file

if TYPE_CHECKING:
    import tantivy

    from ragassay.retrievers.pubmed.xml import Deletion

REJECTED = "rejected.jsonl"

N_ITEMS_A_COMMIT = 50_000
"""Number of items per commit. An interruption loses at most the items of one commit."""

HEAP_BYTES = 240_000_000
"""Memory in bytes that the threads of the tantivy writer share."""

N_THREADS = 2


@dataclass(frozen=True)
class BuildEvent:
    """Progress of building a corpus.

    Attributes:
        n_files: Number of finished files.
        n_items: Number of items read from the current file.
    """

    file: str
    n_files: int
    n_items: int


def build_corpus(
    sources: Sequence[Path],
    folder: Path,
    listen: Callable[[BuildEvent], None] = lambda event: None,
) -> Ledger:
    """Build or update a corpus. Files that the corpus already contains are skipped.

    A record replaces earlier records with the same id, and a deletion removes them. Files are
    identified by name and content.

    Args:
        sources: Files and folders to read, as in `find_sources`.
        folder: Folder of the corpus, which is created if it does not exist.

    Returns:
        List of the files in the corpus.

    Raises:
        InputError: A file is invalid, or older than files in the corpus.
        CorpusError: The folder is not empty and contains no corpus, or another process is building
            the corpus.
        StorageError: The disk is full.
    """
    files = find_sources(sources)
    folder.mkdir(parents=True, exist_ok=True)
    with lock_file(folder / ".lock", CorpusError(f"another process is building {folder}")):
        ledger = _open_ledger(folder)
        new = [fingerprint for path in files if (fingerprint := describe_new_file(path, ledger))]
        check_order([fingerprint for _, fingerprint in new], ledger)
        _truncate_rejections(folder, sum(file.n_rejected for file in ledger.files))
        if not new:
            return ledger
        with _IndexWriter(folder, ledger) as writer:
            for n_done, (path, fingerprint) in enumerate(new):
                writer.add_file(
                    path, fingerprint, lambda n, p=path, d=n_done: listen(BuildEvent(p.name, d, n))
                )
        listen(BuildEvent(new[-1][0].name, len(new), writer.ledger.files[-1].n_items))
        return writer.ledger


def _open_ledger(folder: Path) -> Ledger:
    if (folder / LEDGER).exists():
        return read_ledger(folder)
    others = [p.name for p in folder.iterdir() if not p.name.startswith(".") and p.name != INDEX]
    if others:
        raise CorpusError(
            f"{folder} is not a corpus and contains {others[0]!r}; use an empty folder"
        )
    ledger = Ledger()
    write_ledger(folder, ledger)
    return ledger


def _truncate_rejections(folder: Path, n_lines: int) -> None:
    """Remove rejections that an interrupted build wrote without committing their file."""
    path = folder / REJECTED
    if path.exists():
        kept = path.read_bytes().splitlines(keepends=True)[:n_lines]
        os.truncate(path, sum(len(line) for line in kept))


class _IndexWriter:
    """Adds files to the index and to the list of source files of a corpus."""

    def __init__(self, folder: Path, ledger: Ledger) -> None:
        import tantivy

        from ragassay.retrievers.disk.schema import ANALYZER, build_analyzer, build_schema

        self.ledger = ledger
        self._folder = folder
        (folder / INDEX).mkdir(exist_ok=True)
        self._index = tantivy.Index(build_schema(), str(folder / INDEX), reuse=True)
        self._index.register_tokenizer(ANALYZER, build_analyzer())
        self._writer: tantivy.IndexWriter = self._index.writer(HEAP_BYTES, N_THREADS)
        self._begin()

    def __enter__(self) -> _IndexWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._writer.wait_merging_threads()

    def add_file(self, path: Path, file: SourceFile, listen: Callable[[int], None]) -> None:
        """Add the items of a file that are not in the corpus yet, and commit regularly."""
        counts = Counter[str]()
        n_before = file.n_items
        for item in itertools.islice(iter_source(path), n_before, None):
            counts[self._add(item)] += 1
            n_new = counts.total()
            if n_new % 1000 == 0:
                listen(n_before + n_new)
            if n_new % N_ITEMS_A_COMMIT == 0:
                self._commit(add_counts(file, counts))
        self._commit(add_counts(file, counts).model_copy(update={"is_complete": True}))
        listen(n_before + counts.total())

    def _add(self, item: Document | Deletion | Rejection) -> str:
        """Add an item and return the name of the `SourceFile` field that counts it."""
        from ragassay.retrievers.disk.schema import build_index_row

        if isinstance(item, Rejection):
            self._rejections.append(item)
            return "n_rejected"
        if item.id in self._fresh or self._searcher.doc_freq("id", item.id):
            self._writer.delete_documents_by_term("id", item.id)
        if not isinstance(item, Document):
            return "n_deleted"
        with convert_storage_errors(
            self._folder / INDEX, ValueError
        ):  # Raised by tantivy if the disk is full.
            self._writer.add_document(build_index_row(item))
        self._fresh.add(item.id)
        return "n_articles"

    def _commit(self, file: SourceFile) -> None:
        """Commit the index before the list of source files.

        After an interruption between the two steps, some items are read and added again, which
        replaces them.
        """
        with convert_storage_errors(self._folder / INDEX, ValueError):
            self._writer.commit()
        if self._rejections:
            rejected = self._folder / REJECTED
            with convert_storage_errors(rejected), rejected.open("a", encoding="utf-8") as lines:
                lines.writelines(f"{r.model_dump_json()}\n" for r in self._rejections)
        self.ledger = self.ledger.with_file(file)
        write_ledger(self._folder, self.ledger)
        self._begin()

    def _begin(self) -> None:
        """Reload the index, so that it contains all committed items, and start a new batch."""
        self._index.reload()
        self._searcher = self._index.searcher()
        self._fresh: set[str] = set()
        self._rejections: list[Rejection] = []
