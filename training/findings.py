"""Build claims about trial results (Evidence Inference), with the evidence sentence.

A finding is an increase, a decrease or no significant difference. Its claim uses one of several
templates. A claim with a different direction or with exchanged arms is contradicted.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.optimizers.finetuning.claims import LabelledClaim
from training.edits import Made

DIRECTIONS = ("increased", "decreased", "same")
_LABELS = {
    "significantly increased": "increased",
    "significantly decreased": "decreased",
    "no significant difference": "same",
}
_REVERSED = {"increased": "decreased", "decreased": "increased", "same": "same"}

WORDINGS = {
    "increased": (
        "{i} significantly increased {o} compared with {c}.",
        "Compared with {c}, {i} led to higher {o}.",
        "{o} was significantly higher with {i} than with {c}.",
        "{i} raised {o} relative to {c}.",
        "In patients given {i}, {o} was greater than in those given {c}.",
        "There was a significant increase in {o} with {i} versus {c}.",
        "{i} resulted in more {o} than {c}.",
    ),
    "decreased": (
        "{i} significantly decreased {o} compared with {c}.",
        "Compared with {c}, {i} led to lower {o}.",
        "{o} was significantly lower with {i} than with {c}.",
        "{i} reduced {o} relative to {c}.",
        "In patients given {i}, {o} was less than in those given {c}.",
        "There was a significant reduction in {o} with {i} versus {c}.",
        "{i} resulted in less {o} than {c}.",
    ),
    "same": (
        "{i} did not significantly change {o} compared with {c}.",
        "Compared with {c}, {i} made no significant difference to {o}.",
        "{o} did not differ significantly between {i} and {c}.",
        "{i} had no significant effect on {o} relative to {c}.",
        "In patients given {i}, {o} was similar to that in those given {c}.",
        "There was no significant difference in {o} between {i} and {c}.",
        "{i} and {c} resulted in comparable {o}.",
    ),
}


@dataclass(frozen=True)
class TrialFinding:
    """Effect of an intervention on an outcome, relative to a comparator."""

    article: str
    intervention: str
    comparator: str
    outcome: str
    direction: str
    evidence: str


def read_findings(shared: Path, part: str) -> list[TrialFinding]:
    """Read the findings of a part ("train" or "dev") that have an evidence sentence."""
    path = shared / "data" / "evidence-inference" / f"{part}.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        TrialFinding(
            row["pmcid"],
            row["intervention"],
            row["comparator"],
            row["outcome"],
            _LABELS[row["label"]],
            " ".join(row["evidence"].split()),
        )
        for row in rows
        if row["evidence"].strip() and row["label"] in _LABELS
    ]


def finding_claims(findings: Sequence[TrialFinding], rng: random.Random, n: int) -> list[Made]:
    """Write claims about each finding.

    Args:
        findings: Trial findings.
        rng: Random generator of the templates.
        n: Number of correct and of incorrect claims per finding.
    """
    made: list[Made] = []
    for one in findings:
        swapped = TrialFinding(
            one.article, one.comparator, one.intervention, one.outcome, "", one.evidence
        )
        for _ in range(n):
            made.append(_made(one, one.direction, SUPPORTS, "finding", rng))
            wrong = rng.choice([d for d in DIRECTIONS if d != one.direction])
            made.append(_made(one, wrong, CONTRADICTS, "finding turned", rng))
        if one.direction != "same":
            made.append(_made(swapped, one.direction, CONTRADICTS, "arms swapped", rng))
            made.append(_made(swapped, _REVERSED[one.direction], SUPPORTS, "arms and turn", rng))
        other = rng.choice(findings)
        if other.article != one.article:
            made.append(
                _made(other, rng.choice(DIRECTIONS), NEUTRAL, "another trial", rng, one.evidence)
            )
    return made


def _made(
    one: TrialFinding, direction: str, label: int, kind: str, rng: random.Random, evidence: str = ""
) -> Made:
    text = rng.choice(WORDINGS[direction]).format(
        i=one.intervention, c=one.comparator, o=one.outcome
    )
    claim = LabelledClaim(
        claim=text[:1].upper() + text[1:],
        title="",
        sentences=(evidence or one.evidence,),
        rationale=(),
        label=label,
        group=f"evidence-inference {one.article}",
    )
    return Made(claim, kind)
