"""Stream articles from PubMed's XML: baseline and update files, responses of efetch.

The XML is not trusted: entities are never expanded nor fetched, and no DTD is loaded. A file that
declares entities is rejected, and so is a record that refers to one. One record is in memory at a
time, and none of more than `MAX_RECORD_BYTES`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lxml.etree import Entity, XMLPullParser, XMLSyntaxError, tostring
from lxml.etree import _Element as Element

from ragassay.formats.files import DAMAGE, damage_text, open_binary
from ragassay.formats.items import Place, shorten_text
from ragassay.formats.papers.jats import WHOLE_FILE, declares_entities, forget, line_of, not_xml
from ragassay.formats.problems import Problem, found_text
from ragassay.records import Rejection
from ragassay.records.inputs import Article
from ragassay.retrievers.pubmed.article import read_article, read_book_article, read_pmid

MAX_RECORD_BYTES = 64 * 1024 * 1024
"""More than this without the end of a record is not a PubMed file, and would fill the memory."""

_CHUNK_BYTES = 64 * 1024
_READERS = {"PubmedArticle": read_article, "PubmedBookArticle": read_book_article}
_DELETIONS = "DeleteCitation"
_ROOTS = frozenset({"PubmedArticleSet", "PubmedBookArticleSet", *_READERS})
_EFETCH_NAME = "efetch"


@dataclass(frozen=True)
class Deletion:
    """A record that PubMed withdrew.

    Attributes:
        id: Its PMID.
    """

    id: str


PubmedItem = Article | Deletion | Rejection
"""An item of a PubMed file."""


def iter_pubmed_xml(path: Path) -> Iterator[PubmedItem]:
    """Read a PubMed file, plain or gzip, in its order and in constant memory.

    Args:
        path: `pubmed26n0001.xml.gz`, an update file, or a saved response of efetch.

    Yields:
        Articles, deletions, and rejections with file, line and PMID where it is known. A bad record
        does not stop the others; where the file is truncated or stops being XML, a last rejection
        says so.

    Raises:
        InputError: the file is missing, is a folder or may not be opened.
    """
    with open_binary(path) as handle:
        # read1: a plain read loses the data unpacked before the place where a gzip file is
        # truncated.
        yield from _Stream(str(path)).read(iter(lambda: handle.read1(_CHUNK_BYTES), b""))


def read_efetch(data: bytes, name: str = _EFETCH_NAME) -> list[PubmedItem]:
    """Read a response of efetch (`db=pubmed`, `retmode=xml`).

    Args:
        data: The response's body.
        name: The file name in rejections.

    Returns:
        As `iter_pubmed_xml` yields; empty for a set without records.
    """
    chunks = (data[i : i + _CHUNK_BYTES] for i in range(0, len(data), _CHUNK_BYTES))
    return list(_Stream(name).read(chunks))


class _Stream:
    """A file being read.

    Args:
        name: As the user named it.
    """

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
        """Read everything; a problem with the file as a whole comes last."""
        while not self._over:
            trouble = self._feed(chunks)
            for _, element in self._parser.read_events():
                if self._n_records == 0 and declares_entities(element):
                    yield self._entities()
                    return
                self._n_records += 1
                self._n_pending_bytes = 0
                yield from self._items(element)
                forget(element)
            if trouble is not None:
                yield trouble

    def _feed(self, chunks: Iterator[bytes]) -> Rejection | None:
        """Pass the next chunk to the parser; at the end return what is wrong, if anything."""
        try:
            chunk = next(chunks, b"")
            if chunk:
                self._parser.feed(chunk)
            else:
                self._over = True
                return self._check_root(self._parser.close())
        except XMLSyntaxError as error:
            self._over = True
            return self._reject(error.lineno or self._line, not_xml(error))
        except DAMAGE as error:
            self._over = True
            return self._reject(self._line, Problem("", damage_text(error), WHOLE_FILE))
        self._line += chunk.count(b"\n")
        self._n_pending_bytes += len(chunk)
        if self._n_pending_bytes <= MAX_RECORD_BYTES:
            return None
        self._over = True
        text = f"no record ends within {MAX_RECORD_BYTES:,} bytes"
        return self._reject(self._line, Problem("", text, "records of ordinary length"))

    def _check_root(self, root: Element) -> Rejection | None:
        """Return what is wrong with a file that was read without finding a record, if anything."""
        if self._n_records:
            return None
        if declares_entities(root):
            return self._entities()
        if root.tag in _ROOTS:
            return None
        answer = " ".join((root.findtext("ERROR") or "").split())
        told = f", which says {found_text(answer)}" if answer else ""
        text = f"the root element is {found_text(root.tag)}{told}"
        return self._reject(1, Problem("", text, "a PubmedArticleSet"))

    def _items(self, element: Element) -> Iterator[PubmedItem]:
        entity = next(element.iter(Entity), None)
        if entity is not None:
            text = f"a reference to the entity {found_text(entity.text)}, which is not expanded"
            yield self._reject_record(element, Problem("", text, "characters themselves"))
        elif element.tag == _DELETIONS:
            for one in element.iterchildren("PMID"):
                pmid = read_pmid(one)
                if isinstance(pmid, Problem):
                    yield self._reject_record(one, pmid)
                else:
                    yield Deletion(pmid[0])
        else:
            article = _READERS[element.tag](element)
            if isinstance(article, Problem):
                article = self._reject_record(element, article)
            yield article

    def _entities(self) -> Rejection:
        text = "the file declares entities of its own; nothing in it was read"
        return self._reject(1, Problem("", text, "a file as PubMed distributes it"))

    def _reject_record(self, element: Element, problem: Problem) -> Rejection:
        pmid = read_pmid(element.find("*/PMID"))
        prefix = "" if isinstance(pmid, Problem) else f"PMID {pmid[0]}: "
        content = tostring(element, encoding="unicode", with_tail=False)
        return self._reject(
            line_of(element) or self._line,
            Problem(problem.field, prefix + problem.text, problem.expected),
            shorten_text(content),
        )

    def _reject(self, line: int, problem: Problem, content: str = "") -> Rejection:
        return Place(self._name, line, f"line-{line}", content).reject(problem)
