"""A corpus on disk, five abstracts or all of PubMed: BM25 by tantivy, articles by id and DOI."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.errors import CorpusError
from ragassay.extras import need
from ragassay.rebuilt import Rebuilt
from ragassay.records import Article
from ragassay.retrievers.disk.ledger import Ledger, read_ledger
from ragassay.retrievers.literature import ANY, Filters, Hit, bare_identifier

if TYPE_CHECKING:
    import tantivy

INDEX = "index"

N_A_PAGE = 500
"""Articles that `DiskCorpus.pages` keeps in memory at a time."""


class DiskCorpus(Rebuilt):
    """A corpus written by `ragassay corpus build`. Safe across threads; never written to.

    Args:
        folder: The corpus.

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
                stored = self._stored(segment, start, n)
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

    def _stored(self, segment: int, start: int, n: int) -> dict[int, Article]:
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
