"""`ragassay evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from ragassay.cli.exits import BELOW, FAILED, PARTIAL, UNMEASURED, errors_as_lines
from ragassay.cli.options import (
    AnswersArgument,
    DryRun,
    Json,
    Quiet,
    prepared_job,
    run_folder,
    takes,
)
from ragassay.options import EvaluateKeywords

if TYPE_CHECKING:
    from ragassay.evaluators.toolbox import Toolbox
    from ragassay.runs.evaluate import Job, RunResult
    from ragassay.runs.folder import RunFolder


@takes(EvaluateKeywords, ending="")
def evaluate(
    answers: AnswersArgument,
    *,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCORE=VALUE",
            help="Exit with 4 if the mean is below, with 5 if it could not be measured or "
            "undecided verdicts leave it open; repeatable.",
        ),
    ] = None,
    audit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Then damage N of the answers, and see which scores this judge can tell.",
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Judge each answer N times, and see how often the judge contradicts itself.",
        ),
    ] = None,
    as_json: Json = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    **options: Unpack[EvaluateKeywords],
) -> None:
    """Evaluate a file of answers.

    ANSWERS is ragassay JSONL, ragas, DeepEval, RAGChecker, TREC RAG 2024 or 2025, TREC BioGen 2024
    or 2025, MedAESQA, BioASQ, nuggetizer, Rubric workbench, YESciEval, SummEval or USR, or a table
    of answers (CSV, TSV, Parquet, Excel); the format is recognised by the content. Unreadable lines
    are set aside in rejected.jsonl and the rest runs.

    The same command again resumes a stopped run.

    For example:

      ragassay evaluate answers.jsonl --corpus abstracts.jsonl --out runs/first

      ragassay evaluate answers.jsonl --model openai/gpt-4.1-mini --concurrency 32

      ragassay evaluate answers.jsonl --judge openai/gpt-4.1-mini --judge mistral/mistral-small

      ragassay evaluate answers.jsonl --escalate openai/gpt-4.1-mini --when "entropy>1.5"

      ragassay evaluate answers.jsonl --only citations --citations sentence

      ragassay evaluate answers.jsonl --audit 20

      ragassay evaluate answers.jsonl --judge openai/gpt-4.1-mini --repeat 3

      ragassay evaluate answers.csv --map question=query,answer=output,sources=passages

      ragassay evaluate answers.jsonl --dry-run

      ragassay evaluate answers.jsonl --fail-under citations.support=.8

    Exit codes: 0 done; 1 error, or nothing could be judged; 2 wrong usage; 3 some input was
    rejected, or some answer or verdict failed; 4 a score is below --fail-under; 5 a score of
    --fail-under could not be measured, or its range holds the bound.
    """
    with errors_as_lines():
        from ragassay.cli.audit import audit_run
        from ragassay.cli.output import print_certificate, shown_phase
        from ragassay.records import UNSCORED_KINDS
        from ragassay.runs.thresholds import check_judged, parse_thresholds

        with shown_phase("reading answers and corpus", not quiet):
            job, settings = prepared_job(answers, options, options.get("limit"))
        with shown_phase("loading libraries", not quiet):
            from ragassay.evaluators.toolbox import Toolbox
            from ragassay.runs.evaluate import run, run_sync
            from ragassay.runs.progress import shown_progress

            tools = Toolbox.of(settings, job.corpus)
        thresholds = parse_thresholds(
            fail_under or [],
            settings.rubric_set,
            tools.rubrics,
            evaluators=[one.name for one in tools.registered],
        )
        check_judged(thresholds, tools.judge, tools.rubrics)
        if dry_run:
            _show_plan(job, tools, audit, repeat, as_json)
            return
        folder = run_folder(answers, options)
        with shown_progress(len(job.records), enabled=not quiet) as listen:
            result = run_sync(run(job, tools, folder, listen))
        _show(result, folder.path, as_json, quiet)
        if repeat and result.evaluations:
            _repeat(job, result, tools, repeat, folder, shown=not (as_json or quiet))
        retry = bool(options.get("retry_failed"))
        audited = audit_run(job, result, tools, folder, audit, retry, quiet) if audit else None
        if audited and not (as_json or quiet):
            print_certificate(audited.audit)
        found = [threshold.verdict(result.summary) for threshold in thresholds]
    for _, line in found:
        if line:
            typer.echo(line, err=True)
    kinds = {kind for kind, _ in found}
    if result.summary.judged_nothing:
        raise typer.Exit(FAILED)
    if kinds - {"reached"}:
        raise typer.Exit(BELOW if "below" in kinds else UNMEASURED)
    lacking = result.summary.findings.keys() & set(UNSCORED_KINDS)
    is_partial = result.failures or result.rejections or lacking
    if is_partial or (audited and audited.is_partial):
        raise typer.Exit(PARTIAL)


def _repeat(
    job: Job, result: RunResult, tools: Toolbox, n_times: int, folder: RunFolder, shown: bool
) -> None:
    from ragassay.cli.output import print_repeats
    from ragassay.runs.evaluate import run_sync
    from ragassay.runs.progress import shown_progress
    from ragassay.runs.repeats import repeat_run

    n_again = len(job.records) * (n_times - 1)
    with shown_progress(n_again, shown, "judging again") as listen:
        repeats = run_sync(repeat_run(job, result, tools, n_times, folder, listen))
    if shown:
        print_repeats(repeats)


def _show_plan(
    job: Job, tools: Toolbox, n_audited: int | None, n_times: int | None, as_json: bool
) -> None:
    from ragassay.cli.output import print_plan
    from ragassay.runs.audit import plan_audit
    from ragassay.runs.audit_job import AuditOptions, audit_job
    from ragassay.runs.evaluate import plan

    found = once = plan(job, tools)
    for _ in range(1, n_times or 1):
        found += once
    if n_audited:
        chosen = audit_job(job, tools, AuditOptions(n_audited), is_judged=True)
        found += plan_audit(chosen, tools)
    print_plan(found, tools.settings.judges, as_json, tools.settings.escalated_to or "")


def _show(result: RunResult, folder: Path, as_json: bool, quiet: bool) -> None:
    if as_json:
        typer.echo(result.summary.model_dump_json(indent=2))
    elif not quiet:
        from ragassay.cli.output import print_run

        print_run(result.manifest, result.summary, result.evaluations, folder)
