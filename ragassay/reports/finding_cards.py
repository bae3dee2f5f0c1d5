"""View of a finding as a card: the sentence, the passage beside it, why, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragassay.records import (
    CitationVerdict,
    Evaluation,
    EvidenceVerdict,
    Finding,
    FindingLevel,
    outlines_of,
)
from ragassay.reports.labels import (
    Severity,
    finding_rank,
    finding_severity,
    finding_title,
    shown_findings,
)
from ragassay.reports.marked import Piece, marked, marked_claim, marked_passage
from ragassay.reports.sentence_view import PassageView, titles_of, view_passage
from ragassay.reports.text import precision_text


@dataclass(frozen=True, slots=True)
class FindingCard:
    """A finding in its place.

    Attributes:
        number: 1-based number of the answer in the report.
        sentence: 1-based; 0 where it is about the whole answer.
        said: The sentence, its wrong words marked; empty where it is about the whole answer.
        passage: What the sentence was compared with.
        shown: The passage's text around the sentence that is closest.
        why: The finding in a sentence.
        sure: How sure that is; empty where nobody measured.
        likelihood: How likely a finding is right that is worth a look, in [0, 1]; 0 where nothing
            tells, and of a finding that leads.
    """

    number: int
    record: str
    system: str
    kind: str
    title: str
    severity: Severity
    sentence: int
    said: tuple[Piece, ...]
    marker: str
    passage: PassageView | None
    shown: tuple[Piece, ...]
    why: str
    sure: str
    likelihood: float = 0.0


def view_cards(
    evaluations: Sequence[Evaluation], level: FindingLevel = "head"
) -> tuple[FindingCard, ...]:
    """Return the findings of a level as `ranked` orders them."""
    found = [
        card
        for number, outline in enumerate(outlines_of(evaluations), start=1)
        if (outline.heads if level == "head" else outline.looks)
        for card in cards_of(number, evaluations[number - 1], level)
    ]
    return ranked(found)


def ranked(cards: Iterable[FindingCard]) -> tuple[FindingCard, ...]:
    """Return cards, the likeliest first, then the worst kind, in the order of the answers."""
    return tuple(sorted(cards, key=lambda c: (-c.likelihood, finding_rank(c.kind), c.number)))


def cards_of(number: int, evaluation: Evaluation, level: FindingLevel) -> list[FindingCard]:
    """Return the shown cards of a level of an evaluation, the `number`th of the report."""
    findings = shown_findings(evaluation, level)
    return [view_card(finding, number, evaluation) for finding in findings]


def view_card(finding: Finding, number: int, evaluation: Evaluation) -> FindingCard:
    """Return the card of a finding of an evaluation, the `number`th of the report."""
    n = finding.sentence or 0
    text = next((one.text for one in evaluation.sentences if one.index == n), "")
    verdict = evaluation.verdict_of(finding)
    span, difference, marker, said = None, "", "", marked(text, ())
    if isinstance(verdict, CitationVerdict | EvidenceVerdict):
        span, difference = verdict.evidence, verdict.difference
        places = [(one.start, one.end) for one in verdict.spans]
        if difference:
            said = marked_claim(text, difference)
        elif places:
            said = marked(text, places, "unsupported")
    if isinstance(verdict, CitationVerdict):
        marker = verdict.citation.marker
    return FindingCard(
        number=number,
        record=evaluation.record_id,
        system=evaluation.system or "",
        kind=finding.kind,
        title=finding_title(finding.kind, 1) + ("?" if finding.level == "look" else ""),
        severity=finding_severity(finding.kind) if finding.level == "head" else "caution",
        sentence=n,
        said=said,
        marker=marker,
        passage=view_passage(span, titles_of(evaluation)),
        shown=marked_passage(span.text, text, difference) if span else (),
        why=finding.message,
        sure=sure_text(finding),
        likelihood=evaluation.likelihood_of(finding) if finding.level == "look" else 0.0,
    )


def sure_text(finding: Finding) -> str:
    """Say how sure a finding is; empty where nobody measured."""
    if finding.precision is not None:
        data = f", on {finding.data}" if finding.data else ""
        n = f"{finding.n_measured:,} " if finding.n_measured else ""
        seldom = ": not enough to lead" if finding.level == "look" else ""
        return f"Right in {precision_text(finding)} of {n}such findings{data}{seldom}"
    return "Too unsure to lead" if finding.level == "look" else ""
