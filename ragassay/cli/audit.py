"""`ragassay audit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragassay.cli.exits import BELOW, PARTIAL, errors_as_lines

if TYPE_CHECKING:
    from ragassay.evaluators.toolbox import Toolbox
    from ragassay.runs.audit import AuditResult
    from ragassay.runs.audit_job import AuditJob
    from ragassay.runs.evaluate import Job, RunResult
    from ragassay.runs.folder import RunFolder


def audit(
    answers: Annotated[Path, typer.Argument(help="Answers to damage.")],
    judges: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            "--model",
            metavar="NAME",
            help="LiteLLM name of the judge to audit; by default the embedded one. Repeat for a "
            "panel.",
        ),
    ] = None,
    api_base: Annotated[str | None, typer.Option(help="Endpoint of the judge.")] = None,
    corpus: Annotated[
        str | None,
        typer.Option(help="Where to look up evidence and cited ids, as for `ragassay evaluate`."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=0, help="Damage so many whole answers; 0 for all.")
    ] = 20,
    seed: Annotated[int, typer.Option(help="Chooses the answers and draws the damage.")] = 0,
    attacks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only this attack or family (rubric, clinical, injection); repeat for more.",
        ),
    ] = None,
    given: Annotated[
        bool,
        typer.Option(
            "--given", help="Take the damaged answers that a YESciEval file holds, make none."
        ),
    ] = False,
    paraphraser: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Have this model (a LiteLLM name, or NAME@URL) write the sentences that say "
            "again what was said; by default a rule makes them.",
        ),
    ] = None,
    signals: Annotated[
        bool | None,
        typer.Option(
            "--signals/--no-signals",
            help="Measure each answer before its rubrics are judged, as `ragassay evaluate` does. "
            "On by default; audit with and without to see what it is worth.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PART", help="Judge only this: rubrics, citations, evidence; repeat."),
    ] = None,
    rubric: Annotated[
        list[str] | None, typer.Option(help="Judge only this rubric; repeat for more.")
    ] = None,
    prompts: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="A prompt that `ragassay optimize` wrote, for its agent; repeat for more.",
        ),
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(help="Topics, for TREC runs that bring no questions.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Audit folder; by default runs/NAME-OF-ANSWERS-audit.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Most model calls under way at a time.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try unscored verdicts and failed answers again.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 4 if the judge is blind anywhere.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the audit as JSON on stdout.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many calls and tokens it would take.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar, no tables.")] = False,
) -> None:
    """Find out what a judge can tell, on answers that are damaged on purpose.

    Whole answers are damaged in many ways, each of which ought to lower certain scores: off-topic
    and informal sentences, lost or shuffled ones, repetition; a changed number, a negation turned
    round; text that talks to the judge. Whole and damaged answers are then judged alike, and for
    each score the judge is trusted, weak or blind.

    The folder holds audit.html, audit.md, audit.json and figures.csv. The same command again goes
    on where it was stopped, and with a larger --limit judges only what is new.

    For example:

      ragassay audit answers.jsonl --judge openai/gpt-4.1-mini

      ragassay audit answers.jsonl --attacks rubric --limit 50

      ragassay audit answers.jsonl --attacks rubric --no-signals --out runs/audit-without

      ragassay audit answers.jsonl --paraphraser openai/gpt-4.1-mini

      ragassay audit bioasq-train-answers.jsonl.gz --given --limit 0

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected, or some answer or
    verdict could not be had; 4 the judge is blind somewhere, with --strict.
    """
    with errors_as_lines():
        from ragassay.cli.output import print_plan, print_rejections
        from ragassay.evaluators.toolbox import Toolbox
        from ragassay.runs.audit import plan_audit
        from ragassay.runs.audit_job import AuditOptions, audit_job
        from ragassay.runs.evaluate import read_job
        from ragassay.runs.folder import RunFolder
        from ragassay.runs.paraphrasing import paraphraser_name
        from ragassay.settings import load_settings, seated

        settings = load_settings(
            **seated(judges or (), api_base),
            only=tuple(only) if only else None,
            rubrics=tuple(rubric) if rubric else None,
            signals=signals,
            concurrency=concurrency,
            prompts=tuple(prompts) if prompts else None,
        )
        options = AuditOptions(limit, seed, tuple(attacks or ()), given, paraphraser or "")
        job = read_job(answers, corpus, questions=questions, settings=settings)
        print_rejections(job.rejections)
        if job.note:
            typer.echo(job.note, err=True)
        tools = Toolbox.of(settings, job.corpus)
        chosen = audit_job(job, tools, options)
        if dry_run:
            asked = (*settings.judges, *filter(None, [paraphraser_name(chosen)]))
            print_plan(plan_audit(chosen, tools), tuple(dict.fromkeys(asked)), as_json)
            return
        folder = RunFolder(out or Path("runs") / f"{answers.name.split('.')[0]}-audit")
        result = _run(chosen, tools, folder, retry_failed, quiet)
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
    """Audit the judge of a run on answers of the run, for `ragassay evaluate --audit N`."""
    from ragassay.runs.audit import audit_of_run, job_of_run
    from ragassay.runs.audit_job import AuditOptions
    from ragassay.runs.evaluate import run_sync
    from ragassay.runs.garbage import patient_collector
    from ragassay.runs.progress import shown_progress

    if retry_failed:
        folder.audit_folder.forget_failures()
    chosen = job_of_run(job, result, tools, AuditOptions(n_answers))
    shown = shown_progress(len(chosen.asks), not quiet, "auditing")
    with shown as listen, patient_collector():
        return run_sync(audit_of_run(chosen, result, tools, folder, listen))


def _run(
    chosen: AuditJob, tools: Toolbox, folder: RunFolder, retry_failed: bool, quiet: bool
) -> AuditResult:
    from ragassay.runs.audit import run_audit
    from ragassay.runs.evaluate import run_sync
    from ragassay.runs.garbage import patient_collector
    from ragassay.runs.paraphrasing import forget_failed_paraphrases
    from ragassay.runs.progress import shown_progress

    if retry_failed:
        folder.forget_failures()
        forget_failed_paraphrases(folder.path)
    shown = shown_progress(len(chosen.asks), not quiet, "auditing")
    with shown as listen, patient_collector():
        return run_sync(run_audit(chosen, tools, folder, listen))


def _show(result: AuditResult, folder: Path, as_json: bool, quiet: bool) -> None:
    if as_json:
        typer.echo(result.audit.model_dump_json(indent=2))
    elif not quiet:
        from ragassay.cli.output import print_audit

        print_audit(result.audit, folder)
