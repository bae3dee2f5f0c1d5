"""Read labelled claims: rows, SciFact's form, Evidence Inference."""

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
    found_text,
    is_object,
    parse,
    validate,
)
from ragassay.formats.rows import IdText, Row
from ragassay.records import Rejection

_MARK = r"<\|(?:multi_|other_)?cit\|>"
_CITED = re.compile(
    rf"(?<!\s)\s*+(?:[\[(](?=[^\[\]()]*[\])])[^\[\]()]*{_MARK}[^\[\]()]*[\])]|{_MARK})"
)
"""Citation-Integrity's mark in place of a citation: brackets around one contain other citations;
the text after one without brackets belongs to the sentence."""


class MarkRow(Row):
    """The sentences of a document that decide on a claim."""

    label: str


class DecisiveRow(MarkRow):
    """The same, with their positions."""

    sentences: list[int]


class FactCheckRow(Row):
    """A claim with its documents."""

    claim: str = Field(min_length=1)
    evidence: dict[str, list[MarkRow]]
    cited_doc_ids: list[IdText] = Field(default_factory=list[IdText])


class CitingRow(Row):
    """A claim with the documents that it cites, and the sentences of them that decide."""

    claim: str = Field(min_length=1)
    evidence: dict[str, list[DecisiveRow]]
    cited_doc_ids: list[IdText] = Field(default_factory=list)


class CitedRow(Row):
    """A document in sentences."""

    doc_id: IdText
    title: str = ""
    abstract: list[str]


class FindingRow(Row):
    """A finding of a trial (Evidence Inference)."""

    pmcid: IdText | None = None
    intervention: str
    comparator: str
    outcome: str
    label: str
    evidence: str


@dataclass(frozen=True)
class FactCheck:
    """A claim, a document's id, and the label of the pair in the collection's word."""

    claim: str
    document: str
    label: str


def is_fact_check(item: Item) -> bool:
    """Return whether an item is a claim with its documents."""
    return "cited_doc_ids" in item.fields and is_object(item.fields.get("evidence"))


def read_fact_checks(item: Item) -> list[FactCheck] | Problem:
    """Turn a claim into its pairs with documents."""
    row = validate(FactCheckRow, item.fields)
    if isinstance(row, Problem):
        return row
    documents = list(dict.fromkeys([*row.evidence, *row.cited_doc_ids]))
    if not documents:
        text = f"found {describe_value(row.cited_doc_ids)}"
        return Problem("cited_doc_ids", text, "a document's id")
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
    """Yield labelled claims, each with its claim, its label and its evidence or sentences.

    A finding of Evidence Inference gives two claims, its annotations need their prompts beside
    them; a claim of SciFact gives one for each document, from the corpus beside it.

    Raises:
        InputError: The file cannot be opened, or one that belongs to it is not beside it.
    """
    beside = _MoreColumns(path)
    for item in iter_items(path):
        if isinstance(item, Rejection):
            yield item
            continue
        is_finding = FIELDS.issubset(item.fields) or ANNOTATIONS.issubset(item.fields)
        is_citing = is_object(item.fields.get("evidence")) and "claim" in item.fields
        try:
            if is_finding:
                yield from _finding_claims(item, beside)
            elif is_citing:
                yield from _cited_claims(item, beside)
            else:
                yield item
        except ProblemError as error:
            yield item.place.reject(error.problem)


@dataclass(frozen=True)
class _MoreColumns:
    """The files that belong to a file of claims."""

    path: Path

    @cached_property
    def prompts(self) -> dict[str, Mapping[str, object]]:
        path = self.path.with_name(self.path.name.replace("annotations", "prompts"))
        if path == self.path or not path.is_file():
            raise InputError(f"{self.path} needs its prompts beside it, as prompts_merged.csv")
        items = (item for item in iter_items(path) if isinstance(item, Item))
        return {str(item.fields.get("PromptID")): item.fields for item in items}

    @cached_property
    def documents(self) -> dict[str, CitedRow]:
        paths = [self.path.with_name(name) for name in _CORPORA]
        path = next((one for one in paths if one.is_file()), None)
        if path is None:
            raise InputError(f"{self.path} needs its documents beside it, as {_CORPORA[0]}")
        items = (item for item in iter_items(path) if isinstance(item, Item))
        rows = (validate(CitedRow, item.fields) for item in items)
        return {row.doc_id: row for row in rows if not isinstance(row, Problem)}


def _finding_claims(item: Item, beside: _MoreColumns) -> Iterator[Item]:
    fields = item.fields
    row = parse(
        FindingRow, fields if FIELDS.issubset(fields) else _add_finding_prompt(fields, beside)
    )
    if row.label not in _WORDS:
        raise ProblemError("label", f"found {describe_value(row.label)}", " or ".join(_WORDS))
    for finding, label in ((row.label, "supports"), (_OPPOSITE[row.label], "contradicts")):
        done = f"{row.intervention} {_WORDS[finding]} {row.outcome}"
        claim = f"Compared with {row.comparator}, {done}."
        yield replace(item, fields={"claim": claim, "evidence": row.evidence, "label": label})


def _add_finding_prompt(fields: Mapping[str, object], beside: _MoreColumns) -> dict[str, object]:
    """Return annotations with their prompt as a finding."""
    name = str(fields["PromptID"])
    prompt = beside.prompts.get(name)
    if prompt is None:
        raise ProblemError("PromptID", f"the prompts have no {name}", "the id of a prompt")
    if str(fields.get("Valid Label")) in _REFUSED:
        raise ProblemError("Valid Label", "the annotators' verifier refused the label", "1")
    found = {name.lower(): prompt.get(name) for name in ("Intervention", "Comparator", "Outcome")}
    found |= {"label": fields["Label"], "evidence": fields["Annotations"]}
    return found | {"pmcid": fields.get("PMCID")}


def _cited_claims(item: Item, beside: _MoreColumns) -> Iterator[Item | Rejection]:
    """Yield a claim with each document that it cites."""
    row = parse(CitingRow, item.fields)
    for name in dict.fromkeys((*row.cited_doc_ids, *row.evidence)):
        document = beside.documents.get(name)
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
