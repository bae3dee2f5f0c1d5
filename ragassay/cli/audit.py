"""`ragassay audit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import typer

from ragassay.cli.exits import BELOW, PARTIAL, errors_as_lines
from ragassay.cli.options import (
    AnswersArgument,
    DryRun,
    Json,
    Quiet,
    Strict,
    prepared_job,
    run_folder,
    takes,
)
from ragassay.options import AuditKeywords

if TYPE_CHECKING:
    from ragassay.evaluators.toolbox import Toolbox
    from ragassay.runs.audit import AuditResult
    from ragassay.runs.audit_job import AuditJob
    from ragassay.runs.evaluate import Job, RunResult
    from ragassay.runs.folder import RunFolder


@takes(AuditKeywords, ending="-audit")
def audit(
    answers: AnswersArgument,
    *,
    strict: Strict = False,
    as_json: Json = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    **options: Unpack[AuditKeywords],
) -> None:
    """Find out what a judge can tell, on answers that are damaged on purpose.

    Whole answers are damaged in many ways, each of which should lower certain scores: off-topic
    and informal sentences, lost or shuffled ones, repetition; a changed number, a reversed
    negation; text that addresses the judge. Whole and damaged answers are then judged alike, and
    for each score the judge is trusted, weak or blind.

    The folder holds audit.html, audit.md, audit.json and figures.csv. The same command again
    resumes a stopped audit, and with a larger --limit judges only what is new.

    For example:

      ragassay audit answers.jsonl --judge openai/gpt-4.1-mini

      ragassay audit answers.jsonl --attacks rubric --limit 50

      ragassay audit answers.jsonl --attacks rubric --no-signals --out runs/audit-without

      ragassay audit answers.jsonl --paraphraser openai/gpt-4.1-mini

      ragassay audit bioasq-train-answers.jsonl.gz --given --limit 0

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected, or some answer or
    verdict failed; 4 the judge is blind somewhere, with --strict.
    """
    with errors_as_lines():
        from ragassay.cli.output import print_plan, shown_phase

        with shown_phase("reading answers and corpus", not quiet):
            job, settings = prepared_job(answers, options)
        with shown_phase("loading libraries", not quiet):
            from ragassay.evaluators.toolbox import Toolbox
            from ragassay.runs.audit import plan_audit
            from ragassay.runs.audit_job import audit_job, audit_options
            from ragassay.runs.paraphrasing import paraphraser_name

            tools = Toolbox.of(settings, job.corpus)
        chosen = audit_job(job, tools, audit_options(options))
        if dry_run:
            asked = (*settings.judges, *filter(None, [paraphraser_name(chosen)]))
            print_plan(plan_audit(chosen, tools), tuple(dict.fromkeys(asked)), as_json)
            return
        folder = run_folder(answers, options, "-audit")
        result = _run(chosen, tools, folder, quiet)
        _show(result, folder.path, as_json, quiet)
    if strict and any(line.trust == "blind" for line in result.audit.certificate):
        raise typer.Exit(BELOW)
    if result.is_partial or job.rejections:
        raise typer.Exit(PARTIAL)


def audit_run(
    job: Job,
    result: RunResult,
    tools: Toolbox,
    folder: RunFolder,
    n_answers: int,
    retry_failed: bool,
    quiet: bool,
) -> AuditResult:
    """Audit a run's judge on answers of the run, for `ragassay evaluate --audit N`."""
    from ragassay.runs.audit import audit_of_run, job_of_run
    from ragassay.runs.audit_job import AuditOptions
    from ragassay.runs.evaluate import run_sync
    from ragassay.runs.progress import shown_progress

    if retry_failed:
        folder.audit_folder.forget_failures()
    chosen = job_of_run(job, result, tools, AuditOptions(n_answers))
    shown = shown_progress(len(chosen.asks), not quiet, "auditing")
    with shown as listen:
        return run_sync(audit_of_run(chosen, result, tools, folder, listen))


def _run(chosen: AuditJob, tools: Toolbox, folder: RunFolder, quiet: bool) -> AuditResult:
    from ragassay.runs.audit import run_audit
    from ragassay.runs.evaluate import run_sync
    from ragassay.runs.progress import shown_progress

    shown = shown_progress(len(chosen.asks), not quiet, "auditing")
    with shown as listen:
        return run_sync(run_audit(chosen, tools, folder, listen))


def _show(result: AuditResult, folder: Path, as_json: bool, quiet: bool) -> None:
    if as_json:
        typer.echo(result.audit.model_dump_json(indent=2))
    elif not quiet:
        from ragassay.cli.output import print_audit

        print_audit(result.audit, folder)
