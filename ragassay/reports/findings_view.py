"""View of a run's findings: what leads the report, and each as a card with its passage."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragassay.evaluators.registry import single_verdicts
from ragassay.records import (
    CitationVerdict,
    Evaluation,
    EvidenceVerdict,
    Finding,
    FindingLevel,
    Outlined,
    Summary,
    outlines_of,
)
from ragassay.reports.display import UNDECIDED, precision_text, reason_text
from ragassay.reports.labels import (
    JUDGED,
    N_SECONDARY,
    REFUSAL,
    Severity,
    finding_rank,
    finding_severity,
    finding_title,
    is_serious,
    place_text,
    possible_title,
    shown_findings,
)
from ragassay.reports.marked import Piece, mark_places, marked_claim, marked_passage
from ragassay.reports.sentence_view import PassageView, titles_of, view_passage
from ragassay.reports.sheets import Sheet, Shown, words
from ragassay.reports.text import (
    count_text,
    findings_text,
    headline,
    join_words,
    possible_text,
    verdict_title,
)


@dataclass(frozen=True, slots=True)
class FindingCard:
    """A finding in its place.

    Attributes:
        number: 1-based number of the answer in the report.
        sentence: 1-based; 0 where it is about the whole answer.
        pieces: The sentence, its wrong words marked; empty where it is about the whole answer.
        passage: What the sentence was compared with.
        shown: The passage's text around the sentence that is closest.
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
    pieces: tuple[Piece, ...]
    marker: str
    passage: PassageView | None
    shown: tuple[Piece, ...]
    why: str
    sure: str
    likelihood: float = 0.0


def view_cards(evaluations: Sequence[Evaluation]) -> tuple[FindingCard, ...]:
    """Return the primary findings as `rank_cards` orders them."""
    found = [
        card
        for number, outline in enumerate(outlines_of(evaluations), start=1)
        if outline.primary_findings
        for card in cards_of(number, evaluations[number - 1], "primary")
    ]
    return rank_cards(found)


def rank_cards(cards: Iterable[FindingCard]) -> tuple[FindingCard, ...]:
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
    span, difference, marker, pieces = None, "", "", mark_places(text, ())
    if isinstance(verdict, CitationVerdict | EvidenceVerdict):
        span, difference = verdict.evidence, verdict.difference
        places = [(one.start, one.end) for one in verdict.spans]
        if difference:
            pieces = marked_claim(text, difference)
        elif places:
            pieces = mark_places(text, places, "unsupported")
    if isinstance(verdict, CitationVerdict):
        marker = verdict.citation.marker
    return FindingCard(
        number=number,
        record=evaluation.record_id,
        system=evaluation.system or "",
        kind=finding.kind,
        title=finding_title(finding.kind, 1) + ("?" if finding.level == "secondary" else ""),
        severity=finding_severity(finding.kind) if finding.level == "primary" else "caution",
        sentence=n,
        pieces=pieces,
        marker=marker,
        passage=view_passage(span, titles_of(evaluation)),
        shown=marked_passage(span.text, text, difference) if span else (),
        why=finding.message,
        sure=sure_text(finding),
        likelihood=evaluation.likelihood_of(finding) if finding.level == "secondary" else 0.0,
    )


def sure_text(finding: Finding) -> str:
    """Say how sure a finding is; empty where nobody measured."""
    if finding.precision is not None:
        data = f", on {finding.data}" if finding.data else ""
        n = f"{finding.n_measured:,} " if finding.n_measured else ""
        seldom = ": not enough for a main finding" if finding.level == "secondary" else ""
        return f"Right in {precision_text(finding)} of {n}such findings{data}{seldom}"
    return "Not certain enough for a main finding" if finding.level == "secondary" else ""


UNMEASURED = "It was not measured how often such findings of this judge are right."

WORTH_A_LOOK = "Not certain enough for a main finding: compare the sentence with its source."

FLAG = "--escalate"

UNDECIDED_NOTE = (
    "verdicts: in such cases, the judge was not right often enough when it was measured, so it "
    "decides nothing. They are not missing at random. A score with many of them is shown as its "
    "range: from all of them wrong to all of them right."
)


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """All findings of a kind, those that are listed as a table.

    Attributes:
        n: The summary's count, which may exceed the list by `n_unlisted`.
        measured: How often such findings are right.
    """

    title: str
    n: int
    n_unlisted: int
    sheet: Sheet
    measured: str = ""


def view_findings(
    summary: Summary, evaluations: Sequence[Outlined], level: FindingLevel = "primary"
) -> tuple[FindingGroup, ...]:
    """Return findings of a level by kind, the worst kind first, in the order of the answers.

    Of what is worth a look, the likeliest `N_SECONDARY` of an answer are listed.
    """
    listed: dict[str, list[tuple[str, Finding]]] = defaultdict(list)
    for evaluation in evaluations:
        for finding in shown_findings(evaluation, level):
            listed[finding.kind].append((evaluation.record_id, finding))
    counts = summary.findings if level == "primary" else summary.secondary_findings
    kinds = {*listed, *(kind for kind, n in counts.items() if n)}
    groups: list[FindingGroup] = []
    for kind in sorted(kinds, key=finding_rank):
        found = listed.get(kind, ())
        n = max(counts.get(kind, 0), len(found))
        title = finding_title(kind, n) if level == "primary" else possible_title(kind, n)
        rows = tuple(
            (record, Shown(one.message, notes=tuple(filter(None, [place_text(one)]))))
            for record, one in found
        )
        sheet = Sheet(title, words("Answer", "Finding"), rows)
        measured = measured_text([one for _, one in found])
        groups.append(FindingGroup(title, n, n - len(found), sheet, measured))
    return tuple(groups)


def lead_text(summary: Summary, evaluations: Sequence[Outlined]) -> str:
    """Return what is wrong, in a sentence that leads the page."""
    serious = {kind: n for kind, n in summary.findings.items() if is_serious(kind)}
    n_wrong = sum(any(is_serious(f.kind) for f in e.primary_findings) for e in evaluations)
    n = len(evaluations)
    if not n or summary.judged_nothing:
        return headline(summary)
    # No fault as such, but what a reader has to know before all else.
    refused = findings_text({kind: n for kind, n in summary.findings.items() if kind == REFUSAL})
    if serious:
        where = f"{n_wrong:,} of {count_text(n, 'answer')}" if n > 1 else "this answer"
        return f"{findings_text(serious)} in {where}{'; ' if refused else ''}{refused}."
    rest = [refused] if refused else []
    rest += [
        f"{count_text(n, 'finding')} worth a look"
        for n in [sum(summary.secondary_findings.values())]
        if n
    ]
    if summary.n_undecided:
        rest.append(count_text(summary.n_undecided, f"{UNDECIDED} verdict"))
    where = f"{n:,} answers" if n > 1 else "this answer"
    return f"No serious main finding in {where}{'; ' if rest else ''}{join_words(rest)}."


def measured_text(findings: Sequence[Finding]) -> str:
    """Say how often such findings are right; empty where nobody measured."""
    parts = list(dict.fromkeys(_measured_part(f) for f in findings if f.precision is not None))
    if not parts:
        return ""
    seldom = (
        "" if any(f.level == "primary" for f in findings) else ": not enough for a main finding"
    )
    return f"Measured: right in {' or '.join(parts)}{seldom}."


def _measured_part(finding: Finding) -> str:
    n = f" of {finding.n_measured:,}" if finding.n_measured else ""
    return f"{precision_text(finding)}{n}{f' ({finding.data})' if finding.data else ''}"


def unmeasured_text(evaluations: Iterable[Outlined]) -> str:
    """Say once that nobody measured how often the judge's leading findings are right."""
    primary = (finding for evaluation in evaluations for finding in evaluation.primary_findings)
    return UNMEASURED if any(f.kind in JUDGED and f.precision is None for f in primary) else ""


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
        tuple(_count_kind(name, n) for name, n in undecided.items()),
    )


def _unscored_line(name: str, reasons: Counter[str]) -> str:
    causes = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    several = len(causes) > 1
    words = (f"{n:,} {reason}" if several else reason for reason, n in causes)
    return f"{_count_kind(name, reasons.total())}: {', '.join(words)}"


def _count_kind(name: str, n: int) -> str:
    return count_text(n, verdict_title(name), verdict_title(name, 2))


def undecided_note(summary: Summary) -> str:
    """Say what undecided verdicts are, and who can decide them."""
    return (
        UNDECIDED_NOTE
        if summary.cascade
        else f"{UNDECIDED_NOTE} A second judge can decide them: {FLAG} MODEL."
    )


def secondary_text(summary: Summary) -> str:
    """Name what is worth a look, in a line of the terminal; empty where nothing is."""
    if not summary.secondary_findings:
        return ""
    return (
        f"Worth a look, but each may be a false alarm: {possible_text(summary.secondary_findings)}."
    )


def more_secondary_text(n_more: int) -> str:
    """Say how many findings worth a look are not shown; empty where all are."""
    if not n_more:
        return ""
    return f"The likeliest {N_SECONDARY} of each answer are shown, {n_more:,} more are not."


def undecided_text(summary: Summary) -> str:
    """Count what the judge left open, and say who can decide it; empty where it is nothing."""
    if not summary.n_undecided:
        return ""
    mend = "" if summary.cascade else f": {FLAG} MODEL asks a judge for them"
    verb = "is" if summary.n_undecided == 1 else "are"
    return f"{count_text(summary.n_undecided, 'verdict')} {verb} {UNDECIDED}{mend}."
