"""Read Evidence Inference (Lehman et al. 2019, DeYoung et al. 2020) as labelled claims.

What a trial found of an outcome under an intervention against a comparator, with the passage that
says so; as JSON lines, or as the published pair of CSV files, which is joined by `PromptID`:

    {"pmcid", "prompt_id", "intervention", "comparator", "outcome", "label", "evidence"}
    annotations_merged.csv   PromptID, Valid Label, Label, Annotations, …
    prompts_merged.csv       PromptID, Outcome, Intervention, Comparator

Each finding becomes two claims: the sentence that states it, which the passage supports, and the
one that states the opposite, which it contradicts. The opposite of no difference is an increase.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from ragassay.errors import InputError
from ragassay.formats.items import Item, iter_items
from ragassay.formats.problems import Problem, found, validate
from ragassay.formats.rows import IdText, Row
from ragassay.records import Rejection

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
        whole = item if FIELDS.issubset(item.fields) else _joined(item, self._prompts)
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


def _joined(item: Item, prompts: Mapping[str, Mapping[str, object]]) -> Item | Rejection:
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
        row = Problem("label", f"found {found(row.label)}", " or ".join(_WORDS))
    if isinstance(row, Problem):
        yield item.place.reject(row)
        return
    for finding, label in ((row.label, "supports"), (_OPPOSITE[row.label], "contradicts")):
        done = f"{row.intervention} {_WORDS[finding]} {row.outcome}"
        claim = f"Compared with {row.comparator}, {done}."
        yield replace(item, fields={"claim": claim, "evidence": row.evidence, "label": label})
