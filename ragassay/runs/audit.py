"""Audit a judge: evaluate whole and damaged answers with the same graph.

An audit folder is a run folder of all these answers, and also contains:

    damaged.jsonl       one damaged answer a line, with its damage
    paraphrases.jsonl   redundant sentences by a model, where one writes them
    audit.json          the figures and the certificate
    audit.html, audit.md, figures.csv
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ragassay.evaluators.base import Run
from ragassay.metrics.audit import attack_figures, audit_pairs, variant_ratings
from ragassay.metrics.certificate import certify
from ragassay.model_names import INSTRUMENTS, is_embedded_base
from ragassay.records import (
    Audit,
    CompactEvaluations,
    DamagedAnswer,
    Evaluation,
    Manifest,
    RecordFailure,
    Usage,
)
from ragassay.reports.audit import figures_csv, render_audit_html, render_audit_markdown
from ragassay.runs.audit_job import AuditJob, AuditOptions, audit_job
from ragassay.runs.engine import RunOutcome, run_records
from ragassay.runs.evaluate import Job, Plan, RunResult, manifest_of, plan
from ragassay.runs.events import Listener
from ragassay.runs.folder import RunFolder, write_lines, write_whole
from ragassay.runs.paraphrasing import paraphrased_job, paraphraser_name, plan_paraphrases


@dataclass(frozen=True)
class AuditResult:
    """The result of an audit.

    Attributes:
        audit: The figures and the certificate.
        damaged: The damaged answers that were judged.
        evaluations: Of whole and damaged answers.
        failures: Answers without an evaluation.
    """

    audit: Audit
    damaged: tuple[DamagedAnswer, ...]
    evaluations: CompactEvaluations
    failures: tuple[RecordFailure, ...]


def plan_audit(job: AuditJob, tools: Run) -> Plan:
    """Count the calls and tokens of an audit, paraphraser included, without calling a model."""
    return sum(
        (
            plan(replace(job.job, records=tuple(records)), tools_for(parts, tools))
            for parts, records in job.groups().items()
        ),
        plan_paraphrases(job, tools.settings),
    )


async def run_audit(
    job: AuditJob,
    tools: Run,
    folder: RunFolder | None = None,
    listen: Listener = lambda event: None,
    whole: Mapping[str, Evaluation] | None = None,
) -> AuditResult:
    """Audit a judge; with a folder, continue an earlier start of the same audit.

    Args:
        job: From `audit_job`. If its options name a model, that writes the redundant sentences
            first.
        tools: The run that the answers are judged with.
        folder: The folder of finished work.
        listen: Receives progress events.
        whole: Existing evaluations of whole answers, by record id.

    Raises:
        RunMismatchError: The folder has another run or audit.
        FatalModelError: The judge or the paraphraser is unavailable.
    """
    manifest = audit_manifest(job, tools)
    if folder is None:
        job = await paraphrased_job(job, tools.settings, None, listen, tools.limiter)
        outcome = await _judged(job, tools, None, listen)
        return _result(job, outcome, tools, whole or {})
    with folder.opened(manifest):
        write_lines(folder.rejected_file, job.job.rejections)
        job = await paraphrased_job(job, tools.settings, folder.path, listen, tools.limiter)
        write_lines(folder.path / "damaged.jsonl", job.damaged)
        outcome = await _judged(job, tools, folder, listen)
        result = _result(job, outcome, tools, whole or {})
        folder.write_evaluations(result.evaluations)
        write_lines(folder.failures_file, result.failures)
        write_audit(folder.path, result.audit)
    return result


def job_of_run(job: Job, result: RunResult, tools: Run, options: AuditOptions) -> AuditJob:
    """Prepare the audit of a run's judge on answers of the run, which it has judged undamaged.

    Raises:
        InputError: No answer of the run can be damaged.
    """
    judged = {outline.record_id for outline in result.evaluations.outlines}
    records = tuple(record for record in job.records if record.id in judged)
    return audit_job(replace(job, records=records), tools, options, is_judged=True)


async def audit_of_run(
    job: AuditJob,
    result: RunResult,
    tools: Run,
    folder: RunFolder | None,
    listen: Listener = lambda event: None,
) -> AuditResult:
    """Audit the judge of a run, and add the certificate to the run's report.

    The whole answers keep their scores from the run; the damaged ones are judged in the folder
    `audit` inside the run's.

    Args:
        job: From `job_of_run`.
        result: The run's result.
        tools: The run.
        folder: The run's folder; None for a run that has none.
        listen: Receives progress events.

    Raises:
        FatalModelError: The judge is unavailable.
    """
    wanted = {damage.original for damage in job.damaged}
    whole = {e.record_id: e for e in result.evaluations if e.record_id in wanted}
    found = await run_audit(job, tools, folder and folder.audit_folder, listen, whole)
    if folder is None:
        return found
    write_whole(folder.audit_file, found.audit.model_dump_json(indent=2))
    folder.write_reports(result.summary)
    return found


def tools_for(parts: tuple[str, ...], tools: Run) -> Run:
    """Return the same run, limited to some parts of an evaluation."""
    return replace(tools, settings=tools.settings.model_copy(update={"only": parts}))


def audit_manifest(job: AuditJob, tools: Run) -> Manifest:
    """Return everything that the audit's result depends on except the number of its answers."""
    manifest = manifest_of(job.job, tools)
    chosen: dict[str, str | int | float | bool | None] = {
        "audit_seed": job.options.seed,
        "audit_attacks": ",".join(job.options.attacks),
        "audit_given": job.options.is_given,
        "audit_paraphraser": paraphraser_name(job) or None,
    }
    return manifest.model_copy(update={"settings": manifest.settings | chosen})


def raters(tools: Run) -> str:
    """Return the raters: the judges, and the signal rater where it rates for one of them."""
    rater = tools.judge.signal_rater(tools.rubrics)
    seats = [_rater(name, rater, tools) for name in tools.settings.judge.judges]
    return ("; " if rater else ", ").join(seats)


def _rater(name: str, rater: str, tools: Run) -> str:
    if rater and tools.judge.member(name).reads:
        return f"{name} with {rater}"
    stands_in = name == INSTRUMENTS or is_embedded_base(name)
    return f"{name}, rubrics by {rater}" if rater and stands_in else name


def write_audit(folder: Path, audit: Audit) -> None:
    """Write audit.json, audit.html, audit.md and figures.csv."""
    write_whole(folder / "audit.json", audit.model_dump_json(indent=2))
    write_whole(folder / "audit.html", render_audit_html(audit))
    write_whole(folder / "audit.md", render_audit_markdown(audit))
    write_whole(folder / "figures.csv", figures_csv(audit))


async def _judged(
    job: AuditJob, tools: Run, folder: RunFolder | None, listen: Listener
) -> RunOutcome:
    outcome = RunOutcome()
    for parts, records in job.groups().items():
        found = await run_records(records, tools_for(parts, tools), folder, listen)
        outcome.evaluations.update(found.evaluations)
        outcome.failures.update(found.failures)
    return outcome


def _result(
    job: AuditJob, outcome: RunOutcome, tools: Run, whole: Mapping[str, Evaluation]
) -> AuditResult:
    ids = [ask.record.id for ask in job.asks]
    evaluations = outcome.in_order(ids)
    damaged = {evaluation.record_id: evaluation for evaluation in evaluations}
    failures = tuple(outcome.failures[name] for name in ids if name in outcome.failures)
    pairs = audit_pairs(job.damaged, {**whole, **damaged})
    n_paraphrased = sum(bool(found.text) for found in job.paraphrases)
    audit = Audit(
        judge=raters(tools),
        is_measured=tools.measures,
        n_answers=len({damage.original for damage in job.damaged}),
        seed=job.options.seed,
        pools=job.pools,
        n_unchanged=job.n_unchanged,
        n_damaged=len(job.damaged),
        n_failed=len(failures),
        figures=attack_figures(pairs),
        ratings=variant_ratings(pairs),
        certificate=certify(pairs),
        paraphraser=paraphraser_name(job),
        n_paraphrased=n_paraphrased,
        n_by_rule=len(job.paraphrases) - n_paraphrased,
        usage=sum((found.usage for found in (*evaluations, *job.paraphrases)), Usage()),
    )
    return AuditResult(audit, job.damaged, evaluations, failures)
