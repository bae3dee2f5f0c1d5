"""Print runs, audits, graded passages and plans; loaded when there is something to print."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ragassay.cli.run_summary import (
    brief_score_sheet,
    brief_system_sheet,
    judges_lines,
    lesser_text,
    rows_left,
    secondary_line,
    worst_lines,
)
from ragassay.cli.terminal import print_lines, print_sheets
from ragassay.model_names import INSTRUMENTS, MINILM_VERIFIER
from ragassay.models.availability import better_verifier_text
from ragassay.records import Audit, Evaluation, Manifest, Outlined, Repeats, Summary, outlines_of
from ragassay.reports.certificate import view_certificate
from ragassay.reports.display import UNDECIDED, count_missing
from ragassay.reports.findings_view import lead_text, undecided_text
from ragassay.reports.panel_view import cascade_lines, panel_lines, usd_text
from ragassay.reports.provenance import application_text, estimate_text, usage_text
from ragassay.reports.run_sheets import (
    confidence_text,
    repeats_sheet,
    repeats_text,
)
from ragassay.reports.text import count_text, lost_text, shortfall
from ragassay.runs.evaluate import Plan, RunResult
from ragassay.runs.folder import RunFolder
from ragassay.settings import load_settings
from ragassay.studies.audit_report import certificate_sheet, ratings_sheet, short_attack_sheet

if TYPE_CHECKING:
    from ragassay.workbench.grading import Graded


def print_stage(found: object, folder: Path, as_json: bool) -> None:
    """Print what a stage of an evaluation has found; as JSON the summary alone."""
    if as_json:
        if isinstance(found, RunResult):
            typer.echo(found.summary.model_dump_json(indent=2))
    elif isinstance(found, RunResult):
        print_run(found.manifest, found.summary, found.evaluations, folder)
    elif isinstance(found, Repeats):
        _print_repeats(found)
    elif isinstance(found, Audit):
        print_sheets(certificate_sheet(found))


def print_run(
    manifest: Manifest,
    summary: Summary,
    evaluations: Sequence[Evaluation],
    folder: Path,
    audit: Audit | None = None,
) -> None:
    """Print what is wrong, then scores, then where to look; the report has the rest."""
    where = f"Report: {folder / 'report.html'}"
    outlines = outlines_of(evaluations)
    print_lines(lead_text(summary, outlines), style="bold")
    if summary.judged_nothing:
        _print_shortfall(summary, folder)
        print_lines(*filter(None, [_cost_text(summary)]))
        print_lines(where, soft_wrap=True)
        return
    above = (*worst_lines(evaluations), *filter(None, (lesser_text(summary), lost_text(summary))))
    below, advice = tuple(_ending(manifest, summary, outlines)), _advice(manifest, summary)
    print_lines(*above)
    _print_shortfall(summary, folder)
    n_systems = len(summary.systems) if len(summary.systems) > 1 else 0
    print_sheets(brief_score_sheet(summary, rows_left((*above, *below, advice), n_systems)))
    if n_systems:
        print_sheets(brief_system_sheet(summary.systems))
    print_lines(*(panel_lines(summary.panel) if summary.panel else ()))
    print_lines(*(cascade_lines(summary.cascade) if summary.cascade else ()))
    if audit is not None:
        print_sheets(certificate_sheet(audit))
    print_lines(*below)
    print_lines(*filter(None, [advice]), where, soft_wrap=True)


def _ending(manifest: Manifest, summary: Summary, outlines: Sequence[Outlined]) -> Iterator[str]:
    """Yield who judged and at what cost, and where to look."""
    lines = (
        *(*judges_lines(summary), confidence_text(summary.confidence_from)),
        *(*_prompt_lines(manifest), _cost_text(summary), secondary_line(summary, outlines)),
        undecided_text(summary),
    )
    yield from filter(None, lines)


def _print_shortfall(summary: Summary, folder: Path) -> None:
    """Print what could not be evaluated, what the application did, and the run's notes."""
    if summary.n_failed:
        print_lines(
            f"{shortfall(summary)} Reasons: {RunFolder(folder).failures_file}", soft_wrap=True
        )
    if summary.application is not None:
        print_lines(application_text(summary.application))
    print_lines(*summary.notes, soft_wrap=True)


def _cost_text(summary: Summary) -> str:
    """Return the bill in a line; empty where no model was called."""
    return f"Cost: {usage_text(summary.usage)}" if summary.usage.n_calls else ""


def _prompt_lines(manifest: Manifest) -> Iterator[str]:
    """Yield a line for each compiled prompt."""
    for fingerprint in manifest.prompts:
        about = ", ".join((fingerprint.agent, *fingerprint.rubrics))
        yield f"Compiled prompt: {about} ({fingerprint.optimizer})"


def _advice(manifest: Manifest, summary: Summary) -> str:
    """Name a better verifier where the embedded one compared without a judge; else nothing."""
    compared = any(key.startswith(("citations.", "evidence.")) for key in summary.scores)
    if compared and (manifest.judge, manifest.verifier) == (INSTRUMENTS, MINILM_VERIFIER):
        return better_verifier_text(load_settings().literature.cache_dir)
    return ""


def _print_repeats(repeats: Repeats) -> None:
    """Print how often the judge contradicts itself."""
    if repeats.figures:
        print_sheets(repeats_sheet(repeats))
    else:
        print_lines(repeats_text(repeats))


def print_graded(graded: Graded, folder: Path, testbank: Path | None) -> None:
    """Print who graded, what each system covers, and where to go on."""
    from ragassay.workbench.evaluation_tables import cover_sheet
    from ragassay.workbench.grading import GRADED_FILE, covers

    for kind, table in covers(graded).items():
        print_lines(f"By {kind}s:", style="bold")
        print_sheets(cover_sheet(table))
    missing = count_missing(graded.n_undecided, graded.n_unscored)
    print_lines(f"Grades: {', '.join((f'{graded.n_grades} given', *missing))}.")
    if graded.n_undecided:
        print_lines(
            f"The {UNDECIDED} grades need a judge: --escalate MODEL asks one for these only."
        )
    card = graded.run.manifest.grader_card
    if card is not None:
        print_lines(f"Grader: {card.description}")
    path = folder / GRADED_FILE
    beside = f" --testbank {testbank}" if testbank else ""
    review = f"To look at it: ragassay review {path}{beside}"
    print_lines(f"Written to {path}", review, soft_wrap=True)


def print_audit(audit: Audit, folder: Path) -> None:
    """Print certificate, mean ratings, every attack, and the page's path."""
    print_lines(view_certificate(audit).headline, style="bold")
    print_sheets(certificate_sheet(audit))
    if audit.ratings:
        print_sheets(ratings_sheet(audit, has_intervals=False))
    print_sheets(short_attack_sheet(audit))
    print_lines(f"Report: {folder / 'audit.html'}", soft_wrap=True)


def print_plan(plan: Plan, judges: Sequence[str], as_json: bool, second: str = "") -> None:
    """Print a run's plan, including the most that a cascade's second judge would take."""
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(plan)))
        return
    typer.echo(
        f"{count_text(plan.n_records, 'answer')}, {count_text(plan.n_calls, 'call')} of "
        f"{', '.join(judges)}"
    )
    typer.echo(
        f"about {plan.n_prompt_tokens:,} prompt tokens; {plan.n_shared_tokens:,} of them "
        "are contexts that calls on one answer share"
    )
    if line := estimate_text(plan.cost):
        typer.echo(line)
    if plan.n_escalated:
        typer.echo(
            f"of {second}, were nothing sure, {plan.n_escalated} calls more, about "
            f"{plan.n_escalated_tokens:,} prompt tokens: at most {usd_text(plan.escalated_usd)}"
        )
