"""View of a run's findings: what leads the report, what is worth a look, what has no verdict."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragassay.evaluators.registry import single_verdicts
from ragassay.records import Evaluation, Finding, FindingLevel, Outlined, Summary
from ragassay.reports.labels import (
    JUDGED,
    N_LOOKS,
    REFUSAL,
    Severity,
    finding_rank,
    finding_severity,
    finding_title,
    is_serious,
    place_text,
    reason_text,
    shown_findings,
)
from ragassay.reports.text import (
    count_text,
    findings_text,
    headline,
    join_words,
    precision_text,
    verdict_title,
)

UNMEASURED = "How often such findings of this judge are right was not measured."

WORTH_A_LOOK = (
    "Too unsure to lead this report: compare the sentence with its source before you rely on one."
)

FLAG = "--escalate"

UNDECIDED = (
    "verdicts are those on which the judge, as it was measured, is not right often enough. They "
    "are not missing at random: a score with many of them is shown as its range, from all of them "
    "wrong to all of them right."
)


@dataclass(frozen=True, slots=True)
class FindingItem:
    """A finding and its answer."""

    number: int
    record: str
    place: str
    message: str


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """All findings of a kind; `n` is the summary's count, which may exceed the list.

    `measured` says how often such findings are right.
    """

    title: str
    severity: Severity
    n: int
    n_unlisted: int
    items: tuple[FindingItem, ...]
    measured: str = ""


def view_findings(
    summary: Summary, evaluations: Sequence[Outlined], level: FindingLevel = "head"
) -> tuple[FindingGroup, ...]:
    """Return findings of a level by kind, the worst kind first, in the order of the answers.

    Of what is worth a look, the likeliest `N_LOOKS` of an answer are listed.
    """
    listed: dict[str, list[tuple[Finding, FindingItem]]] = defaultdict(list)
    for number, evaluation in enumerate(evaluations, start=1):
        for finding in shown_findings(evaluation, level):
            place = place_text(finding)
            item = FindingItem(number, evaluation.record_id, place, finding.message)
            listed[finding.kind].append((finding, item))
    counts = summary.findings if level == "head" else summary.looks
    kinds = {*listed, *(kind for kind, n in counts.items() if n)}
    groups: list[FindingGroup] = []
    for kind in sorted(kinds, key=finding_rank):
        found = [finding for finding, _ in listed.get(kind, ())]
        items = tuple(item for _, item in listed.get(kind, ()))
        n = max(counts.get(kind, 0), len(items))
        title, severity = finding_title(kind, n), finding_severity(kind)
        measured = measured_text(found)
        groups.append(FindingGroup(title, severity, n, n - len(items), items, measured))
    return tuple(groups)


def lead_text(summary: Summary, evaluations: Sequence[Outlined]) -> str:
    """Return what is wrong, in a sentence that leads the page."""
    serious = {kind: n for kind, n in summary.findings.items() if is_serious(kind)}
    n_wrong = sum(any(is_serious(f.kind) for f in e.heads) for e in evaluations)
    n = len(evaluations)
    if not n or summary.judged_nothing:
        return headline(summary)
    # No fault as such, but what a reader has to know before all else.
    refused = findings_text({kind: n for kind, n in summary.findings.items() if kind == REFUSAL})
    if serious:
        where = f"{n_wrong:,} of {count_text(n, 'answer')}" if n > 1 else "this answer"
        return f"{findings_text(serious)} in {where}{'; ' if refused else ''}{refused}."
    rest = [refused] if refused else []
    rest += [f"{count_text(n, 'finding')} worth a look" for n in [sum(summary.looks.values())] if n]
    if summary.n_undecided:
        rest.append(count_text(summary.n_undecided, "undecided verdict"))
    where = f"{n:,} answers" if n > 1 else "this answer"
    return f"Nothing serious leads in {where}{'; ' if rest else ''}{join_words(rest)}."


def measured_text(findings: Sequence[Finding]) -> str:
    """Say how often such findings are right; empty where nobody measured."""
    parts = list(dict.fromkeys(_measured_part(f) for f in findings if f.precision is not None))
    if not parts:
        return ""
    seldom = "" if any(f.level == "head" for f in findings) else ": not enough to lead"
    return f"Measured: right in {' or '.join(parts)}{seldom}."


def _measured_part(finding: Finding) -> str:
    n = f" of {finding.n_measured:,}" if finding.n_measured else ""
    return f"{precision_text(finding)}{n}{f' ({finding.data})' if finding.data else ''}"


def unmeasured_text(evaluations: Iterable[Outlined]) -> str:
    """Say once that nobody measured how often the judge's leading findings are right."""
    heads = (finding for evaluation in evaluations for finding in evaluation.heads)
    return UNMEASURED if any(f.kind in JUDGED and f.precision is None for f in heads) else ""


@dataclass(frozen=True, slots=True)
class OpenLines:
    """The numbers of verdicts without a value, one line per kind.

    Attributes:
        unscored: Failed ones, with the reasons.
        undecided: Those that the judge left open.
    """

    unscored: tuple[str, ...]
    undecided: tuple[str, ...]


def view_open(evaluations: Iterable[Evaluation]) -> OpenLines:
    """Count the verdicts without a value, in one pass."""
    reasons: dict[str, Counter[str]] = {}
    undecided: Counter[str] = Counter()
    for evaluation in evaluations:
        undecided.update(verdict.evaluator for verdict in evaluation.undecided)
        for name, verdicts in single_verdicts(evaluation).items():
            failures = [v.failure for v in verdicts if v.failure and not v.is_undecided]
            known = reasons.setdefault(name, Counter())
            known.update(reason_text(failure.reason) for failure in failures)
    return OpenLines(
        tuple(_unscored_line(name, found) for name, found in reasons.items() if found),
        tuple(_counted(name, n) for name, n in undecided.items()),
    )


def _unscored_line(name: str, reasons: Counter[str]) -> str:
    causes = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    several = len(causes) > 1
    words = (f"{n:,} {reason}" if several else reason for reason, n in causes)
    return f"{_counted(name, reasons.total())}: {', '.join(words)}"


def _counted(name: str, n: int) -> str:
    return count_text(n, verdict_title(name), verdict_title(name, 2))


def undecided_note(summary: Summary) -> str:
    """Say what undecided verdicts are, and who can decide them."""
    return UNDECIDED if summary.cascade else f"{UNDECIDED} A second judge can decide them: {FLAG}."


def looks_text(summary: Summary, evaluations: Iterable[Outlined] = ()) -> str:
    """Name what is worth a look, in a line of the terminal; empty where nothing is."""
    if not summary.looks:
        return ""
    n_more = sum(len(one.looks) - len(shown_findings(one, "look")) for one in evaluations)
    more = f" {more_looks_text(n_more)}" if n_more else ""
    return f"Worth a look: {findings_text(summary.looks)}.{more}"


def more_looks_text(n_more: int) -> str:
    """Say how many findings worth a look are not shown; empty where all are."""
    if not n_more:
        return ""
    return f"The likeliest {N_LOOKS} of each answer are shown, {n_more:,} more are not."


def undecided_text(summary: Summary) -> str:
    """Count what the judge left open, and say who can decide it; empty where it is nothing."""
    if not summary.n_undecided:
        return ""
    mend = "" if summary.cascade else f": name a judge ({FLAG}) for them"
    return f"{summary.n_undecided:,} undecided{mend}"
