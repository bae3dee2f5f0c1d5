"""Format a run for a report, with all values as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from ragassay.records import (
    Audit,
    Evaluation,
    Manifest,
    RecordFailure,
    Rejection,
    Repeats,
    Summary,
    list_outlines,
)
from ragassay.reports.certificate import NOT_AUDITED, CertificateView, view_certificate
from ragassay.reports.charts import MAX_SERIES, Plot, build_dot_plot
from ragassay.reports.findings_view import (
    FindingGroup,
    describe_unmeasured,
    explain_undecided_verdicts,
    view_findings,
    view_open,
)
from ragassay.reports.panel_view import CascadeView, PanelView, view_cascade, view_panel
from ragassay.reports.provenance import JudgeView, build_provenance_sheet, view_judges
from ragassay.reports.run_sheets import (
    build_averages_sheet,
    build_cost_sheet,
    build_every_score_sheet,
    build_repeats_sheet,
    build_run_score_sheet,
    build_system_sheet,
    describe_confidence,
)
from ragassay.reports.sheets import Sheet
from ragassay.reports.text import (
    describe_shortfall,
    extract_score_group,
    join_words,
    summarize_run,
)

UNKNOWN = "The accuracy of this judge was not measured."


@dataclass(frozen=True, slots=True)
class ReportView:
    """Contents of the report except the answers."""

    name: str
    headline: str
    shortfall: str
    findings: tuple[FindingGroup, ...]
    unmeasured: str
    secondary_findings: tuple[FindingGroup, ...]
    unscored: tuple[str, ...]
    undecided: tuple[str, ...]
    undecided_note: str
    scores: Sheet
    judged_scores: Sheet
    averages: Sheet
    plots: tuple[Plot, ...]
    panel: PanelView | None
    cascade: CascadeView | None
    systems: Sheet
    every_score: Sheet
    judges: tuple[JudgeView, ...]
    certificate: CertificateView | None
    notes: tuple[str, ...]
    confidence: str
    repeats: Sheet | None
    n_answers: int
    failures: tuple[RecordFailure, ...]
    rejections: tuple[Rejection, ...]
    provenance: Sheet
    costs: Sheet


def view_report(
    manifest: Manifest,
    summary: Summary,
    evaluations: Sequence[Evaluation],
    failures: Sequence[RecordFailure],
    rejections: Sequence[Rejection],
    audit: Audit | None = None,
    repeats: Repeats | None = None,
) -> ReportView:
    """Format everything in a run except the answers for a report.

    `view_answer` formats the answers.
    """
    outlines, open_lines = list_outlines(evaluations), view_open(evaluations)
    return ReportView(
        name=manifest.answers.name,
        headline=summarize_run(summary),
        shortfall=describe_shortfall(summary),
        findings=view_findings(summary, outlines),
        unmeasured=describe_unmeasured(outlines),
        secondary_findings=view_findings(summary, outlines, "secondary"),
        unscored=open_lines.unscored,
        undecided=open_lines.undecided,
        undecided_note=explain_undecided_verdicts(summary),
        scores=build_run_score_sheet(summary, "headings"),
        judged_scores=build_run_score_sheet(summary, "column"),
        averages=build_averages_sheet(summary),
        plots=view_plots(summary),
        panel=view_panel(summary.panel),
        cascade=view_cascade(summary.cascade),
        systems=build_system_sheet(summary.systems),
        every_score=build_every_score_sheet(summary.systems),
        judges=view_judges(manifest),
        certificate=view_certificate(audit) if audit else None,
        notes=summary.notes,
        confidence=describe_confidence(summary.confidence_from),
        repeats=build_repeats_sheet(repeats) if repeats else None,
        n_answers=len(evaluations),
        failures=tuple(failures),
        rejections=tuple(rejections),
        provenance=build_provenance_sheet(manifest, summary.usage),
        costs=build_cost_sheet(summary),
    )


def describe_reliability(report: ReportView) -> str:
    """Summarize how reliable the judges are."""
    if report.certificate:
        return report.certificate.headline
    known = [judge.model for judge in report.judges if judge.figures]
    verb = "was" if len(known) == 1 else "were"
    cards = (
        f"{join_words(known)} {verb} measured on held-out data (see below)." if known else UNKNOWN
    )
    return f"{cards} {NOT_AUDITED}"


def view_plots(summary: Summary) -> tuple[Plot, ...]:
    """Return a plot of rubrics and a plot of shares, with one series per system if few systems."""
    few = 1 < len(summary.systems) <= MAX_SERIES
    series = summary.systems if few else {"": summary.scores}
    keys = list(dict.fromkeys(chain(summary.scores, *series.values())))
    rubrics = [key for key in keys if extract_score_group(key) == "rubric"]
    shares = [
        key for key in keys if extract_score_group(key) != "rubric" and _is_share(key, summary)
    ]
    plots = (("Rubrics, 1 to 5", rubrics), ("Shares, 0 to 100 %", shares))
    return tuple(build_dot_plot(title, chosen, series) for title, chosen in plots if chosen)


def _is_share(key: str, summary: Summary) -> bool:
    known = (scores[key] for scores in (summary.scores, *summary.systems.values()) if key in scores)
    return all(tuple(score.scale) == (0.0, 1.0) for score in known)
