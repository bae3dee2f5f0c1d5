"""Parse PubMed XML in baseline files, update files and efetch responses.

The XML is not trusted. Entities are not expanded or fetched, and DTDs are not loaded. A file that
declares entities is rejected, and so is a record that refers to an entity. Only one record, of at
most `MAX_RECORD_BYTES`, is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lxml.etree import Entity, XMLPullParser, XMLSyntaxError, tostring
from lxml.etree import _Element as Element

from ragassay.formats.files import CORRUPTION_ERRORS, describe_corruption, open_binary
from ragassay.formats.items import Place, shorten_text
from ragassay.formats.papers.jats import (
    WHOLE_FILE,
    declares_entities,
    describe_xml_error,
    find_line_number,
    forget,
)
from ragassay.formats.problems import Problem, quote_text
from ragassay.records import Rejection
from ragassay.records.inputs import Article
from ragassay.retrievers.pubmed.article import read_article, read_book_article, read_pmid

MAX_RECORD_BYTES = 64 * 1024 * 1024
"""Maximum size of a PubMed record; to limit memory use, reading ends at a larger record."""

_CHUNK_BYTES = 64 * 1024
_READERS = {"PubmedArticle": read_article, "PubmedBookArticle": read_book_article}
_DELETIONS = "DeleteCitation"
_ROOTS = frozenset({"PubmedArticleSet", "PubmedBookArticleSet", *_READERS})
_EFETCH_NAME = "efetch"


@dataclass(frozen=True)
class Deletion:
    """An article that was deleted from PubMed, identified by its PMID."""

    id: str


PubmedItem = Article | Deletion | Rejection
"""An article, a deletion, or a rejected record of a PubMed file."""


def iter_pubmed_xml(path: Path) -> Iterator[PubmedItem]:
    """Parse a PubMed file in constant memory.

    Args:
        path: Path of a baseline file, update file or saved efetch response, which can be gzipped.

    Yields:
        Articles, deletions, and a rejection for each invalid record. If the file is truncated or
        not valid XML, the last item is a rejection.

    Raises:
        InputError: The file is missing, is a folder or cannot be opened.
    """
    with open_binary(path) as handle:
        # In contrast to `read`, `read1` returns the data before the end of a truncated gzip file.
        yield from _Stream(str(path)).read(iter(lambda: handle.read1(_CHUNK_BYTES), b""))


def read_efetch(data: bytes, name: str = _EFETCH_NAME) -> list[PubmedItem]:
    """Parse an efetch response (`db=pubmed`, `retmode=xml`).

    Returns:
        The items that `iter_pubmed_xml` would yield.
    """
    chunks = (data[i : i + _CHUNK_BYTES] for i in range(0, len(data), _CHUNK_BYTES))
    return list(_Stream(name).read(chunks))


class _Stream:
    """Parses a PubMed file in chunks."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._line = 1
        self._n_records = 0
        self._n_pending_bytes = 0
        self._over = False
        self._parser = XMLPullParser(
            events=("end",),
            tag=(*_READERS, _DELETIONS),
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
            remove_comments=True,
            remove_pis=True,
        )

    def read(self, chunks: Iterator[bytes]) -> Iterator[PubmedItem]:
        """Yield all items of the file; if the file is invalid, the last item is a rejection."""
        while not self._over:
            rejection = self._feed(chunks)
            for _, element in self._parser.read_events():
                if self._n_records == 0 and declares_entities(element):
                    yield self._reject_entities()
                    return
                self._n_records += 1
                self._n_pending_bytes = 0
                yield from self._parse_items(element)
                forget(element)
            if rejection is not None:
                yield rejection

    def _feed(self, chunks: Iterator[bytes]) -> Rejection | None:
        """Pass the next chunk to the parser, and return a rejection if the file is invalid."""
        try:
            chunk = next(chunks, b"")
            if chunk:
                self._parser.feed(chunk)
            else:
                self._over = True
                return self._check_root(self._parser.close())
        except XMLSyntaxError as error:
            self._over = True
            return self._reject(error.lineno or self._line, describe_xml_error(error))
        except CORRUPTION_ERRORS as error:
            self._over = True
            return self._reject(self._line, Problem("", describe_corruption(error), WHOLE_FILE))
        self._line += chunk.count(b"\n")
        self._n_pending_bytes += len(chunk)
        if self._n_pending_bytes <= MAX_RECORD_BYTES:
            return None
        self._over = True
        text = f"the record does not end within {MAX_RECORD_BYTES:,} bytes"
        return self._reject(self._line, Problem("", text, "shorter records"))

    def _check_root(self, root: Element) -> Rejection | None:
        if self._n_records:
            return None
        if declares_entities(root):
            return self._reject_entities()
        if root.tag in _ROOTS:
            return None
        error = " ".join((root.findtext("ERROR") or "").split())
        detail = f" with the error {quote_text(error)}" if error else ""
        text = f"the root element is {quote_text(root.tag)}{detail}"
        return self._reject(1, Problem("", text, "a PubmedArticleSet element"))

    def _parse_items(self, element: Element) -> Iterator[PubmedItem]:
        entity = next(element.iter(Entity), None)
        if entity is not None:
            text = (
                f"found a reference to the entity {quote_text(entity.text)}, which is not expanded"
            )
            yield self._reject_record(element, Problem("", text, "characters instead of entities"))
        elif element.tag == _DELETIONS:
            for child in element.iterchildren("PMID"):
                pmid = read_pmid(child)
                if isinstance(pmid, Problem):
                    yield self._reject_record(child, pmid)
                else:
                    yield Deletion(pmid[0])
        else:
            article = _READERS[element.tag](element)
            if isinstance(article, Problem):
                article = self._reject_record(element, article)
            yield article

    def _reject_entities(self) -> Rejection:
        text = "the file declares entities, so it was not read"
        return self._reject(1, Problem("", text, "an original PubMed file"))

    def _reject_record(self, element: Element, problem: Problem) -> Rejection:
        pmid = read_pmid(element.find("*/PMID"))
        prefix = "" if isinstance(pmid, Problem) else f"PMID {pmid[0]}: "
        content = tostring(element, encoding="unicode", with_tail=False)
        return self._reject(
            find_line_number(element) or self._line,
            Problem(problem.field, prefix + problem.text, problem.expected),
            shorten_text(content),
        )

    def _reject(self, line: int, problem: Problem, content: str = "") -> Rejection:
        return Place(self._name, line, f"line-{line}", content).reject(problem)
