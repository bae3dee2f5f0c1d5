"""Print runs, audits, graded passages and plans; loaded when there is something to print."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ragassay.cli.terminal import print_lines, print_sheets
from ragassay.model_names import INSTRUMENTS, MINILM_VERIFIER
from ragassay.models.availability import better_verifier_text
from ragassay.records import Audit, Evaluation, Manifest, Repeats, Summary, outlines_of
from ragassay.reports import answer_sheet, headline, score_sheet, system_sheet
from ragassay.reports.certificate import view_certificate
from ragassay.reports.display import UNDECIDED, count_missing
from ragassay.reports.findings_view import secondary_text, undecided_text, view_cards
from ragassay.reports.labels import one_line
from ragassay.reports.panel_view import cascade_lines, panel_lines, usd_text
from ragassay.reports.provenance import application_text, estimate_text, usage_text
from ragassay.reports.run_sheets import (
    confidence_text,
    cost_sheet,
    is_bill_worth_a_table,
    repeats_sheet,
    repeats_text,
)
from ragassay.reports.text import count_text, shortfall
from ragassay.runs.evaluate import Plan, RunResult
from ragassay.runs.folder import RunFolder
from ragassay.settings import load_settings
from ragassay.studies.audit_report import certificate_sheet, ratings_sheet, short_attack_sheet
from ragassay.text.sentences import split_sentences

if TYPE_CHECKING:
    from ragassay.workbench.grading import Graded

MOST_FINDINGS = 8
"""Findings that a run prints; the report has all."""


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
    """Print headline, tables, the judge's card, and the report's path."""
    where = f"Report: {folder / 'report.html'}"
    print_lines(headline(summary), style="bold")
    if summary.n_failed:
        print_lines(
            f"{shortfall(summary)} Reasons: {RunFolder(folder).failures_file}", soft_wrap=True
        )
    if summary.application is not None:
        print_lines(application_text(summary.application))
    print_lines(*summary.notes, soft_wrap=True)
    if summary.judged_nothing:
        _print_cost(summary)
        print_lines(where, soft_wrap=True)
        return
    outlines, kept = outlines_of(evaluations), _drop_unscored(summary)
    print_lines(*_worst(evaluations))
    print_sheets(score_sheet(kept))
    if n_lost := len(summary.scores) - len(kept.scores):
        print_lines(f"{count_text(n_lost, 'score')} without a value: see the report.")
    if len(summary.systems) > 1:
        print_sheets(system_sheet(summary.systems, has_intervals=False))
    print_sheets(answer_sheet(outlines))
    print_lines(*filter(None, (secondary_text(summary, outlines), undecided_text(summary))))
    print_lines(*(panel_lines(summary.panel) if summary.panel else ()))
    print_lines(*(cascade_lines(summary.cascade) if summary.cascade else ()))
    print_lines(*filter(None, [confidence_text(summary.confidence_from)]))
    if audit is not None:
        print_sheets(certificate_sheet(audit))
    _print_cost(summary)
    print_lines(*_provenance(manifest))
    _print_advice(manifest, summary)
    print_lines(where, soft_wrap=True)


def _print_cost(summary: Summary) -> None:
    """Print the bill by part; one line where one part has cost all, or nothing cost anything."""
    if is_bill_worth_a_table(summary):
        print_sheets(cost_sheet(summary))
    elif summary.usage.n_calls:
        print_lines(f"Cost: {usage_text(summary.usage)}")


def _provenance(manifest: Manifest) -> Iterator[str]:
    """Yield who judged, in the first sentence of each card, and with which prompts."""
    cards = (
        ("Judge", manifest.card),
        ("All but the rubrics", manifest.base_card),
        ("Rater of the rubrics", manifest.rater_card),
        ("Verifier", manifest.verifier_card),
    )
    for role, card in cards:
        if card is not None:
            start, end = split_sentences(card.description)[0]
            yield f"{role}: {card.description[start:end]}"
    for fingerprint in manifest.prompts:
        about = ", ".join((fingerprint.agent, *fingerprint.rubrics))
        yield f"Compiled prompt: {about} ({fingerprint.optimizer})"


def _print_advice(manifest: Manifest, summary: Summary) -> None:
    """Name a better verifier where the embedded one compared without a judge."""
    compared = any(key.startswith(("citations.", "evidence.")) for key in summary.scores)
    if compared and (manifest.judge, manifest.verifier) == (INSTRUMENTS, MINILM_VERIFIER):
        print_lines(better_verifier_text(load_settings().literature.cache_dir), soft_wrap=True)


def _worst(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """Yield the serious findings, the worst first, as the page lists them."""
    serious = [card for card in view_cards(evaluations) if card.severity == "serious"]
    for card in serious[:MOST_FINDINGS]:
        yield one_line(f"  {card.record}: {card.why}")
    if len(serious) > MOST_FINDINGS:
        yield f"  ... and {len(serious) - MOST_FINDINGS:,} more, in the report"


def _drop_unscored(summary: Summary) -> Summary:
    """Return the summary without the scores of which failed verdicts left not even a range."""
    if not summary.unscored:
        return summary
    kept = {k: s for k, s in summary.scores.items() if s.decided is not None or not s.n_unscored}
    return summary.model_copy(update={"scores": kept})


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
            f"What is {UNDECIDED} only a judge can tell: --escalate MODEL sends just that to one."
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
