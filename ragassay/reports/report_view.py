"""View of a run for a page: every figure as words, in reading order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ragassay.records import (
    Audit,
    Evaluation,
    Manifest,
    RecordFailure,
    Rejection,
    Repeats,
    Score,
    Summary,
    outlines_of,
)
from ragassay.reports.cascade_view import CascadeView, view_cascade
from ragassay.reports.certificate import NOT_AUDITED, CertificateView, view_certificate
from ragassay.reports.charts import MAX_SERIES, Plot, dot_plot
from ragassay.reports.cost_view import CostRow, view_costs
from ragassay.reports.findings_view import (
    FindingGroup,
    undecided_note,
    unmeasured_text,
    view_findings,
    view_open,
)
from ragassay.reports.panel_view import PanelView, view_panel
from ragassay.reports.provenance import JudgeView, ProvenanceRow, view_judges, view_provenance
from ragassay.reports.repeats_view import RepeatsView, confidence_text, view_repeats
from ragassay.reports.text import (
    MAIN_SCORES,
    RUBRIC_MEAN,
    format_bounds,
    format_interval,
    group_title,
    headline,
    is_number,
    join_words,
    rubric_mean,
    rubric_mean_text,
    score_direction,
    score_group,
    score_text,
    score_title,
    shortfall,
)

UNKNOWN = "Nothing is known of how often this judge is right."


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A score as a row of a table; `judge` only where it differs from its group's."""

    title: str
    direction: str
    value: str
    scored: bool
    interval: str
    n: int
    n_unscored: int
    bounds: str
    judge: str


@dataclass(frozen=True, slots=True)
class ScoreGroup:
    """Scores with the same part before the dot."""

    title: str
    judge: str
    rows: tuple[ScoreRow, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """A value and its interval."""

    value: str
    interval: str
    scored: bool


@dataclass(frozen=True, slots=True)
class SystemRow:
    """A system and its main scores."""

    name: str
    n: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Systems:
    """All systems: the main scores first, then every score."""

    columns: tuple[str, ...]
    rows: tuple[SystemRow, ...]
    all_scores: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True, slots=True)
class AverageRow:
    """A score averaged in three ways."""

    title: str
    over_answers: Cell
    over_questions: Cell
    pooled: Cell | None


@dataclass(frozen=True, slots=True)
class ReportView:
    """The whole report but its answers."""

    name: str
    headline: str
    shortfall: str
    findings: tuple[FindingGroup, ...]
    unmeasured: str
    looks: tuple[FindingGroup, ...]
    unscored: tuple[str, ...]
    undecided: tuple[str, ...]
    undecided_note: str
    scores: tuple[ScoreGroup, ...]
    averages: tuple[AverageRow, ...]
    plots: tuple[Plot, ...]
    panel: PanelView | None
    cascade: CascadeView | None
    systems: Systems | None
    judges: tuple[JudgeView, ...]
    certificate: CertificateView | None
    notes: tuple[str, ...]
    confidence: str
    repeats: RepeatsView | None
    n_answers: int
    failures: tuple[RecordFailure, ...]
    rejections: tuple[Rejection, ...]
    provenance: tuple[ProvenanceRow, ...]
    costs: tuple[CostRow, ...]


def view_report(
    manifest: Manifest,
    summary: Summary,
    evaluations: Sequence[Evaluation],
    failures: Sequence[RecordFailure],
    rejections: Sequence[Rejection],
    audit: Audit | None = None,
    repeats: Repeats | None = None,
) -> ReportView:
    """Return the view of a run but its answers, which are many: see `view_answer`."""
    outlines, open_lines = outlines_of(evaluations), view_open(evaluations)
    return ReportView(
        name=manifest.answers.name,
        headline=headline(summary),
        shortfall=shortfall(summary),
        findings=view_findings(summary, outlines),
        unmeasured=unmeasured_text(outlines),
        looks=view_findings(summary, outlines, "look"),
        unscored=open_lines.unscored,
        undecided=open_lines.undecided,
        undecided_note=undecided_note(summary),
        scores=view_scores(summary.scores),
        averages=view_averages(summary),
        plots=view_plots(summary),
        panel=view_panel(summary.panel),
        cascade=view_cascade(summary.cascade),
        systems=view_systems(summary.systems) if summary.systems else None,
        judges=view_judges(manifest),
        certificate=view_certificate(audit) if audit else None,
        notes=summary.notes,
        confidence=confidence_text(summary.confidence_from),
        repeats=view_repeats(repeats),
        n_answers=len(evaluations),
        failures=tuple(failures),
        rejections=tuple(rejections),
        provenance=view_provenance(manifest, summary.usage),
        costs=view_costs(summary),
    )


def belief_text(report: ReportView) -> str:
    """Say in a line how far the judge that said all this can be trusted."""
    if report.certificate:
        return report.certificate.headline
    known = [judge for judge in report.judges if judge.figures]
    cards = (
        f"{join_words(judge.model for judge in known)} {'has' if len(known) == 1 else 'have'} "
        f"figures on data that {'it' if len(known) == 1 else 'they'} had not seen, below."
        if known
        else UNKNOWN
    )
    return f"{cards} {NOT_AUDITED}"


def view_scores(scores: Mapping[str, Score]) -> tuple[ScoreGroup, ...]:
    """Return scores by group, in their given order."""
    grouped: dict[str, dict[str, Score]] = defaultdict(dict)
    for key, score in scores.items():
        grouped[score_group(key)][key] = score
    return tuple(_group(name, members) for name, members in grouped.items())


def _group(name: str, scores: Mapping[str, Score]) -> ScoreGroup:
    judges = Counter(score.judge for score in scores.values() if score.judge)
    judge = judges.most_common(1)[0][0] if judges else ""
    rows = tuple(
        ScoreRow(
            title=score_title(key, score.judge),
            direction="lower is better" if score_direction(key) == "lower" else "",
            value=score_text(score),
            scored=is_number(score.value),
            interval=format_interval(score),
            n=score.n,
            n_unscored=score.n_unscored,
            bounds=format_bounds(score),
            judge="" if score.judge == judge else score.judge or "no model asked",
        )
        for key, score in scores.items()
    )
    return ScoreGroup(group_title(name), judge, rows)


def view_averages(summary: Summary) -> tuple[AverageRow, ...]:
    """Return each score over answers, over questions and pooled; none in earlier versions.

    Only shares are pooled.
    """
    return tuple(
        AverageRow(
            score_title(key, score.judge),
            _cell(score),
            _cell(summary.by_question.get(key)),
            _cell(summary.pooled[key]) if key in summary.pooled else None,
        )
        for key, score in summary.scores.items()
        if summary.by_question
    )


def view_plots(summary: Summary) -> tuple[Plot, ...]:
    """Return one plot for rubrics and one for shares; a series for each of a few systems."""
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


def view_systems(systems: Mapping[str, Mapping[str, Score]]) -> Systems:
    """Return the systems in their given order; a column of rubrics only if some were judged."""
    keys = list(dict.fromkeys(chain.from_iterable(systems.values())))
    rubrics = [RUBRIC_MEAN] if any(score_group(key) == "rubric" for key in keys) else []
    main = [key for key in MAIN_SCORES if key in keys]
    rows = tuple(
        SystemRow(
            name=name,
            n=max((score.n + score.n_unscored for score in scores.values()), default=0),
            cells=(
                *(Cell(rubric_mean_text(scores), "", _has_rubric(scores)) for _ in rubrics),
                *(_cell(scores.get(key)) for key in main),
            ),
        )
        for name, scores in systems.items()
    )
    every = tuple(
        (
            score_title(key, _judge(scores.get(key) for scores in systems.values())),
            tuple(_cell(scores.get(key)) for scores in systems.values()),
        )
        for key in keys
    )
    return Systems((*rubrics, *map(score_title, main)), rows, every)


def _judge(scores: Iterable[Score | None]) -> str:
    """Return who gave scores, if it was one."""
    judges = {score.judge for score in scores if score is not None}
    return judges.pop() if len(judges) == 1 else ""


def _has_rubric(scores: Mapping[str, Score]) -> bool:
    mean = rubric_mean(scores)
    return mean is not None and is_number(mean.value)


def _cell(score: Score | None) -> Cell:
    scored = score is not None and is_number(score.value)
    interval = format_interval(score) if scored and score is not None else ""
    return Cell(score_text(score), interval, scored)
