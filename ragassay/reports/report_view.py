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
    outlines_of,
)
from ragassay.reports.certificate import NOT_AUDITED, CertificateView, view_certificate
from ragassay.reports.charts import MAX_SERIES, Plot, dot_plot
from ragassay.reports.findings_view import (
    FindingGroup,
    undecided_note,
    unmeasured_text,
    view_findings,
    view_open,
)
from ragassay.reports.panel_view import CascadeView, PanelView, view_cascade, view_panel
from ragassay.reports.provenance import JudgeView, provenance_sheet, view_judges
from ragassay.reports.run_sheets import (
    averages_sheet,
    confidence_text,
    cost_sheet,
    every_score_sheet,
    repeats_sheet,
    score_sheet,
    system_sheet,
)
from ragassay.reports.sheets import Sheet
from ragassay.reports.text import (
    headline,
    join_words,
    score_group,
    shortfall,
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
    outlines, open_lines = outlines_of(evaluations), view_open(evaluations)
    return ReportView(
        name=manifest.answers.name,
        headline=headline(summary),
        shortfall=shortfall(summary),
        findings=view_findings(summary, outlines),
        unmeasured=unmeasured_text(outlines),
        secondary_findings=view_findings(summary, outlines, "secondary"),
        unscored=open_lines.unscored,
        undecided=open_lines.undecided,
        undecided_note=undecided_note(summary),
        scores=score_sheet(summary, "headings"),
        judged_scores=score_sheet(summary, "column"),
        averages=averages_sheet(summary),
        plots=view_plots(summary),
        panel=view_panel(summary.panel),
        cascade=view_cascade(summary.cascade),
        systems=system_sheet(summary.systems),
        every_score=every_score_sheet(summary.systems),
        judges=view_judges(manifest),
        certificate=view_certificate(audit) if audit else None,
        notes=summary.notes,
        confidence=confidence_text(summary.confidence_from),
        repeats=repeats_sheet(repeats) if repeats else None,
        n_answers=len(evaluations),
        failures=tuple(failures),
        rejections=tuple(rejections),
        provenance=provenance_sheet(manifest, summary.usage),
        costs=cost_sheet(summary),
    )


def belief_text(report: ReportView) -> str:
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
    rubrics = [key for key in keys if score_group(key) == "rubric"]
    shares = [key for key in keys if score_group(key) != "rubric" and _is_share(key, summary)]
    plots = (("Rubrics, 1 to 5", rubrics), ("Shares, 0 to 100 %", shares))
    return tuple(dot_plot(title, chosen, series) for title, chosen in plots if chosen)


def _is_share(key: str, summary: Summary) -> bool:
    known = (scores[key] for scores in (summary.scores, *summary.systems.values()) if key in scores)
    return all(tuple(score.scale) == (0.0, 1.0) for score in known)
