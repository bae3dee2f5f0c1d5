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
from ragassay.formats.problems import Problem, describe_value, found_text, is_object, validate
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
        return Problem(
            "cited_doc_ids", f"found {describe_value(row.cited_doc_ids)}", "a document's id"
        )
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


class FindingRow(Row):
    """A finding of a trial."""

    pmcid: IdText | None = None
    intervention: str
    comparator: str
    outcome: str
    label: str
    evidence: str


def is_finding(fields: Mapping[str, object]) -> bool:
    """Return whether a row is a finding, in either of its forms."""
    return FIELDS.issubset(fields) or ANNOTATIONS.issubset(fields)


class Findings:
    """Turns the findings of a file into claims.

    Args:
        path: The file; the prompts of annotations are looked for beside it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def _prompts(self) -> dict[str, Mapping[str, object]]:
        return _prompts(self._path)

    def claims(self, item: Item) -> Iterator[Item | Rejection]:
        """Yield the two claims of a finding.

        Raises:
            InputError: The prompts of annotations are not beside them.
        """
        whole = item if FIELDS.issubset(item.fields) else _join_prompt(item, self._prompts)
        if isinstance(whole, Rejection):
            yield whole
        else:
            yield from _claims(whole)


def _prompts(annotations: Path) -> dict[str, Mapping[str, object]]:
    path = annotations.with_name(annotations.name.replace("annotations", "prompts"))
    if path == annotations or not path.is_file():
        raise InputError(f"{annotations} needs its prompts beside it, as prompts_merged.csv")
    items = (item for item in iter_items(path) if isinstance(item, Item))
    return {str(item.fields.get("PromptID")): item.fields for item in items}


def _join_prompt(item: Item, prompts: Mapping[str, Mapping[str, object]]) -> Item | Rejection:
    name = str(item.fields["PromptID"])
    prompt = prompts.get(name)
    if prompt is None:
        problem = Problem("PromptID", f"the prompts have no {name}", "the id of a prompt")
        return item.place.reject(problem)
    if str(item.fields.get("Valid Label")) in _REFUSED:
        problem = Problem("Valid Label", "the annotators' verifier refused the label", "1")
        return item.place.reject(problem)
    fields = {name.lower(): prompt.get(name) for name in ("Intervention", "Comparator", "Outcome")}
    fields |= {"label": item.fields["Label"], "evidence": item.fields["Annotations"]}
    return replace(item, fields=fields | {"pmcid": item.fields.get("PMCID")})


def _claims(item: Item) -> Iterator[Item | Rejection]:
    row = validate(FindingRow, item.fields)
    if not isinstance(row, Problem) and row.label not in _WORDS:
        row = Problem("label", f"found {describe_value(row.label)}", " or ".join(_WORDS))
    if isinstance(row, Problem):
        yield item.place.reject(row)
        return
    for finding, label in ((row.label, "supports"), (_OPPOSITE[row.label], "contradicts")):
        done = f"{row.intervention} {_WORDS[finding]} {row.outcome}"
        claim = f"Compared with {row.comparator}, {done}."
        yield replace(item, fields={"claim": claim, "evidence": row.evidence, "label": label})


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
    findings, cited = Findings(path), _CitedClaim(path)
    for item in iter_items(path):
        if isinstance(item, Rejection):
            yield item
        elif is_finding(item.fields):
            yield from findings.claims(item)
        elif is_object(item.fields.get("evidence")) and "claim" in item.fields:
            yield from cited.claims(item)
        else:
            yield item


class _CitedClaim:
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
