"""Print runs, audits and plans."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from ragassay.cli.run_summary import (
    build_brief_score_sheet,
    build_brief_system_sheet,
    count_rows_left,
    describe_lesser_findings,
    describe_score_judges,
    list_worst_findings,
    summarize_secondary_findings,
)
from ragassay.cli.terminal import print_lines, print_sheets
from ragassay.model_names import INSTRUMENTS, MINILM_VERIFIER
from ragassay.models.availability import suggest_better_verifier
from ragassay.records import Audit, Evaluation, Manifest, Outlined, Repeats, Summary, list_outlines
from ragassay.reports.audit_report import (
    build_certificate_sheet,
    build_ratings_sheet,
    build_short_attack_sheet,
)
from ragassay.reports.certificate import view_certificate
from ragassay.reports.findings_view import describe_undecided, summarize_main_findings
from ragassay.reports.panel_view import describe_cascade, describe_panel, format_usd
from ragassay.reports.provenance import describe_application, describe_usage, estimate_text
from ragassay.reports.run_sheets import (
    build_repeats_sheet,
    describe_confidence,
    describe_repeats,
)
from ragassay.reports.text import count_text, describe_failures, describe_shortfall
from ragassay.runs.evaluate import Plan, RunResult
from ragassay.runs.folder import RunFolder
from ragassay.settings import load_settings


def print_stage(found: object, folder: Path, as_json: bool) -> None:
    """Print the result of an evaluation stage, or only the run summary as JSON."""
    if as_json:
        if isinstance(found, RunResult):
            typer.echo(found.summary.model_dump_json(indent=2))
    elif isinstance(found, RunResult):
        print_run(found.manifest, found.summary, found.evaluations, folder)
    elif isinstance(found, Repeats):
        if found.figures:
            print_sheets(build_repeats_sheet(found))
        else:
            print_lines(describe_repeats(found))
    elif isinstance(found, Audit):
        print_sheets(build_certificate_sheet(found))


def print_run(
    manifest: Manifest,
    summary: Summary,
    evaluations: Sequence[Evaluation],
    folder: Path,
    audit: Audit | None = None,
) -> None:
    """Print the main findings, the scores and the path of the report."""
    report_line = f"Report: {folder / 'report.html'}"
    outlines = list_outlines(evaluations)
    print_lines(summarize_main_findings(summary, outlines), style="bold")
    if summary.judged_nothing:
        _print_shortfall(summary, folder)
        print_lines(*_describe_cost(summary))
        print_lines(report_line, soft_wrap=True)
        return
    above = (
        *list_worst_findings(evaluations),
        *filter(None, (describe_lesser_findings(summary), describe_failures(summary))),
    )
    below = tuple(filter(None, _list_end_lines(manifest, summary, outlines)))
    advice = _suggest_verifier(manifest, summary)
    print_lines(*above)
    _print_shortfall(summary, folder)
    n_systems = len(summary.systems) if len(summary.systems) > 1 else 0
    print_sheets(
        build_brief_score_sheet(summary, count_rows_left((*above, *below, advice), n_systems))
    )
    if n_systems:
        print_sheets(build_brief_system_sheet(summary.systems))
    print_lines(*(describe_panel(summary.panel) if summary.panel else ()))
    print_lines(*(describe_cascade(summary.cascade) if summary.cascade else ()))
    if audit is not None:
        print_sheets(build_certificate_sheet(audit))
    print_lines(*below)
    print_lines(*filter(None, [advice]), report_line, soft_wrap=True)


def _list_end_lines(
    manifest: Manifest, summary: Summary, outlines: Sequence[Outlined]
) -> Iterator[str]:
    yield from describe_score_judges(summary)
    yield describe_confidence(summary.confidence_from)
    for prompt in manifest.prompts:
        names = ", ".join((prompt.agent, *prompt.rubrics))
        yield f"Compiled prompt: {names} ({prompt.optimizer})"
    yield from _describe_cost(summary)
    yield from (summarize_secondary_findings(summary, outlines), describe_undecided(summary))


def _print_shortfall(summary: Summary, folder: Path) -> None:
    if summary.n_failed:
        print_lines(
            f"{describe_shortfall(summary)} Reasons: {RunFolder(folder).failures_file}",
            soft_wrap=True,
        )
    if summary.application is not None:
        print_lines(describe_application(summary.application))
    print_lines(*summary.notes, soft_wrap=True)


def _describe_cost(summary: Summary) -> list[str]:
    return [f"Cost: {describe_usage(summary.usage)}"] if summary.usage.n_calls else []


def _suggest_verifier(manifest: Manifest, summary: Summary) -> str:
    compared = any(key.startswith(("citations.", "evidence.")) for key in summary.scores)
    if compared and (manifest.judge, manifest.verifier) == (INSTRUMENTS, MINILM_VERIFIER):
        return suggest_better_verifier(load_settings().literature.cache_dir)
    return ""


def print_audit(audit: Audit, folder: Path) -> None:
    """Print the certificate, mean ratings, attacks and the path of the report."""
    print_lines(view_certificate(audit).headline, style="bold")
    print_sheets(build_certificate_sheet(audit))
    if audit.ratings:
        print_sheets(build_ratings_sheet(audit, has_intervals=False))
    print_sheets(build_short_attack_sheet(audit))
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
            f"{plan.n_escalated_tokens:,} prompt tokens, at most {format_usd(plan.escalated_usd)}"
        )
