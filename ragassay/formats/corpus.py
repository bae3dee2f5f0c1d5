"""Read a corpus: one document a line, with an id, an optional title, and the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field

from ragassay.formats.items import Item, iter_items
from ragassay.formats.problems import Problem, found_text, validate
from ragassay.formats.rows import IdText, Row
from ragassay.formats.sniff import Format, sniff
from ragassay.records import Article, Document, Rejection

_ID_KEYS = ("pmid", "id", "docid", "doc_id", "_id")
_TEXT_KEYS = ("abstract", "text", "contents")
_ARTICLE_KEYS = ("journal", "published", "doi", "publication_types", "mesh")


def _join_sentences(value: object) -> object:
    """Return a text that is given as its sentences, as SciFact's abstracts are."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return " ".join(map(str.strip, value))
    return value


class DocumentRow(Row):
    """A line of a corpus; its id is the PMID where there is one."""

    id: IdText = Field(validation_alias=AliasChoices(*_ID_KEYS))
    text: Annotated[str, BeforeValidator(_join_sentences)] = Field(
        validation_alias=AliasChoices(*_TEXT_KEYS)
    )
    title: str = ""
    journal: str = ""
    published: str = Field(default="", pattern=r"^(\d{4}(-\d{2}(-\d{2})?)?)?$")
    doi: str = ""
    publication_types: list[str] = Field(default_factory=list)
    mesh: list[str] = Field(default_factory=list)


CORPUS = Format(
    name="corpus",
    required=(_ID_KEYS, _TEXT_KEYS),
    fields=frozenset((*_ID_KEYS, *_TEXT_KEYS, "title", *_ARTICLE_KEYS)),
    leading="title",
    keys="pmid or id or docid, abstract or text or contents[, title, journal, published, doi, "
    "publication_types, mesh]",
)


@dataclass(frozen=True)
class CorpusResult:
    """The documents of a corpus file and its rejected lines.

    Attributes:
        documents: In the file's order, each id once.
        rejections: Lines that could not be read.
    """

    documents: tuple[Document, ...]
    rejections: tuple[Rejection, ...]


def read_corpus(path: Path) -> CorpusResult:
    """Read a corpus from JSON lines or a JSON array, plain or gzip.

    Args:
        path: Objects with `pmid`, `id` or `docid`, with `abstract`, `text` or `contents`,
            optionally `title` and the fields of an `Article`; a text may be a list of sentences.
            Further fields are dropped.

    Returns:
        The documents; a line that cannot be read, or repeats an id, is a rejection.

    Raises:
        InputError: the file is missing, empty, or has no documents.
    """
    documents: list[Document] = []
    rejections: list[Rejection] = []
    for outcome in iter_corpus(path):
        if isinstance(outcome, Rejection):
            rejections.append(outcome)
        else:
            documents.append(outcome)
    return CorpusResult(tuple(documents), tuple(rejections))


def iter_corpus(path: Path) -> Iterator[Document | Rejection]:
    """Read the same, one document at a time. Only the ids are kept in memory.

    Raises:
        InputError: the file is missing, empty, or has no documents.
    """
    _, items = sniff(iter_items(path), (CORPUS,), str(path))
    lines: dict[str, int] = {}
    for item in items:
        yield item if isinstance(item, Rejection) else _document(item, lines)


def _document(item: Item, lines: dict[str, int]) -> Document | Rejection:
    row = validate(DocumentRow, item.fields)
    if isinstance(row, Problem):
        return item.place.reject(row)
    if row.id in lines:
        field = next(key for key in _ID_KEYS if item.fields.get(key) is not None)
        text = f"the id {found_text(row.id)} is already on line {lines[row.id]}"
        return item.place.reject(Problem(field, text, "each document once"))
    lines[row.id] = item.place.line
    if not any(getattr(row, key) for key in _ARTICLE_KEYS):
        return Document(id=row.id, text=row.text, title=row.title)
    return Article(
        id=row.id,
        text=row.text,
        title=row.title,
        journal=row.journal,
        published=row.published,
        doi=row.doi.lower(),
        publication_types=tuple(row.publication_types),
        mesh=tuple(row.mesh),
    )
