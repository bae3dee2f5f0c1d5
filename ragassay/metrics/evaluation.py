"""Adds the verdicts on one answer up to its evaluation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ragassay.metrics.cascade import joint_name
from ragassay.metrics.citations import citation_scores
from ragassay.metrics.nuggetizer import assignment_scores
from ragassay.metrics.panel import single_judgments
from ragassay.metrics.scores import (
    correctness_scores,
    evidence_scores,
    nugget_scores,
    rubric_scores,
    sentence_scores,
)
from ragassay.metrics.verdicts import Verdicts
from ragassay.records import (
    NOTHING_TO_JUDGE,
    PARTS,
    Case,
    CitationVerdict,
    Evaluation,
    EvidenceSearch,
    EvidenceVerdict,
    Finding,
    NuggetMatch,
    Part,
    Record,
    Score,
    Usage,
)


@dataclass(frozen=True)
class Judges:
    """Who gave the verdicts.

    Attributes:
        judge: The model that was asked for ratings, labels, nuggets and assignments.
        verifier: What compared sentences and citations with passages.
        correctness: What said whether sentences are correct.
        panel: All that rated the rubrics, where several did.
        rater: What rated the rubrics where no panel did; empty where the judge did.
        second: Who decided where those were not sure; empty without a cascade.
    """

    judge: str
    verifier: str
    correctness: str
    panel: tuple[str, ...] = ()
    rater: str = ""
    second: str = ""

    @property
    def raters(self) -> str:
        """Who rated the rubrics, in words."""
        if self.panel:
            return f"a panel of {', '.join(self.panel)}"
        return self.or_second(self.rater or self.judge)

    def or_second(self, first: str) -> str:
        """Who decided, the second judge with the first."""
        return joint_name(first, self.second)


def evaluation_of(
    record: Record,
    case: Case,
    verdicts: Verdicts,
    matches: Sequence[NuggetMatch],
    searches: Sequence[EvidenceSearch],
    notices: Sequence[Finding],
    judges: Judges,
    fingerprint: str,
    parts: Collection[Part] = PARTS,
) -> Evaluation:
    """Add up.

    Args:
        record: What was handed in.
        case: What it was cut into.
        verdicts: From `ordered`.
        matches: Pairs of gold (or reference) nuggets and answer nuggets.
        searches: How evidence was looked for.
        notices: What is known against cited articles.
        judges: Who gave the verdicts.
        fingerprint: Hash of all that the evaluation depends on.
        parts: What was to be found out; nothing else has a score.
    """
    gold = case.gold or verdicts.reference_nuggets
    return Evaluation(
        record_id=record.id,
        question=record.question,
        answer=case.answer,
        system=record.system,
        topic=record.topic,
        judge=judges.judge,
        fingerprint=fingerprint,
        sentences=case.sentences,
        sources=case.sources,
        nuggets=verdicts.answer_nuggets,
        gold_nuggets=gold,
        matches=tuple(matches),
        assignments=tuple(verdicts.assignments),
        judgments=tuple(verdicts.judgments),
        labels=tuple(verdicts.labels),
        evidence=tuple(verdicts.evidence),
        searches=tuple(searches),
        correctness=tuple(verdicts.correctness),
        citations=tuple(verdicts.citations),
        facts=tuple(verdicts.facts),
        scores=_scores(case, verdicts, matches, judges, parts),
        findings=(*_against(verdicts), *notices, *_remarks(case, verdicts, searches)),
        usage=sum(
            (step.usage for group in (*verdicts.groups, searches) for step in group), Usage()
        ),
    )


def _scores(
    case: Case,
    verdicts: Verdicts,
    matches: Sequence[NuggetMatch],
    judges: Judges,
    parts: Collection[Part],
) -> dict[str, Score]:
    """The scores of the parts that were to be found out, in the order of the report."""
    scores = rubric_scores(verdicts.judgments, judges.raters)
    verifier = judges.or_second(judges.verifier)
    if "nuggets" in parts:
        scores |= _nugget_scores(case, verdicts, matches, judges)
    if "sentences" in parts:
        scores |= sentence_scores(verdicts.labels, judges.or_second(judges.judge))
    if "evidence" in parts:
        scores |= evidence_scores(verdicts.evidence, verifier)
    if "correctness" in parts:
        scores |= correctness_scores(verdicts.correctness, judges.correctness)
    if "citations" in parts:
        scores |= citation_scores(case.sentences, verdicts.citations, verifier)
    return scores


def _nugget_scores(
    case: Case, verdicts: Verdicts, matches: Sequence[NuggetMatch], judges: Judges
) -> dict[str, Score]:
    n_unwritten, n_gold_unwritten = (
        sum(1 for found in verdicts.nuggets if found.failure and found.origin == origin)
        for origin in ("answer", "reference")
    )
    gold = case.gold or verdicts.reference_nuggets
    return {
        **nugget_scores(
            verdicts.answer_nuggets, gold, matches, n_unwritten, judges.judge, n_gold_unwritten
        ),
        **assignment_scores(
            [found.assignment for found in verdicts.assignments],
            [nugget.importance for nugget in case.gold],
            judges.or_second(judges.judge),
        ),
    }


def _against(verdicts: Verdicts) -> list[Finding]:
    """What the verdicts have against the answer."""
    found = [
        Finding(
            kind="inappropriate_sentence",
            sentence=label.sentence,
            message=f"Sentence {label.sentence} is labelled inappropriate: it may harm a patient.",
        )
        for label in verdicts.labels
        if label.label == "inappropriate"
    ]
    for verdict in verdicts.citations:
        where = f"Sentence {verdict.sentence} cites {verdict.citation.marker!r}"
        if verdict.verdict == "contradicts":
            message = f"{where}, which contradicts it."
            found.append(_finding("contradicted_citation", message, verdict))
        elif verdict.verdict == "invalid":
            found.append(_finding("invalid_citation", f"{where}, which points nowhere.", verdict))
    return found + _disputed(verdicts.evidence)


def _disputed(evidence: Sequence[EvidenceVerdict]) -> list[Finding]:
    """One finding for each sentence that a passage contradicts; it says if another supports it."""
    supported = {e.sentence for e in evidence if e.verdict == "supports"}
    against: dict[int, EvidenceVerdict] = {}
    for verdict in evidence:
        if verdict.verdict == "contradicts":
            against.setdefault(verdict.sentence, verdict)
    return [
        _finding(
            "contradicted_sentence",
            f"A passage contradicts sentence {n}{_in(verdict)}"
            + ("; another supports it." if n in supported else "."),
            verdict,
        )
        for n, verdict in against.items()
    ]


def _in(verdict: EvidenceVerdict) -> str:
    return f" (in {verdict.evidence.document})" if verdict.evidence else ""


def _finding(kind: str, message: str, verdict: CitationVerdict | EvidenceVerdict) -> Finding:
    return Finding(kind=kind, message=message, sentence=verdict.sentence)


def _remarks(case: Case, verdicts: Verdicts, searches: Sequence[EvidenceSearch]) -> list[Finding]:
    """What limits the evaluation itself."""
    found: list[Finding] = []
    if not case.sentences:
        found.append(Finding(kind="empty_answer", message="The answer has no sentence."))
    if case.n_source_chars_cut:
        message = (
            f"{case.n_source_chars_cut} characters of the sources did not fit into the prompt."
        )
        found.append(Finding(kind="sources_cut", message=message))
    n_extractive = sum(1 for n in verdicts.answer_nuggets if n.method == "extractive")
    if n_extractive:
        message = (
            f"{n_extractive} of {len(verdicts.answer_nuggets)} nuggets are the sentence itself: "
            "what the model wrote was not carried by it."
        )
        found.append(Finding(kind="extractive_nugget", message=message))
    found += _search_remarks(searches)
    groups = (single_judgments(verdicts.judgments), *verdicts.groups[1:])
    failures = [verdict.failure.reason for group in groups for verdict in group if verdict.failure]
    n_without = failures.count("no_evidence")
    if n_without:
        message = f"{n_without} claims had no passage to be compared with."
        found.append(Finding(kind="no_evidence", message=message))
    missing = [reason for reason in failures if reason not in NOTHING_TO_JUDGE]
    if missing:
        message = f"{len(missing)} verdicts are unscored: {', '.join(sorted(set(missing)))}."
        found.append(Finding(kind="unscored", message=message))
    return found + _escalation_remarks(verdicts)


def _escalation_remarks(verdicts: Verdicts) -> list[Finding]:
    """What a second judge was to decide, and did not."""
    sent = [
        verdict.escalation
        for group in (
            verdicts.judgments,
            verdicts.labels,
            verdicts.evidence,
            verdicts.citations,
            [nugget for citation in verdicts.citations for nugget in citation.nuggets],
            verdicts.assignments,
        )
        for verdict in group
        if verdict.escalation is not None
    ]
    failed = [(one.judge, one.failure.reason) for one in sent if one.failure is not None]
    if not failed:
        return []
    reasons = ", ".join(sorted({reason for _, reason in failed}))
    message = (
        f"{len(failed)} verdicts that {failed[0][0]} was to decide could not be had there: "
        f"{reasons}. What the first judge said stands."
    )
    return [Finding(kind="escalation_failed", message=message)]


def _search_remarks(searches: Sequence[EvidenceSearch]) -> list[Finding]:
    """Where evidence could not be looked for as it should have been."""
    found: list[Finding] = []
    if any(search.end == "nowhere_to_search" for search in searches):
        message = "Nothing was searched for evidence: there is neither a corpus nor a source."
        found.append(Finding(kind="nowhere_to_search", message=message))
    n_withdrawn = sum(search.n_withdrawn for search in searches)
    if n_withdrawn:
        message = f"{n_withdrawn} retracted articles came up as evidence and were left out."
        found.append(Finding(kind="withdrawn_evidence", message=message))
    broken = [search.failure.reason for search in searches if search.failure]
    if broken:
        message = f"{len(broken)} searches for evidence went without the model's queries: " + (
            f"{', '.join(sorted(set(broken)))}."
        )
        found.append(Finding(kind="search_without_queries", message=message))
    return found
