"""Read labelled claims: rows of claim, evidence and label, or collections laid out otherwise.

SciFact and Citation-Integrity name documents of a `corpus.jsonl` (or `.gz`) beside the claims:

    {"id", "claim", "evidence": {"DOC": [{"sentences": [3], "label": "SUPPORT"}]},
     "cited_doc_ids": [31715818]}

A cited document without evidence neither supports nor contradicts its claim. For Evidence Inference
see `ragassay.formats.evidence_inference`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from pydantic import Field

from ragassay.errors import InputError
from ragassay.formats.evidence_inference import Findings, is_finding
from ragassay.formats.items import Item, iter_items
from ragassay.formats.problems import Problem, found_text, validate
from ragassay.formats.rows import IdText, Row
from ragassay.formats.shapes import is_object
from ragassay.records import Rejection

NO_EVIDENCE = "NEI"
_CORPORA = ("corpus.jsonl", "corpus.jsonl.gz")


class DecisiveRow(Row):
    """Sentences of a document that decide."""

    sentences: list[int]
    label: str


class CitingRow(Row):
    """A claim with the documents that it cites."""

    claim: str = Field(min_length=1)
    evidence: dict[str, list[DecisiveRow]]
    cited_doc_ids: list[IdText] = Field(default_factory=list)


class CitedRow(Row):
    """A document in sentences."""

    doc_id: IdText
    title: str = ""
    abstract: list[str]


def iter_claims(path: Path) -> Iterator[Item | Rejection]:
    """Yield labelled claims, each with its claim, its label and its evidence or sentences.

    Raises:
        InputError: The file cannot be opened, or one that belongs to it is not beside it.
    """
    findings, cited = Findings(path), _Cited(path)
    for item in iter_items(path):
        if isinstance(item, Rejection):
            yield item
        elif is_finding(item.fields):
            yield from findings.claims(item)
        elif is_object(item.fields.get("evidence")) and "claim" in item.fields:
            yield from cited.claims(item)
        else:
            yield item


class _Cited:
    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def _documents(self) -> dict[str, CitedRow]:
        beside = [self._path.with_name(name) for name in _CORPORA]
        path = next((one for one in beside if one.is_file()), None)
        if path is None:
            raise InputError(f"{self._path} needs its documents beside it, as {_CORPORA[0]}")
        items = (item for item in iter_items(path) if isinstance(item, Item))
        rows = (validate(CitedRow, item.fields) for item in items)
        return {row.doc_id: row for row in rows if not isinstance(row, Problem)}

    def claims(self, item: Item) -> Iterator[Item | Rejection]:
        """Yield a claim with each document that it cites."""
        row = validate(CitingRow, item.fields)
        if isinstance(row, Problem):
            yield item.place.reject(row)
            return
        for name in dict.fromkeys((*row.cited_doc_ids, *row.evidence)):
            document = self._documents.get(name)
            decisive = row.evidence.get(name, [])
            labels = {one.label for one in decisive} or {NO_EVIDENCE}
            if document is None or len(labels) > 1:
                missing = f"the corpus has no {found_text(name)}"
                text = f"found {' and '.join(sorted(labels))}" if document else missing
                wanted = "one label a document" if document else "the id of a document there"
                yield item.place.reject(Problem(f"evidence.{name}", text, wanted))
                continue
            fields: dict[str, object] = {
                "claim": row.claim,
                "title": document.title,
                "sentences": list(document.abstract),
                "evidence_sentences": sorted({n for one in decisive for n in one.sentences}),
                "label": labels.pop(),
            }
            yield replace(item, fields=fields)
