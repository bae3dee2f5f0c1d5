"""A corpus on disk, five abstracts or all of PubMed: BM25 by tantivy, articles by id and DOI."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.errors import CorpusError
from ragassay.records import Article
from ragassay.retrievers.disk.ledger import Ledger, read_ledger
from ragassay.retrievers.literature import ANY, Filters, Hit, bare_identifier

if TYPE_CHECKING:
    import tantivy

INDEX = "index"


class DiskCorpus:
    """A corpus that `ragassay corpus build` wrote. Safe across threads; never written to.

    Args:
        folder: The corpus.

    Raises:
        CorpusError: The folder holds no corpus, or a damaged one.
    """

    def __init__(self, folder: Path) -> None:
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
        """Hash of what the corpus was built from, file by file in order."""
        return hashlib.sha256(self.ledger.model_dump_json().encode()).hexdigest()

    def get(self, identifier: str) -> Article | None:
        """The article of a PMID (`123`, `PMID 123`) or a DOI, in any of its spellings."""
        name = bare_identifier(identifier)
        return self._one("doi", name) if name.startswith("10.") else self._one("id", name)

    def search(self, query: str, k: int = 10, filters: Filters = ANY) -> list[Hit]:
        """The best `k` articles by BM25; each shares a word with the query."""
        from ragassay.retrievers.disk.schema import build_query, document_of

        asked = build_query(self._index.schema, query, filters)
        if asked is None or k < 1:
            return []
        found = self._searcher.search(asked, k, count=False).hits
        return [Hit(document_of(self._searcher.doc(place)), score) for score, place in found]

    def _one(self, field: str, value: str) -> Article | None:
        from tantivy import Query

        from ragassay.retrievers.disk.schema import document_of

        term: tantivy.Query = Query.term_query(self._index.schema, field, value, "basic")
        hits = self._searcher.search(term, 1, count=False).hits
        return document_of(self._searcher.doc(hits[0][1])) if hits else None
