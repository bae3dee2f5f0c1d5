"""`ragassay evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragassay.cli.exits import BELOW, PARTIAL, errors_as_lines

if TYPE_CHECKING:
    from ragassay.evaluators.toolbox import Toolbox
    from ragassay.runs.evaluate import Job, RunResult
    from ragassay.runs.folder import RunFolder


def evaluate(
    answers: Annotated[Path, typer.Argument(help="Answers to evaluate.")],
    corpus: Annotated[
        str | None,
        typer.Option(
            help="Where to look up evidence and cited ids: a folder that `ragassay corpus build` "
            "wrote, a file of documents (JSONL), `pubmed` for PubMed itself, or an index in an "
            "OpenSearch or Elasticsearch cluster (https://HOST:PORT/INDEX)."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder; by default runs/NAME-OF-ANSWERS.")
    ] = None,
    judges: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "--judge",
            metavar="NAME",
            help="LiteLLM name of the judge, e.g. openai/gpt-4.1-mini or hosted_vllm/NAME; "
            "by default ragassay/judge, embedded. Repeat for a panel: all rate the rubrics, the "
            "first does all else. NAME@URL is a judge at an endpoint of its own.",
        ),
    ] = None,
    escalate: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A second judge that decides what the judge is not sure of (a cascade); NAME@URL "
            "has an endpoint of its own. The report says how much went on, what it cost, and what "
            "all would have cost there.",
        ),
    ] = None,
    when: Annotated[
        str | None,
        typer.Option(
            metavar="CONDITION",
            help="What counts as not sure, with --escalate: entropy>X (bits, over the ratings or "
            "labels), confidence<X, unscored, joined by and/or; by default entropy>1.0.",
        ),
    ] = None,
    api_base: Annotated[
        str | None,
        typer.Option(help="Endpoint of the judge, and of a panel's others of its provider."),
    ] = None,
    evidence: Annotated[
        str | None,
        typer.Option(
            metavar="search|agent",
            help="Who looks for evidence: search (the default) has the judge write queries; agent "
            "hands it tools to search, read and cite, if it can call tools.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART",
            help="Find out only this: nuggets, rubrics, sentences, evidence, correctness or "
            "citations; repeat for more.",
        ),
    ] = None,
    verifier: Annotated[
        str | None,
        typer.Option(
            help="What compares sentences with passages: judge, embedded, "
            "ragassay/mean-verifier (slower, right more often), ragassay/FOLDER, or a model of "
            "natural language inference on Hugging Face's hub; by default embedded beside the "
            "embedded judge, and a hosted judge itself."
        ),
    ] = None,
    labels: Annotated[
        int | None,
        typer.Option(
            min=2, max=4, help="How many verdicts the judge chooses from: 2, 3 or 4 (the default)."
        ),
    ] = None,
    citations: Annotated[
        str | None,
        typer.Option(
            metavar="passage|document|sentence|nuggets",
            help="What of a cited document is compared with the sentence; by default the passage "
            "of three sentences that is closest to it.",
        ),
    ] = None,
    correctness: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="What says whether sentences are correct: embedded (the default), judge, cosine, "
            "a model of natural language inference, or a fitted classifier (.json).",
        ),
    ] = None,
    signals: Annotated[
        bool | None,
        typer.Option(
            "--signals/--no-signals",
            help="Measure each answer before its rubrics are judged: a hosted judge is told what "
            "was measured, beside the embedded one it rates. On by default.",
        ),
    ] = None,
    rubric: Annotated[
        list[str] | None, typer.Option(help="Judge only this rubric; repeat for more.")
    ] = None,
    rubric_set: Annotated[
        str | None,
        typer.Option(
            metavar="yescieval|summeval|usr",
            help="Whose rubrics: YESciEval's nine (the default), SummEval's four, USR's six.",
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="zero_shot|knowledge|few_shot|chain_of_thought",
            help="How the judge is asked to rate; by default with what a rubric means (knowledge).",
        ),
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
    nuggets: Annotated[
        Path | None,
        typer.Option(
            help="Gold nuggets: {topic_id: [text]}, the nuggetizer's, or a test bank of the Rubric "
            "workbench."
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N answers.")] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Most model calls under way at a time.")
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(metavar="SCORE=VALUE", help="Exit with 4 if the mean is below; repeatable."),
    ] = None,
    audit: Annotated[
        int | None,
        typer.Option(
            "--audit",
            min=1,
            metavar="N",
            help="Then damage N of the answers, and see which scores this judge can tell.",
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try unscored verdicts and failed answers again.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON on stdout.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many calls and tokens it would take.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar, no tables.")] = False,
) -> None:
    """Evaluate a file of answers.

    ANSWERS is ragassay JSONL, ragas, DeepEval, RAGChecker, TREC RAG 2024 or 2025, TREC BioGen 2024
    or 2025, MedAESQA, BioASQ, nuggetizer, Rubric workbench, YESciEval, SummEval or USR, plain or
    gzip; the format is told by the content. What cannot be read is set aside in rejected.jsonl and
    the rest runs.

    The same command again goes on where it was stopped.

    For example:

      ragassay evaluate answers.jsonl --corpus abstracts.jsonl --out runs/first

      ragassay evaluate answers.jsonl --model openai/gpt-4.1-mini --concurrency 32

      ragassay evaluate answers.jsonl --judge openai/gpt-4.1-mini --judge mistral/mistral-small

      ragassay evaluate answers.jsonl --escalate openai/gpt-4.1-mini --when "entropy>1.5"

      ragassay evaluate answers.jsonl --only citations --citations sentence

      ragassay evaluate answers.jsonl --audit 20

      ragassay evaluate answers.jsonl --dry-run

      ragassay evaluate answers.jsonl --fail-under correctness=3.5

    Exit codes: 0 done; 1 error; 2 wrong usage; 3 some input was rejected, or some answer or
    verdict could not be had; 4 a score is below --fail-under.
    """
    with errors_as_lines():
        from ragassay.cli.audit import audit_run
        from ragassay.cli.output import print_certificate, print_rejections
        from ragassay.cli.thresholds import parse_thresholds
        from ragassay.errors import SettingsError
        from ragassay.evaluators.toolbox import Toolbox
        from ragassay.records import NOT_HAD
        from ragassay.runs.evaluate import read_job
        from ragassay.runs.folder import RunFolder
        from ragassay.settings import load_settings, seated

        settings = load_settings(
            **seated(judges or (), api_base),
            escalate=escalate,
            when=when,
            evidence=evidence,
            only=tuple(only) if only else None,
            verifier=verifier,
            verdict_labels=labels,
            citation_evidence=citations,
            correctness=correctness,
            signals=signals,
            rubric_set=rubric_set,
            rubrics=tuple(rubric) if rubric else None,
            strategy=strategy,
            concurrency=concurrency,
            prompts=tuple(prompts) if prompts else None,
        )
        if when and not settings.escalate:
            raise SettingsError("--when says what goes to a second judge: name it, --escalate NAME")
        thresholds = parse_thresholds(fail_under or [], settings.rubric_set)
        job = read_job(
            answers, corpus, limit=limit, questions=questions, nuggets=nuggets, settings=settings
        )
        print_rejections(job.rejections)
        if job.note:
            typer.echo(job.note, err=True)
        tools = Toolbox.of(settings, job.corpus)
        if dry_run:
            _show_plan(job, tools, audit, as_json)
            return
        folder = RunFolder(out or Path("runs") / answers.name.split(".")[0])
        result = _run(job, tools, folder, retry_failed, quiet)
        _show(result, folder.path, as_json, quiet)
        audited = (
            audit_run(job, result, tools, folder, audit, retry_failed, quiet) if audit else None
        )
        if audited and not (as_json or quiet):
            print_certificate(audited.audit)
        missed = [t for t in thresholds if t.is_missed_by(result.summary)]
    for threshold in missed:
        typer.echo(threshold.verdict(result.summary), err=True)
    if missed:
        raise typer.Exit(BELOW)
    lacking = result.summary.findings.keys() & set(NOT_HAD)
    is_partial = result.failures or result.rejections or lacking
    if is_partial or (audited and audited.is_partial):
        raise typer.Exit(PARTIAL)


def _run(job: Job, tools: Toolbox, folder: RunFolder, retry_failed: bool, quiet: bool) -> RunResult:
    from ragassay.runs.evaluate import run, run_sync
    from ragassay.runs.garbage import patient_collector
    from ragassay.runs.progress import shown_progress

    if retry_failed:
        folder.forget_failures()
    with shown_progress(len(job.records), enabled=not quiet) as listen, patient_collector():
        return run_sync(run(job, tools, folder, listen))


def _show_plan(job: Job, tools: Toolbox, n_audited: int | None, as_json: bool) -> None:
    from ragassay.cli.output import print_plan
    from ragassay.runs.audit import plan_audit
    from ragassay.runs.audit_job import AuditOptions, audit_job
    from ragassay.runs.evaluate import plan

    found = plan(job, tools)
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
