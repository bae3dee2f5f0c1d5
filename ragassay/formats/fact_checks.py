"""Read claims in SciFact's published form, as Citation-Integrity has it too.

    {"id", "claim", "evidence": {DOC_ID: [{"sentences": [int], "label": "SUPPORT" | "CONTRADICT"}]},
     "cited_doc_ids": [DOC_ID]}

The documents are in a corpus of their own. A cited document without evidence is neutral.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import Field

from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, found, validate
from ragassay.formats.rows import IdText, Row
from ragassay.formats.shapes import is_object

_MARK = r"<\|(?:multi_|other_)?cit\|>"
_CITED = re.compile(
    rf"(?<!\s)\s*+(?:[\[(](?=[^\[\]()]*[\])])[^\[\]()]*{_MARK}[^\[\]()]*[\])]|{_MARK})"
)
"""Citation-Integrity's mark in place of a citation: brackets around one contain other citations;
the text after one without brackets belongs to the sentence."""


class MarkRow(Row):
    """The sentences of a document that decide on a claim."""

    label: str


class FactCheckRow(Row):
    """A claim with its documents."""

    claim: str = Field(min_length=1)
    evidence: dict[str, list[MarkRow]]
    cited_doc_ids: list[IdText] = Field(default_factory=list[IdText])


@dataclass(frozen=True)
class FactCheck:
    """A claim, a document's id, and the label of the pair in the collection's word."""

    claim: str
    document: str
    label: str


def is_fact_check(item: Item) -> bool:
    """Return whether an item has this form."""
    return "cited_doc_ids" in item.fields and is_object(item.fields.get("evidence"))


def read_fact_checks(item: Item) -> list[FactCheck] | Problem:
    """Turn a claim into its pairs with documents."""
    row = validate(FactCheckRow, item.fields)
    if isinstance(row, Problem):
        return row
    documents = list(dict.fromkeys([*row.evidence, *row.cited_doc_ids]))
    if not documents:
        return Problem("cited_doc_ids", f"found {found(row.cited_doc_ids)}", "a document's id")
    labels = {name: {one.label for one in marks} for name, marks in row.evidence.items()}
    mixed = [name for name, given in labels.items() if len(given) > 1]
    if mixed:
        return Problem(f"evidence.{mixed[0][:60]}", "several labels of one document", "one label")
    claim = without_citations(row.claim)
    return [FactCheck(claim, name, next(iter(labels.get(name) or ["nei"]))) for name in documents]


def without_citations(text: str) -> str:
    """Remove the citations from a citing sentence of Citation-Integrity.

    Example:
        >>> without_citations("In a trial (Lee et al., <|other_cit|>), it fell.<|cit|>")
        'In a trial, it fell.'
    """
    return _CITED.sub("", text).strip()
