"""A corpus: one document a line, with an id, perhaps a title, and the text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import AliasChoices, Field

from ragassay.formats.items import Item, iter_items
from ragassay.formats.problems import Problem, found_text, validate
from ragassay.formats.rows import IdText, Row
from ragassay.formats.sniff import Format, sniff
from ragassay.records import Document, Rejection

_ID_KEYS = ("pmid", "id", "docid", "doc_id", "_id")
_TEXT_KEYS = ("abstract", "text", "contents")


class DocumentRow(Row):
    """A line of a corpus: the PMID is its id where there is one."""

    id: IdText = Field(validation_alias=AliasChoices(*_ID_KEYS))
    text: str = Field(validation_alias=AliasChoices(*_TEXT_KEYS))
    title: str = ""


CORPUS = Format(
    name="corpus",
    required=(_ID_KEYS, _TEXT_KEYS),
    fields=frozenset((*_ID_KEYS, *_TEXT_KEYS, "title")),
    leading="title",
    keys="pmid or id or docid, abstract or text or contents[, title]",
)


@dataclass(frozen=True)
class CorpusResult:
    """What a corpus file held.

    Attributes:
        documents: In the file's order, each id once.
        rejections: Lines that could not be read.
    """

    documents: tuple[Document, ...]
    rejections: tuple[Rejection, ...]


def read_corpus(path: Path) -> CorpusResult:
    """Read a corpus from JSON lines or a JSON array, plain or gzip.

    Args:
        path: Objects with `pmid`, `id` or `docid`, with `abstract`, `text` or `contents`, and
            perhaps `title`. Further fields are not kept: a document has no room for them.

    Returns:
        The documents; a line that cannot be read, or repeats an id, is a rejection.

    Raises:
        InputError: the file is missing, empty, or holds no documents.
    """
    _, items = sniff(iter_items(path), (CORPUS,), str(path))
    documents: list[Document] = []
    rejections: list[Rejection] = []
    lines: dict[str, int] = {}
    for item in items:
        outcome = item if isinstance(item, Rejection) else _document(item, lines)
        if isinstance(outcome, Rejection):
            rejections.append(outcome)
        else:
            documents.append(outcome)
    return CorpusResult(tuple(documents), tuple(rejections))


def _document(item: Item, lines: dict[str, int]) -> Document | Rejection:
    row = validate(DocumentRow, item.fields)
    if isinstance(row, Problem):
        return item.place.reject(row)
    if row.id in lines:
        field = next(key for key in _ID_KEYS if item.fields.get(key) is not None)
        text = f"the id {found_text(row.id)} stands on line {lines[row.id]} already"
        return item.place.reject(Problem(field, text, "each document once"))
    lines[row.id] = item.place.line
    return Document(id=row.id, text=row.text, title=row.title)
