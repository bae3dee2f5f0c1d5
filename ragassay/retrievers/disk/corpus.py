"""A corpus on disk: its source files in a ledger, BM25 by tantivy, articles by id and DOI."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from ragassay.errors import CorpusError, InputError
from ragassay.extras import need
from ragassay.formats.retrieval import iter_corpus
from ragassay.models.weights import sha256_of
from ragassay.process import Rebuilt
from ragassay.records import Article, Document, Frozen, Rejection
from ragassay.retrievers.literature import ANY, Filters, Hit, bare_identifier
from ragassay.store import storing

if TYPE_CHECKING:
    import tantivy

    from ragassay.retrievers.pubmed.xml import Deletion


_PUBMED = re.compile(r"^pubmed(\d+)n(\d+)\.xml(\.gz)?$")
_XML = (".xml", ".xml.gz")
_MEDLINE = (".nbib", ".nbib.gz", ".medline", ".txt")
_JSON = (".jsonl", ".jsonl.gz", ".json", ".json.gz")


def find_sources(given: Sequence[Path]) -> list[Path]:
    """Return the files to read, each once: folders are searched, PubMed's own files in their order.

    Baseline and update files revise each other and are read by number; all other files are read
    first, in the given order.

    Raises:
        InputError: A file is missing or of unknown kind, or a folder has none.
    """
    files: list[Path] = []
    for path in given:
        files += _files_in(path) if path.is_dir() else [_check_source(path)]
    unique = list({os.path.realpath(path): path for path in files}.values())
    names = [path.name for path in unique]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two files are called {name}: a corpus knows its files by their name")
    other = [path for path in unique if not pubmed_number(path.name)]
    ours = [path for path in unique if pubmed_number(path.name)]
    return [*other, *sorted(ours, key=lambda path: pubmed_number(path.name) or (0, 0))]


def pubmed_number(name: str) -> tuple[int, int] | None:
    """Return year and number of one of PubMed's files: (26, 1274) of `pubmed26n1274.xml.gz`."""
    match = _PUBMED.match(name)
    return (int(match[1]), int(match[2])) if match else None


def iter_source(path: Path) -> Iterator[Document | Deletion | Rejection]:
    """Read a file item by item, in its order."""
    if path.name.endswith(_XML):
        from ragassay.retrievers.pubmed.xml import iter_pubmed_xml

        return iter(iter_pubmed_xml(path))
    if path.name.endswith(_MEDLINE):
        from ragassay.retrievers.pubmed.medline import iter_nbib

        return iter(iter_nbib(path))
    return iter_corpus(path)


def _files_in(folder: Path) -> Iterable[Path]:
    found = sorted(path for path in folder.iterdir() if path.name.endswith((*_XML, *_MEDLINE[:2])))
    if not found:
        raise InputError(f"{folder} has no .xml, .xml.gz or .nbib file")
    return found


def _check_source(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path} does not exist")
    if not path.name.endswith((*_XML, *_MEDLINE, *_JSON)):
        known = ", ".join((*_XML, *_MEDLINE, *_JSON))
        raise InputError(f"{path} is of no kind that a corpus can be built from: {known}")
    return path


LEDGER = "corpus.json"
VERSION = 1


class SourceFile(Frozen):
    """A file that was read, or is being read, into the corpus.

    Attributes:
        name: Its name, without folders.
        sha256: Hash of its bytes.
        n_items: Articles, deletions and rejections that are committed.
        n_articles: Articles among them, new ones and revisions.
        n_deleted: Deletions among them.
        n_rejected: Items that could not be read.
        is_complete: Whether its end was reached.
    """

    name: str
    sha256: str
    n_items: int = Field(default=0, ge=0)
    n_articles: int = Field(default=0, ge=0)
    n_deleted: int = Field(default=0, ge=0)
    n_rejected: int = Field(default=0, ge=0)
    is_complete: bool = False


class Ledger(Frozen):
    """The files of a corpus, in the order in which they were added."""

    version: int = VERSION
    files: tuple[SourceFile, ...] = ()

    def with_file(self, file: SourceFile) -> Ledger:
        """Return the ledger with a file's state, in its place or at the end."""
        names = [known.name for known in self.files]
        if file.name not in names:
            return self.model_copy(update={"files": (*self.files, file)})
        files = tuple(file if known.name == file.name else known for known in self.files)
        return self.model_copy(update={"files": files})

    def find(self, name: str) -> SourceFile | None:
        """Return the file of this name, or None."""
        return next((file for file in self.files if file.name == name), None)


def read_ledger(folder: Path) -> Ledger:
    """Read the ledger of a corpus.

    Raises:
        CorpusError: There is none, or it cannot be read.
    """
    path = folder / LEDGER
    try:
        ledger = Ledger.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise CorpusError(
            f"{folder} is not a corpus: it has no {LEDGER}; build one with `ragassay corpus build`"
        ) from None
    except (OSError, ValidationError) as error:
        raise CorpusError(f"{path} cannot be read: {error}") from error
    if ledger.version != VERSION:
        raise CorpusError(f"{path} is of version {ledger.version}; rebuild the corpus")
    return ledger


def write_ledger(folder: Path, ledger: Ledger) -> None:
    """Replace the ledger in one step."""
    partial = folder / f".{LEDGER}.partial"
    with storing(partial), partial.open("w", encoding="utf-8") as file:
        file.write(ledger.model_dump_json(indent=2))
        file.flush()
        os.fsync(file.fileno())
    partial.replace(folder / LEDGER)


def fingerprint_of(path: Path, ledger: Ledger) -> tuple[Path, SourceFile] | None:
    """Return a file to read with its entry in the ledger; None where the corpus has all of it.

    Raises:
        InputError: The corpus has another file of this name.
    """
    known, digest = ledger.find(path.name), sha256_of(path)
    if known is None:
        return path, SourceFile(name=path.name, sha256=digest)
    if known.sha256 != digest:
        raise InputError(
            f"{path} differs from the file of this name that is in the corpus; "
            "give it another name, or rebuild the corpus"
        )
    return None if known.is_complete else (path, known)


def check_order(new: Sequence[SourceFile], ledger: Ledger) -> None:
    """Check the order of PubMed's files: an older one would undo the revisions of a newer one.

    Raises:
        InputError: A file is older than one that the corpus has.
    """
    done = [n for file in ledger.files if file.is_complete and (n := pubmed_number(file.name))]
    for file in new:
        number = pubmed_number(file.name)
        if number and done and number < max(done):
            raise InputError(
                f"{file.name} is older than files that are in the corpus, which may revise it; "
                "rebuild the corpus with all of them"
            )


def add_counts(file: SourceFile, counts: Counter[str]) -> SourceFile:
    """Return a file's entry with further items counted, by the names of its fields."""
    added = {name: getattr(file, name) + n for name, n in counts.items()}
    return file.model_copy(update={**added, "n_items": file.n_items + counts.total()})


INDEX = "index"

N_A_PAGE = 500
"""Articles that `DiskCorpus.pages` keeps in memory at a time."""


class DiskCorpus(Rebuilt):
    """A corpus written by `ragassay corpus build`. Safe across threads; never written to.

    Raises:
        CorpusError: The folder has no corpus, or a damaged one.
    """

    def __init__(self, folder: Path) -> None:
        need("tantivy")
        import tantivy

        from ragassay.retrievers.disk.schema import ANALYZER, analyzer

        self.folder = folder
        self.ledger: Ledger = read_ledger(folder)
        try:
            self._index = tantivy.Index.open(str(folder / INDEX))
        except (ValueError, OSError) as error:
            raise CorpusError(f"the index of {folder} cannot be opened: {error}") from error
        self._index.register_tokenizer(ANALYZER, analyzer())
        self._index.reload()
        self._searcher = self._index.searcher()

    def __len__(self) -> int:
        return self._searcher.num_docs

    @property
    def sha256(self) -> str:
        """Hash of the files that the corpus was built from, in order."""
        return hashlib.sha256(self.ledger.model_dump_json().encode()).hexdigest()

    def get(self, identifier: str) -> Article | None:
        """Return the article of a PMID (`123`, `PMID 123`) or a DOI, in any spelling."""
        name = bare_identifier(identifier)
        return self._one("doi", name) if name.startswith("10.") else self._one("id", name)

    def select(self, identifiers: Sequence[str]) -> dict[str, Article]:
        """Return the articles of these ids in the corpus' order; missing ones are left out."""
        from tantivy import Query

        if not identifiers:
            return {}
        asked = Query.term_set_query(self._index.schema, "id", list(identifiers))
        hits = self._searcher.search(asked, len(identifiers), count=False).hits
        return {article.id: article for article in (self._read(place) for _, place in hits)}

    def pages(self, n: int = N_A_PAGE) -> Iterator[list[Article]]:
        """Yield all articles, page by page; the order is stable while the corpus is.

        Args:
            n: Most articles of a page, at least 1; no more are in memory.

        Raises:
            CorpusError: An article cannot be read.
        """
        n_read = 0
        for segment in range(self._searcher.num_segments):
            for start in itertools.count(0, n):
                stored = self._read_segment(segment, start, n)
                living = self._living(segment, stored)
                n_read += len(living)
                if living:
                    yield living
                if len(stored) < n:
                    break
        if n_read != len(self):
            raise CorpusError(
                f"{self.folder}: {n_read:,} of {len(self):,} articles can be read; the index is "
                "damaged: rebuild the corpus"
            )

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """Return the best `k` articles by BM25; each shares a word with the query."""
        from ragassay.retrievers.disk.schema import build_query

        asked = build_query(self._index.schema, query, filters)
        if asked is None or k < 1:
            return []
        found = self._searcher.search(asked, k, count=False).hits
        return [Hit(self._read(place), score) for score, place in found]

    def _one(self, field: str, value: str) -> Article | None:
        from tantivy import Query

        term: tantivy.Query = Query.term_query(self._index.schema, field, value, "basic")
        hits = self._searcher.search(term, 1, count=False).hits
        return self._read(hits[0][1]) if hits else None

    def _read(self, place: tantivy.DocAddress) -> Article:
        from ragassay.retrievers.disk.schema import document_of

        return document_of(self._searcher.doc(place))

    def _read_segment(self, segment: int, start: int, n: int) -> dict[int, Article]:
        """Return up to `n` articles of a segment by position; deleted ones are still there."""
        import tantivy

        from ragassay.retrievers.disk.schema import document_of

        found: dict[int, Article] = {}
        for place in range(start, start + n):
            try:
                row = self._searcher.doc(tantivy.DocAddress(segment, place))
            except ValueError:  # Past the segment's end, which tantivy-py does not report.
                break
            found[place] = document_of(row)
        return found

    def _living(self, segment: int, stored: dict[int, Article]) -> list[Article]:
        """Return those that a search still finds, in their order."""
        from tantivy import Query

        if not stored:
            return []
        names = sorted({article.id for article in stored.values()})
        asked = Query.term_set_query(self._index.schema, "id", names)
        hits = self._searcher.search(asked, len(names), count=False).hits
        places = {place.doc for _, place in hits if place.segment_ord == segment}
        return [article for place, article in stored.items() if place in places]
