"""A corpus on disk, which consists of a list of source files and a tantivy index."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from ragassay.errors import CorpusError, InputError
from ragassay.extras import need
from ragassay.formats.retrieval import iter_corpus
from ragassay.models.weights import compute_sha256
from ragassay.process import Rebuilt
from ragassay.records import Article, Document, Frozen, Rejection
from ragassay.retrievers.literature import ANY, Filters, Hit, strip_article_id
from ragassay.store import convert_storage_errors

if TYPE_CHECKING:
    import tantivy

    from ragassay.retrievers.pubmed.xml import Deletion


_PUBMED = re.compile(r"^pubmed(\d+)n(\d+)\.xml(\.gz)?$")
_XML = (".xml", ".xml.gz")
_MEDLINE = (".nbib", ".nbib.gz", ".medline", ".txt")
_JSON = (".jsonl", ".jsonl.gz", ".json", ".json.gz")


def find_sources(paths: Sequence[Path]) -> list[Path]:
    """Return the files to read, given a list of files and folders, without duplicates.

    PubMed baseline and update files come last, in numeric order, because later files revise earlier
    files. Files of other kinds keep their order.

    Raises:
        InputError: A file is missing or has an unsupported type, a folder contains no supported
            files, or two files have the same name.
    """
    files: list[Path] = []
    for path in paths:
        files += _list_sources(path) if path.is_dir() else [_check_source(path)]
    unique = list({os.path.realpath(path): path for path in files}.values())
    name, count = Counter(path.name for path in unique).most_common(1)[0] if unique else ("", 0)
    if count > 1:
        raise InputError(f"two files are named {name}; files of a corpus need unique names")
    return sorted(unique, key=lambda path: parse_pubmed_number(path.name) or (0, 0))


def parse_pubmed_number(name: str) -> tuple[int, int] | None:
    """Return year and number of a PubMed file, such as (26, 1274) for `pubmed26n1274.xml.gz`."""
    match = _PUBMED.match(name)
    return (int(match[1]), int(match[2])) if match else None


def iter_source(path: Path) -> Iterator[Document | Deletion | Rejection]:
    """Yield the documents, deletions and rejections in a file, in order."""
    if path.name.endswith(_XML):
        from ragassay.retrievers.pubmed.xml import iter_pubmed_xml

        return iter(iter_pubmed_xml(path))
    if path.name.endswith(_MEDLINE):
        from ragassay.retrievers.pubmed.medline import iter_nbib

        return iter(iter_nbib(path))
    return iter_corpus(path)


def _list_sources(folder: Path) -> list[Path]:
    paths = sorted(path for path in folder.iterdir() if path.name.endswith((*_XML, *_MEDLINE[:2])))
    if not paths:
        raise InputError(f"{folder} has no .xml, .xml.gz or .nbib files")
    return paths


def _check_source(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path} does not exist")
    if not path.name.endswith((*_XML, *_MEDLINE, *_JSON)):
        known = ", ".join((*_XML, *_MEDLINE, *_JSON))
        raise InputError(f"{path} has an unsupported file type; use one of {known}")
    return path


LEDGER = "corpus.json"
VERSION = 1


class SourceFile(Frozen):
    """A file that was added to a corpus.

    Attributes:
        n_items: Number of items read so far: articles, deletions and rejections.
        n_articles: Number of new and revised articles read so far.
        n_rejected: Number of items that could not be read.
        is_complete: Whether the whole file was read.
    """

    name: str
    sha256: str
    n_items: int = Field(default=0, ge=0)
    n_articles: int = Field(default=0, ge=0)
    n_deleted: int = Field(default=0, ge=0)
    n_rejected: int = Field(default=0, ge=0)
    is_complete: bool = False


class Ledger(Frozen):
    """The source files of a corpus, in the order in which they were added."""

    version: int = VERSION
    files: tuple[SourceFile, ...] = ()

    def with_file(self, file: SourceFile) -> Ledger:
        """Return a copy of the list in which a file is replaced or appended."""
        files = {known.name: known for known in self.files} | {file.name: file}
        return self.model_copy(update={"files": tuple(files.values())})

    def find(self, name: str) -> SourceFile | None:
        """Return the source file with the given name, or None if the list does not contain it."""
        return next((file for file in self.files if file.name == name), None)


def read_ledger(folder: Path) -> Ledger:
    """Read the list of source files of a corpus.

    Raises:
        CorpusError: The list is missing or cannot be read.
    """
    path = folder / LEDGER
    try:
        ledger = Ledger.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise CorpusError(
            f"{folder} is not a corpus, because it has no {LEDGER}; build a corpus with "
            "`ragassay corpus build`"
        ) from None
    except (OSError, ValidationError) as error:
        raise CorpusError(f"{path} cannot be read: {error}") from error
    if ledger.version != VERSION:
        raise CorpusError(
            f"{path} has the unsupported version {ledger.version}; rebuild the corpus"
        )
    return ledger


def write_ledger(folder: Path, ledger: Ledger) -> None:
    """Replace the list of source files of a corpus atomically."""
    partial = folder / f".{LEDGER}.partial"
    with convert_storage_errors(partial), partial.open("w", encoding="utf-8") as file:
        file.write(ledger.model_dump_json(indent=2))
        file.flush()
        os.fsync(file.fileno())
    partial.replace(folder / LEDGER)


def describe_new_file(path: Path, ledger: Ledger) -> tuple[Path, SourceFile] | None:
    """Return a file with its description, or None if the corpus contains the whole file.

    Raises:
        InputError: The corpus contains a different file with the same name.
    """
    known, digest = ledger.find(path.name), compute_sha256(path)
    if known is None:
        return path, SourceFile(name=path.name, sha256=digest)
    if known.sha256 != digest:
        raise InputError(
            f"{path} differs from the file with this name in the corpus; rename the file or "
            "rebuild the corpus"
        )
    return None if known.is_complete else (path, known)


def check_order(new: Sequence[SourceFile], ledger: Ledger) -> None:
    """Check that new PubMed files are not older than files in the corpus.

    An older file could undo revisions of articles.

    Raises:
        InputError: A file is older than a file in the corpus.
    """
    done = [
        n for file in ledger.files if file.is_complete and (n := parse_pubmed_number(file.name))
    ]
    for file in new:
        number = parse_pubmed_number(file.name)
        if number and done and number < max(done):
            raise InputError(
                f"{file.name} is older than some files in the corpus, which may contain revisions "
                "of its articles; rebuild the corpus with all files"
            )


def add_counts(file: SourceFile, counts: Counter[str]) -> SourceFile:
    """Return a file's description with counts added to the fields of the same name."""
    added = {name: getattr(file, name) + n for name, n in counts.items()}
    return file.model_copy(update={**added, "n_items": file.n_items + counts.total()})


INDEX = "index"

PAGE_SIZE = 500
"""Default number of articles per page in `DiskCorpus.pages`."""


class DiskCorpus(Rebuilt):
    """Read-only corpus that `ragassay corpus build` created. Thread-safe.

    Raises:
        CorpusError: The folder contains no corpus, or the corpus is damaged.
    """

    def __init__(self, folder: Path) -> None:
        need("tantivy")
        import tantivy

        from ragassay.retrievers.disk.schema import ANALYZER, build_analyzer

        self.folder = folder
        self.ledger: Ledger = read_ledger(folder)
        try:
            self._index = tantivy.Index.open(str(folder / INDEX))
        except (ValueError, OSError) as error:
            raise CorpusError(f"the index of {folder} cannot be opened: {error}") from error
        self._index.register_tokenizer(ANALYZER, build_analyzer())
        self._index.reload()
        self._searcher = self._index.searcher()

    def __len__(self) -> int:
        return self._searcher.num_docs

    @property
    def sha256(self) -> str:
        """Hash of the list of source files and their contents."""
        return hashlib.sha256(self.ledger.model_dump_json().encode()).hexdigest()

    def get(self, identifier: str) -> Article | None:
        """Return the article with the given PMID (`123`, `PMID 123`) or DOI, or None."""
        from tantivy import Query

        name = strip_article_id(identifier)
        field = "doi" if name.startswith("10.") else "id"
        query: tantivy.Query = Query.term_query(self._index.schema, field, name, "basic")
        hits = self._searcher.search(query, 1, count=False).hits
        return self._read_article(hits[0][1]) if hits else None

    def select(self, identifiers: Sequence[str]) -> dict[str, Article]:
        """Return the articles with the given ids, keyed by id, without missing articles."""
        if not identifiers:
            return {}
        articles = map(self._read_article, self._find(identifiers))
        return {article.id: article for article in articles}

    def iter_pages(self, n: int = PAGE_SIZE) -> Iterator[list[Article]]:
        """Yield all articles in pages, in an order that stays the same until the corpus changes.

        Args:
            n: Maximum number of articles per page, at least 1.

        Raises:
            CorpusError: An article cannot be read.
        """
        n_read = 0
        for segment in range(self._searcher.num_segments):
            for start in itertools.count(0, n):
                stored = self._read_segment(segment, start, n)
                existing = self._drop_deleted(segment, stored)
                n_read += len(existing)
                if existing:
                    yield existing
                if len(stored) < n:
                    break
        if n_read != len(self):
            raise CorpusError(
                f"the index of {self.folder} is damaged: only {n_read:,} of {len(self):,} articles "
                "can be read; rebuild the corpus"
            )

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return the best `k` articles that share a word with the query, ranked by BM25."""
        from ragassay.retrievers.disk.schema import build_query

        built = build_query(self._index.schema, query, filters)
        if built is None or k < 1:
            return []
        hits = self._searcher.search(built, k, count=False).hits
        return [Hit(self._read_article(address), score) for score, address in hits]

    def _find(self, names: Sequence[str]) -> list[tantivy.DocAddress]:
        from tantivy import Query

        query = Query.term_set_query(self._index.schema, "id", list(names))
        hits = self._searcher.search(query, len(names), count=False).hits
        return [address for _, address in hits]

    def _read_article(self, address: tantivy.DocAddress) -> Article:
        from ragassay.retrievers.disk.schema import read_stored_article

        return read_stored_article(self._searcher.doc(address))

    def _read_segment(self, segment: int, start: int, n: int) -> dict[int, Article]:
        """Return up to `n` articles of an index segment by position, including deleted articles."""
        import tantivy

        from ragassay.retrievers.disk.schema import read_stored_article

        articles: dict[int, Article] = {}
        for position in range(start, start + n):
            try:
                row = self._searcher.doc(tantivy.DocAddress(segment, position))
            except ValueError:  # Past the end of the segment.
                break
            articles[position] = read_stored_article(row)
        return articles

    def _drop_deleted(self, segment: int, stored: dict[int, Article]) -> list[Article]:
        if not stored:
            return []
        addresses = self._find(sorted({article.id for article in stored.values()}))
        positions = {address.doc for address in addresses if address.segment_ord == segment}
        return [article for position, article in stored.items() if position in positions]
