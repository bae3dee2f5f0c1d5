"""Format the findings of a run: the lead sentence, tables by kind, and cards with passages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragassay.evaluators.registry import group_single_verdicts
from ragassay.records import (
    CitationVerdict,
    Evaluation,
    EvidenceVerdict,
    Finding,
    FindingLevel,
    Outlined,
    Summary,
    list_outlines,
)
from ragassay.reports.display import UNDECIDED, format_failure_reason, format_precision
from ragassay.reports.labels import (
    JUDGED,
    N_SECONDARY,
    REFUSAL,
    Severity,
    describe_finding_place,
    find_finding_title,
    find_possible_title,
    find_severity,
    is_serious,
    rank_finding_kind,
    select_shown_findings,
)
from ragassay.reports.marked import Piece, mark_claim, mark_passage, mark_places
from ragassay.reports.sentence_view import PassageView, map_source_titles, view_passage
from ragassay.reports.sheets import Sheet, Shown, build_text_columns
from ragassay.reports.text import (
    count_text,
    describe_findings,
    describe_possible_findings,
    find_verdict_title,
    join_words,
    summarize_run,
)


@dataclass(frozen=True, slots=True)
class FindingCard:
    """A finding, with the sentence and the passage that it is about.

    Attributes:
        number: 1-based position of the answer in the report.
        sentence: 1-based sentence number, or 0 for a finding about the whole answer.
        pieces: Sentence text with the wrong words marked. Empty for a finding about the whole
            answer.
        passage: Passage that the sentence was compared with.
        shown: Excerpt of the passage around the sentence that is closest to the claim.
        sure: Text about the measured precision of this kind of finding. Empty if unmeasured.
        likelihood: Probability in [0, 1] that a secondary finding is right. It is 0 if it is
            unknown and for all primary findings.
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
    """Return the cards of all primary findings, sorted by `rank_cards`."""
    return rank_cards(
        card
        for number, outline in enumerate(list_outlines(evaluations), start=1)
        if outline.primary_findings
        for card in list_answer_cards(number, evaluations[number - 1], "primary")
    )


def rank_cards(cards: Iterable[FindingCard]) -> tuple[FindingCard, ...]:
    """Sort cards by likelihood, then by severity of the kind, then by answer."""
    return tuple(sorted(cards, key=lambda c: (-c.likelihood, rank_finding_kind(c.kind), c.number)))


def list_answer_cards(
    number: int, evaluation: Evaluation, level: FindingLevel
) -> list[FindingCard]:
    """Return the cards of the primary or secondary findings of one answer."""
    findings = select_shown_findings(evaluation, level)
    return [view_card(finding, number, evaluation) for finding in findings]


def view_card(finding: Finding, number: int, evaluation: Evaluation) -> FindingCard:
    """Return the card of one finding."""
    n = finding.sentence or 0
    text = next((sentence.text for sentence in evaluation.sentences if sentence.index == n), "")
    verdict = evaluation.find_verdict(finding)
    span, difference, marker, pieces = None, "", "", mark_places(text, ())
    if isinstance(verdict, CitationVerdict | EvidenceVerdict):
        span, difference = verdict.evidence, verdict.difference
        places = [(one.start, one.end) for one in verdict.spans]
        if difference:
            pieces = mark_claim(text, difference)
        elif places:
            pieces = mark_places(text, places, "unsupported")
    if isinstance(verdict, CitationVerdict):
        marker = verdict.citation.marker
    return FindingCard(
        number=number,
        record=evaluation.record_id,
        system=evaluation.system or "",
        kind=finding.kind,
        title=find_finding_title(finding.kind, 1) + ("?" if finding.level == "secondary" else ""),
        severity=find_severity(finding.kind) if finding.level == "primary" else "caution",
        sentence=n,
        pieces=pieces,
        marker=marker,
        passage=view_passage(span, map_source_titles(evaluation)),
        shown=mark_passage(span.text, text, difference) if span else (),
        why=finding.message,
        sure=describe_certainty(finding),
        likelihood=evaluation.estimate_likelihood(finding) if finding.level == "secondary" else 0.0,
    )


def describe_certainty(finding: Finding) -> str:
    """Describe the measured precision of a finding, or return "" if there is nothing to add."""
    if finding.precision is not None:
        data = f" on {finding.data}" if finding.data else ""
        n = f"{finding.n_measured:,} " if finding.n_measured else ""
        limit = ", too few for a main finding" if finding.level == "secondary" else ""
        return f"{format_precision(finding)} of {n}such findings{data} were correct{limit}"
    return "Too uncertain for a main finding" if finding.level == "secondary" else ""


UNMEASURED = "The precision of some of these findings was not measured for this judge."

WORTH_A_LOOK = (
    "The findings below are too uncertain to be main findings. Compare each sentence with its "
    "source."
)

FLAG = "--escalate"

UNDECIDED_NOTE = (
    "verdicts are hard cases: on labelled data, the judge was not accurate enough on verdicts like "
    "these. Scores of the remaining verdicts may therefore be biased. If many verdicts of a score "
    "are undecided, the report shows the range of values that the score could have."
)


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """All findings of one kind.

    Attributes:
        n: Number of findings, including the `n_unlisted` findings that the table omits.
        measured: Text about the measured precision of this kind of finding.
    """

    title: str
    n: int
    n_unlisted: int
    sheet: Sheet
    measured: str = ""


def view_findings(
    summary: Summary, evaluations: Sequence[Outlined], level: FindingLevel = "primary"
) -> tuple[FindingGroup, ...]:
    """Group primary or secondary findings by kind, most severe kind first.

    Of the secondary findings, only the `N_SECONDARY` most likely ones of each answer are listed.
    """
    listed: dict[str, list[tuple[str, Finding]]] = defaultdict(list)
    for evaluation in evaluations:
        for finding in select_shown_findings(evaluation, level):
            listed[finding.kind].append((evaluation.record_id, finding))
    counts = summary.findings if level == "primary" else summary.secondary_findings
    kinds = {*listed, *(kind for kind, n in counts.items() if n)}
    groups: list[FindingGroup] = []
    for kind in sorted(kinds, key=rank_finding_kind):
        findings = listed.get(kind, ())
        n = max(counts.get(kind, 0), len(findings))
        title = find_finding_title(kind, n) if level == "primary" else find_possible_title(kind, n)
        rows = tuple(
            (
                record,
                Shown(
                    finding.message, notes=tuple(filter(None, [describe_finding_place(finding)]))
                ),
            )
            for record, finding in findings
        )
        sheet = Sheet(title, build_text_columns("Answer", "Finding"), rows)
        measured = describe_precision([finding for _, finding in findings])
        groups.append(FindingGroup(title, n, n - len(findings), sheet, measured))
    return tuple(groups)


def summarize_main_findings(summary: Summary, evaluations: Sequence[Outlined]) -> str:
    """Return the first sentence of the page, which summarizes the main findings."""
    serious = {kind: n for kind, n in summary.findings.items() if is_serious(kind)}
    n_wrong = sum(any(is_serious(f.kind) for f in e.primary_findings) for e in evaluations)
    n = len(evaluations)
    if not n or summary.judged_nothing:
        return summarize_run(summary)
    # A refusal is not an error, but readers should know about it first.
    refused = describe_findings(
        {kind: n for kind, n in summary.findings.items() if kind == REFUSAL}
    )
    if serious:
        scope = f"{n_wrong:,} of {count_text(n, 'answer')}" if n > 1 else "this answer"
        return f"{describe_findings(serious)} in {scope}{'; ' if refused else ''}{refused}."
    rest = [refused] if refused else []
    if n_secondary := sum(summary.secondary_findings.values()):
        rest.append(f"{count_text(n_secondary, 'finding')} worth a look")
    if summary.n_undecided:
        rest.append(count_text(summary.n_undecided, f"{UNDECIDED} verdict"))
    scope = f"{n:,} answers" if n > 1 else "this answer"
    return f"No serious main findings in {scope}{'; ' if rest else ''}{join_words(rest)}."


def describe_precision(findings: Sequence[Finding]) -> str:
    """Describe the measured precision of findings of one kind, or return "" if unmeasured."""
    parts = dict.fromkeys(_format_precision_part(f) for f in findings if f.precision is not None)
    if not parts:
        return ""
    is_primary = any(f.level == "primary" for f in findings)
    limit = "" if is_primary else " This precision is too low for a main finding."
    return f"Measured precision: {'; '.join(parts)}.{limit}"


def _format_precision_part(finding: Finding) -> str:
    n = f"n = {finding.n_measured:,}" if finding.n_measured else ""
    basis = ", ".join(filter(None, (n, finding.data)))
    return f"{format_precision(finding)}{f', {basis}' if basis else ''}"


def describe_unmeasured(evaluations: Iterable[Outlined]) -> str:
    """Return a note if the precision of any primary finding was not measured, or else ""."""
    primary = (finding for evaluation in evaluations for finding in evaluation.primary_findings)
    return UNMEASURED if any(f.kind in JUDGED and f.precision is None for f in primary) else ""


@dataclass(frozen=True, slots=True)
class OpenLines:
    """Lines that count the verdicts without a value, one line per kind of verdict.

    Attributes:
        unscored: Lines on failed verdicts, with the reasons.
        undecided: Lines on verdicts that the judge left undecided.
    """

    unscored: tuple[str, ...]
    undecided: tuple[str, ...]


def view_open(evaluations: Iterable[Evaluation]) -> OpenLines:
    """Count the verdicts without a value."""
    reasons: dict[str, Counter[str]] = {}
    undecided: Counter[str] = Counter()
    for evaluation in evaluations:
        undecided.update(verdict.evaluator for verdict in evaluation.undecided)
        for name, verdicts in group_single_verdicts(evaluation).items():
            failures = [v.failure for v in verdicts if v.failure and not v.is_undecided]
            counts = reasons.setdefault(name, Counter())
            counts.update(format_failure_reason(failure.reason) for failure in failures)
    return OpenLines(
        tuple(_format_unscored_line(name, counts) for name, counts in reasons.items() if counts),
        tuple(_count_verdicts(name, n) for name, n in undecided.items()),
    )


def _format_unscored_line(name: str, reasons: Counter[str]) -> str:
    causes = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    texts = (f"{n:,} {reason}" if len(causes) > 1 else reason for reason, n in causes)
    return f"{_count_verdicts(name, reasons.total())}: {', '.join(texts)}"


def _count_verdicts(name: str, n: int) -> str:
    return count_text(n, find_verdict_title(name), find_verdict_title(name, 2))


def explain_undecided_verdicts(summary: Summary) -> str:
    """Explain what undecided verdicts are, and how to have a second judge decide them."""
    if summary.cascade:
        return UNDECIDED_NOTE
    return f"{UNDECIDED_NOTE} To have a second judge decide these verdicts, use {FLAG} MODEL."


def describe_secondary_findings(summary: Summary) -> str:
    """Return a terminal line that counts the secondary findings, or "" if there are none."""
    if not summary.secondary_findings:
        return ""
    findings = describe_possible_findings(summary.secondary_findings)
    return f"Worth a look, but often false alarms: {findings}."


def describe_hidden_findings(n_more: int) -> str:
    """Return the number of secondary findings that are not shown, or "" if all are shown."""
    if not n_more:
        return ""
    others = "1 other is" if n_more == 1 else f"{n_more:,} others are"
    return (
        f"Only the {N_SECONDARY} most likely findings of each answer are listed, and {others} not."
    )


def describe_undecided(summary: Summary) -> str:
    """Count the undecided verdicts and suggest a second judge; "" if there are none."""
    if not summary.n_undecided:
        return ""
    hint = "" if summary.cascade else f" Use {FLAG} MODEL to have a second judge decide."
    verb = "is" if summary.n_undecided == 1 else "are"
    return f"{count_text(summary.n_undecided, 'verdict')} {verb} {UNDECIDED}.{hint}"
