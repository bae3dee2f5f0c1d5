"""Summarize the scores, findings, failures and usage of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ragassay.metrics.stats.aggregates import average_question_scores, average_scores, pool_scores
from ragassay.metrics.stats.panel_agreement import measure_panel_agreement
from ragassay.records import (
    FAILED_CALLS,
    NO_FAULT,
    Evaluation,
    Finding,
    SentenceCorrectness,
    Summary,
    Usage,
    VerdictBase,
    list_outlines,
)

BY_RULE = (None, "invalid")
"""Verdict values that do not come from a judge."""


def summarize(
    evaluations: Sequence[Evaluation],
    n_records: int,
    n_failed: int,
    n_rejected: int,
    failed: Usage = Usage(),  # noqa: B008 - immutable default
) -> Summary:
    """Summarize a run."""
    outlines = list_outlines(evaluations)
    systems = list(dict.fromkeys(e.system for e in outlines if e.system is not None))
    tally = _Tally.from_evaluations(evaluations)
    if failed.n_calls:
        tally.add_usage(failed, {FAILED_CALLS: failed})
    return Summary(
        n_records=n_records,
        n_evaluated=len(evaluations),
        n_failed=n_failed,
        n_rejected=n_rejected,
        scores=average_scores(outlines),
        by_question=average_question_scores(outlines),
        pooled=pool_scores(outlines),
        systems={
            system: average_scores([e for e in outlines if e.system == system])
            for system in sorted(systems)
        },
        findings=_count_kinds(finding for e in outlines for finding in e.primary_findings),
        secondary_findings=_count_kinds(f for e in outlines for f in e.secondary_findings),
        n_undecided=tally.n_undecided,
        unscored=dict(sorted(tally.failures.items(), key=lambda one: (-one[1], one[0]))),
        n_judged=tally.n_judged,
        usage=tally.usage,
        usage_by_part=tally.usage_by_part,
        confidence_from=dict(sorted(tally.confidence_from.items())),
        panel=measure_panel_agreement(evaluations),
    )


@dataclass
class _Tally:
    failures: Counter[str] = field(default_factory=Counter)
    n_undecided: int = 0
    n_judged: int = 0
    usage: Usage = field(default_factory=Usage)
    usage_by_part: dict[str, Usage] = field(default_factory=dict)
    confidence_from: Counter[str] = field(default_factory=Counter)

    @classmethod
    def from_evaluations(cls, evaluations: Iterable[Evaluation]) -> _Tally:
        """Count in a single pass over the evaluations, because they may be read from disk."""
        tally = cls()
        for evaluation in evaluations:
            tally.n_undecided += len(evaluation.undecided)
            tally.add_usage(evaluation.usage, evaluation.usage_by_part)
            for verdict in _iter_single_verdicts(evaluation):
                tally._add(verdict)
        return tally

    def add_usage(self, usage: Usage, by_part: Mapping[str, Usage]) -> None:
        """Add the usage of one record."""
        self.usage += usage
        for part, spent in by_part.items():
            self.usage_by_part[part] = self.usage_by_part.get(part, Usage()) + spent

    def _add(self, verdict: VerdictBase) -> None:
        second = getattr(verdict, "escalation", None)
        failure = verdict.failure or (second and second.failure)
        if failure and failure.reason not in NO_FAULT:
            self.failures[failure.reason] += 1
        self.confidence_from.update(verdict.usage.confidence_from)
        self.n_judged += verdict.is_undecided or verdict.value not in BY_RULE


def _iter_single_verdicts(evaluation: Evaluation) -> Iterator[VerdictBase]:
    """Yield the verdicts of single judges, except correctness, which is derived from evidence."""
    for verdict in evaluation.verdicts:
        if not isinstance(verdict, SentenceCorrectness):
            yield from getattr(verdict, "members", ()) or (verdict,)


def _count_kinds(findings: Iterable[Finding]) -> dict[str, int]:
    return dict(sorted(Counter(finding.kind for finding in findings).items()))
