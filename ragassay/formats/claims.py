"""Read labelled claims from plain rows, SciFact files and Evidence Inference files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pydantic import Field

from ragassay.errors import InputError
from ragassay.formats.items import Item, iter_items
from ragassay.formats.problems import (
    Problem,
    ProblemError,
    describe_value,
    is_object,
    parse,
    quote_text,
    validate,
)
from ragassay.formats.rows import IdText, Row
from ragassay.records import Rejection

_MARK = r"<\|(?:multi_|other_)?cit\|>"
_CITED = re.compile(
    rf"(?<!\s)\s*+(?:[\[(](?=[^\[\]()]*[\])])[^\[\]()]*{_MARK}[^\[\]()]*[\])]|{_MARK})"
)
"""Placeholder for a citation in the Citation-Integrity data set, with any brackets around it. The
brackets may contain further citations."""


class MarkRow(Row):
    """A label for the sentences of a document: whether they support or contradict the claim."""

    label: str


class DecisiveRow(MarkRow):
    """Positions of the sentences that support or contradict a claim, with the label."""

    sentences: list[int]


class FactCheckRow(Row):
    """A claim with the ids of its documents, and the documents' labels."""

    claim: str = Field(min_length=1)
    evidence: dict[str, list[MarkRow]]
    cited_doc_ids: list[IdText] = Field(default_factory=list[IdText])


class CitingRow(Row):
    """A claim with the ids of its cited documents, and the sentences that decide its label."""

    claim: str = Field(min_length=1)
    evidence: dict[str, list[DecisiveRow]]
    cited_doc_ids: list[IdText] = Field(default_factory=list)


class CitedRow(Row):
    """A document, split into sentences."""

    doc_id: IdText
    title: str = ""
    abstract: list[str]


class FindingRow(Row):
    """A trial finding from Evidence Inference."""

    pmcid: IdText | None = None
    intervention: str
    comparator: str
    outcome: str
    label: str
    evidence: str


@dataclass(frozen=True)
class FactCheck:
    """A claim and a document id, with the label that the collection assigns to the pair."""

    claim: str
    document: str
    label: str


def is_fact_check(item: Item) -> bool:
    """Return whether an item is a claim with cited documents in the format of SciFact."""
    return "cited_doc_ids" in item.fields and is_object(item.fields.get("evidence"))


def read_fact_checks(item: Item) -> list[FactCheck] | Problem:
    """Return a fact check for each pair of a claim and one of its documents."""
    row = validate(FactCheckRow, item.fields)
    if isinstance(row, Problem):
        return row
    documents = list(dict.fromkeys([*row.evidence, *row.cited_doc_ids]))
    if not documents:
        text = f"found {describe_value(row.cited_doc_ids)}"
        return Problem("cited_doc_ids", text, "the id of a document")
    labels = {name: {one.label for one in marks} for name, marks in row.evidence.items()}
    mixed = [name for name, document_labels in labels.items() if len(document_labels) > 1]
    if mixed:
        return Problem(
            f"evidence.{mixed[0][:60]}", "the document has several labels", "one label per document"
        )
    claim = remove_citations(row.claim)
    return [FactCheck(claim, name, next(iter(labels.get(name) or ["nei"]))) for name in documents]


def remove_citations(text: str) -> str:
    """Remove the citations from a Citation-Integrity citing sentence.

    Example:
        >>> remove_citations("In a trial (Lee et al., <|other_cit|>), it fell.<|cit|>")
        'In a trial, it fell.'
    """
    return _CITED.sub("", text).strip()


FIELDS = frozenset({"intervention", "comparator", "outcome", "label", "evidence"})
ANNOTATIONS = frozenset({"PromptID", "Label", "Annotations"})
NO_EVIDENCE = "NEI"

_WORDS = {
    "significantly increased": "significantly increased",
    "significantly decreased": "significantly decreased",
    "no significant difference": "made no significant difference to",
}
_OPPOSITE = {
    "significantly increased": "significantly decreased",
    "significantly decreased": "significantly increased",
    "no significant difference": "significantly increased",
}
_REFUSED = ("0", "0.0", "false", "False")
_CORPORA = ("corpus.jsonl", "corpus.jsonl.gz")


def iter_claims(path: Path) -> Iterator[Item | Rejection]:
    """Yield claims, each with its label and either its evidence or a document's sentences.

    A finding of Evidence Inference becomes two claims: the finding, which is supported, and its
    opposite, which is contradicted. A claim of SciFact becomes one claim per document. Evidence
    Inference requires its prompts file in the same folder, and SciFact its corpus.
    """
    related = _RelatedFiles(path)
    for item in iter_items(path):
        if isinstance(item, Rejection):
            yield item
            continue
        is_finding = FIELDS.issubset(item.fields) or ANNOTATIONS.issubset(item.fields)
        is_citing = is_object(item.fields.get("evidence")) and "claim" in item.fields
        try:
            if is_finding:
                yield from _read_finding_claims(item, related)
            elif is_citing:
                yield from _read_cited_claims(item, related)
            else:
                yield item
        except ProblemError as error:
            yield item.place.reject(error.problem)


@dataclass(frozen=True)
class _RelatedFiles:
    path: Path

    @cached_property
    def prompts(self) -> dict[str, Mapping[str, object]]:
        path = self.path.with_name(self.path.name.replace("annotations", "prompts"))
        if path == self.path or not path.is_file():
            raise InputError(f"{self.path} requires prompts_merged.csv in the same folder")
        items = (item for item in iter_items(path) if isinstance(item, Item))
        return {str(item.fields.get("PromptID")): item.fields for item in items}

    @cached_property
    def documents(self) -> dict[str, CitedRow]:
        paths = [self.path.with_name(name) for name in _CORPORA]
        if (path := next((one for one in paths if one.is_file()), None)) is None:
            raise InputError(f"{self.path} requires {_CORPORA[0]} in the same folder")
        items = (item for item in iter_items(path) if isinstance(item, Item))
        rows = (validate(CitedRow, item.fields) for item in items)
        return {row.doc_id: row for row in rows if not isinstance(row, Problem)}


def _read_finding_claims(item: Item, related: _RelatedFiles) -> Iterator[Item]:
    fields = item.fields
    row = parse(
        FindingRow, fields if FIELDS.issubset(fields) else _add_finding_prompt(fields, related)
    )
    if row.label not in _WORDS:
        raise ProblemError("label", f"found {describe_value(row.label)}", " or ".join(_WORDS))
    for finding, label in ((row.label, "supports"), (_OPPOSITE[row.label], "contradicts")):
        effect = f"{row.intervention} {_WORDS[finding]} {row.outcome}"
        claim = f"Compared with {row.comparator}, {effect}."
        yield replace(item, fields={"claim": claim, "evidence": row.evidence, "label": label})


def _add_finding_prompt(fields: Mapping[str, object], related: _RelatedFiles) -> dict[str, object]:
    name = str(fields["PromptID"])
    if (prompt := related.prompts.get(name)) is None:
        raise ProblemError(
            "PromptID",
            f"prompts_merged.csv has no prompt {name}",
            "the id of a prompt in prompts_merged.csv",
        )
    if str(fields.get("Valid Label")) in _REFUSED:
        raise ProblemError(
            "Valid Label", "the data set marks the label as invalid", "a valid label (1)"
        )
    finding = {name.lower(): prompt.get(name) for name in ("Intervention", "Comparator", "Outcome")}
    finding |= {"label": fields["Label"], "evidence": fields["Annotations"]}
    return finding | {"pmcid": fields.get("PMCID")}


def _read_cited_claims(item: Item, related: _RelatedFiles) -> Iterator[Item | Rejection]:
    row = parse(CitingRow, item.fields)
    for name in dict.fromkeys((*row.cited_doc_ids, *row.evidence)):
        document = related.documents.get(name)
        decisive = row.evidence.get(name, [])
        labels = {one.label for one in decisive} or {NO_EVIDENCE}
        if document is None or len(labels) > 1:
            missing = f"the corpus does not contain the document {quote_text(name)}"
            text = f"found {' and '.join(sorted(labels))}" if document else missing
            expected = (
                "one label per document" if document else "the id of a document in the corpus"
            )
            yield item.place.reject(Problem(f"evidence.{name}", text, expected))
            continue
        fields: dict[str, object] = {
            "claim": row.claim,
            "title": document.title,
            "sentences": list(document.abstract),
            "evidence_sentences": sorted({n for one in decisive for n in one.sentences}),
            "label": labels.pop(),
        }
        yield replace(item, fields=fields)
