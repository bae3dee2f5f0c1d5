"""Papers and pairs as JSON objects: ragassay's own, and SciQAG's.

    {"id", "title", "sections": [{"title", "text", "kind"}], "keywords", "journal", "licence"}
    {"doi", "journal", "keywords", "Q&A": [{"Q", "A"}], "txt"}                           SciQAG
    {"id", "question", "answer", "paper", "system", "sources": [text]}                   a pair

SciQAG names a paper by a file's name ("10.1016-j.ab.2008.07.041.json"): its DOI is made of that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import AliasChoices, Field

from ragassay.formats.items import Item
from ragassay.formats.papers.prose import read_prose, split_keywords
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import IdText, Row
from ragassay.formats.sniff import Format
from ragassay.records import Paper, PaperSection
from ragassay.records.qa import SectionKind

_FILE_OF_DOI = re.compile(r"(10\.\d{4,9})[-_](\S+?)(?:\.(?:json|xml|txt|pdf))?")
_RESOLVER = re.compile(r"(?:https?://)?(?:dx\.)?doi\.org/|doi:\s*", re.IGNORECASE)


class SectionRow(Row):
    """A section of a paper."""

    title: str = ""
    text: str
    kind: SectionKind = "body"


class PairRow(Row):
    """A question-answer pair."""

    id: IdText | None = None
    question: str = Field(min_length=1, validation_alias=AliasChoices("question", "Q", "q"))
    answer: str = Field(validation_alias=AliasChoices("answer", "A", "a"))
    paper: IdText | None = Field(
        default=None,
        validation_alias=AliasChoices("paper", "paper_id", "doi", "pmcid"),
    )
    system: str | None = None
    sources: list[str] = Field(default_factory=list)


class PaperRow(Row):
    """A paper, with its pairs if any."""

    id: IdText | None = Field(
        default=None, validation_alias=AliasChoices("id", "doi", "pmcid", "pmid")
    )
    title: str = ""
    sections: list[SectionRow] | None = None
    text: str | None = Field(
        default=None, validation_alias=AliasChoices("txt", "text", "full_text")
    )
    keywords: list[str] | str = Field(default_factory=list[str])
    journal: str = ""
    licence: str = Field(default="", validation_alias=AliasChoices("licence", "license"))
    pairs: list[PairRow] = Field(
        default_factory=list[PairRow], validation_alias=AliasChoices("Q&A", "QA", "pairs")
    )
    system: str | None = None


PAPER = Format(
    name="paper",
    required=(("sections", "txt", "text", "full_text"),),
    fields=frozenset(PaperRow.model_fields)
    | {"doi", "pmcid", "txt", "full_text", "license", "Q&A"},
    leading="sections",
    keys="id, sections[{title, text, kind}][, title, keywords, journal, licence]; "
    "or SciQAG's doi, txt[, Q&A[{Q, A}], keywords, journal]",
)
PAIR = Format(
    name="qa-pair",
    required=(("question", "Q", "q"), ("answer", "A", "a")),
    fields=frozenset(PairRow.model_fields) | {"Q", "A", "q", "a", "paper_id", "doi", "pmcid"},
    leading="question",
    keys="question, answer[, id, paper, system, sources]; or Q, A",
)


def plain_id(name: str) -> str:
    """Return a paper's id as it is compared: a DOI bare, whatever stands around it.

    Example:
        >>> plain_id("10.1016-j.ab.2008.07.041.json"), plain_id("https://doi.org/10.1/ab")
        ('10.1016/j.ab.2008.07.041', '10.1/ab')
    """
    name = name.strip()
    match = _FILE_OF_DOI.fullmatch(name)
    return f"{match[1]}/{match[2]}" if match else _RESOLVER.sub("", name, count=1)


def read_paper_row(item: Item, name: str) -> tuple[Paper, tuple[PairRow, ...]] | Problem:
    """Turn a JSON object into a paper with the pairs that it brings.

    Args:
        item: The object.
        name: The paper's id where it has none.
    """
    row = validate(PaperRow, item.fields)
    if isinstance(row, Problem):
        return row
    read = read_prose(row.text or "") if row.sections is None else None
    sections = read.sections if read else _sections(row.sections or ())
    if not any(section.text.strip() for section in sections):
        field = "sections" if row.sections is not None else "txt"
        return Problem(field, "the paper has no text", "its full text")
    paper = Paper(
        id=plain_id(row.id or name),
        title=row.title,
        sections=sections,
        keywords=tuple(split_keywords(row.keywords)) or (read.keywords if read else ()),
        journal=row.journal,
        licence=row.licence,
    )
    pairs = tuple(
        pair.model_copy(update={"system": pair.system or row.system}) for pair in row.pairs
    )
    return paper, pairs


def _sections(rows: Sequence[SectionRow]) -> tuple[PaperSection, ...]:
    return tuple(PaperSection(title=one.title, text=one.text, kind=one.kind) for one in rows)
