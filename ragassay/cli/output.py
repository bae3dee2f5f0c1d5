"""Print runs, audits, graded passages and plans."""

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
from ragassay.reports.text import count_text, failures_text, shortfall
from ragassay.runs.evaluate import Plan, RunResult
from ragassay.runs.folder import RunFolder
from ragassay.settings import load_settings
from ragassay.studies.audit_report import certificate_sheet, ratings_sheet, short_attack_sheet

if TYPE_CHECKING:
    from ragassay.workbench.grading import Graded


def print_stage(found: object, folder: Path, as_json: bool) -> None:
    """Print the result of an evaluation stage, or only the run summary as JSON."""
    if as_json:
        if isinstance(found, RunResult):
            typer.echo(found.summary.model_dump_json(indent=2))
    elif isinstance(found, RunResult):
        print_run(found.manifest, found.summary, found.evaluations, folder)
    elif isinstance(found, Repeats):
        if found.figures:
            print_sheets(repeats_sheet(found))
        else:
            print_lines(repeats_text(found))
    elif isinstance(found, Audit):
        print_sheets(certificate_sheet(found))


def print_run(
    manifest: Manifest,
    summary: Summary,
    evaluations: Sequence[Evaluation],
    folder: Path,
    audit: Audit | None = None,
) -> None:
    """Print the main findings, the scores and the path of the report."""
    report_line = f"Report: {folder / 'report.html'}"
    outlines = outlines_of(evaluations)
    print_lines(lead_text(summary, outlines), style="bold")
    if summary.judged_nothing:
        _print_shortfall(summary, folder)
        print_lines(*_cost_lines(summary))
        print_lines(report_line, soft_wrap=True)
        return
    above = (
        *worst_lines(evaluations),
        *filter(None, (lesser_text(summary), failures_text(summary))),
    )
    below = tuple(filter(None, _ending(manifest, summary, outlines)))
    advice = _advice(manifest, summary)
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
    print_lines(*filter(None, [advice]), report_line, soft_wrap=True)


def _ending(manifest: Manifest, summary: Summary, outlines: Sequence[Outlined]) -> Iterator[str]:
    yield from judges_lines(summary)
    yield confidence_text(summary.confidence_from)
    for prompt in manifest.prompts:
        names = ", ".join((prompt.agent, *prompt.rubrics))
        yield f"Compiled prompt: {names} ({prompt.optimizer})"
    yield from _cost_lines(summary)
    yield from (secondary_line(summary, outlines), undecided_text(summary))


def _print_shortfall(summary: Summary, folder: Path) -> None:
    if summary.n_failed:
        print_lines(
            f"{shortfall(summary)} Reasons: {RunFolder(folder).failures_file}", soft_wrap=True
        )
    if summary.application is not None:
        print_lines(application_text(summary.application))
    print_lines(*summary.notes, soft_wrap=True)


def _cost_lines(summary: Summary) -> list[str]:
    return [f"Cost: {usage_text(summary.usage)}"] if summary.usage.n_calls else []


def _advice(manifest: Manifest, summary: Summary) -> str:
    compared = any(key.startswith(("citations.", "evidence.")) for key in summary.scores)
    if compared and (manifest.judge, manifest.verifier) == (INSTRUMENTS, MINILM_VERIFIER):
        return better_verifier_text(load_settings().literature.cache_dir)
    return ""


def print_graded(graded: Graded, folder: Path, testbank: Path | None) -> None:
    """Print the coverage of each system, the grader, and the command to run next."""
    from ragassay.workbench.evaluation_tables import cover_sheet
    from ragassay.workbench.grading import GRADED_FILE, covers

    for kind, table in covers(graded).items():
        print_lines(f"By {kind}s:", style="bold")
        print_sheets(cover_sheet(table))
    missing = count_missing(graded.n_undecided, graded.n_unscored)
    print_lines(f"Grades: {', '.join((f'{graded.n_grades} given', *missing))}.")
    if graded.n_undecided:
        print_lines(
            f"The {UNDECIDED} grades must be decided by a judge. Use --escalate MODEL to call a "
            f"judge for these grades only."
        )
    card = graded.run.manifest.grader_card
    if card is not None:
        print_lines(f"Grader: {card.description}")
    path = folder / GRADED_FILE
    bank_option = f" --testbank {testbank}" if testbank else ""
    review = f"To review the grades: ragassay review {path}{bank_option}"
    print_lines(f"Written to {path}", review, soft_wrap=True)


def print_audit(audit: Audit, folder: Path) -> None:
    """Print the certificate, mean ratings, attacks and the path of the report."""
    print_lines(view_certificate(audit).headline, style="bold")
    print_sheets(certificate_sheet(audit))
    if audit.ratings:
        print_sheets(ratings_sheet(audit, has_intervals=False))
    print_sheets(short_attack_sheet(audit))
    print_lines(f"Report: {folder / 'audit.html'}", soft_wrap=True)


def print_plan(plan: Plan, judges: Sequence[str], as_json: bool, second: str = "") -> None:
    """Print the estimated calls and cost of a run, including the maximum for the second judge."""
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(plan)))
        return
    typer.echo(
        f"{count_text(plan.n_records, 'answer')}, {count_text(plan.n_calls, 'call')} to "
        f"{', '.join(judges)}"
    )
    typer.echo(
        f"about {plan.n_prompt_tokens:,} prompt tokens, including {plan.n_shared_tokens:,} tokens "
        f"of context shared by all calls for the same answer"
    )
    if line := estimate_text(plan.cost):
        typer.echo(line)
    if plan.n_escalated:
        typer.echo(
            f"second judge {second}: up to {plan.n_escalated} more calls, about "
            f"{plan.n_escalated_tokens:,} prompt tokens, at most {usd_text(plan.escalated_usd)}"
        )
