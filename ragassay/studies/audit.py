"""Audit a judge by comparing its scores of unperturbed and of perturbed answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ragassay.evaluators.base import Run
from ragassay.graphs.each import Items, ParaphraseRun, SentenceTask, build_paraphrase_graph
from ragassay.model_names import INSTRUMENTS, is_embedded_base, split_endpoint
from ragassay.models.gateway import JudgeLM
from ragassay.models.limiter import RunLimiter, limit_calls
from ragassay.models.prompt_caching import CHARS_PER_TOKEN
from ragassay.models.tuned import use_base_model
from ragassay.perturbations import Rephrase, perturb_answers
from ragassay.perturbations.wording_attacks import REDUNDANCY
from ragassay.records import (
    Audit,
    CompactEvaluations,
    Evaluation,
    Manifest,
    Paraphrase,
    PerturbedAnswer,
    RecordFailure,
    Usage,
)
from ragassay.reports.audit_report import (
    render_audit_html,
    render_audit_markdown,
    render_figures_csv,
)
from ragassay.runs.audit_job import AuditJob, AuditOptions, build_audit_job
from ragassay.runs.engine import RunOutcome, run_records
from ragassay.runs.evaluate import TASK_CHARS, Job, Plan, RunResult, build_manifest, plan
from ragassay.runs.folder import RunFolder, append_line, read_lines, write_atomically, write_lines
from ragassay.runs.preflight import Estimate, SharedCalls, estimate_cost
from ragassay.runs.progress import Event, Listener
from ragassay.settings import Settings
from ragassay.studies.audit_scores import (
    average_variant_ratings,
    build_perturbed_pairs,
    compute_attack_figures,
)
from ragassay.studies.certificate import certify

PARAPHRASES = "paraphrases.jsonl"


def get_paraphraser_name(job: AuditJob) -> str:
    """Return the name of the paraphrasing model without its endpoint, or "" if there is none."""
    return split_endpoint(job.options.paraphraser)[0]


def plan_paraphrases(job: AuditJob, settings: Settings) -> Plan:
    """Estimate the number of calls and tokens for paraphrasing sentences."""
    sentences = list_sentences_to_rephrase(job) if job.options.paraphraser else ()
    if not sentences:
        return Plan(0, 0, 0, 0, cost=Estimate())
    n_chars = sum(len(sentence) for sentence in sentences) + len(sentences) * TASK_CHARS
    n_tokens = n_chars // CHARS_PER_TOKEN
    calls = SharedCalls(len(sentences), 0, n_tokens // len(sentences))
    cost = estimate_cost([calls], build_paraphraser_settings(settings, job.options.paraphraser))
    return Plan(0, len(sentences), n_tokens, 0, cost=cost)


def list_sentences_to_rephrase(job: AuditJob) -> tuple[str, ...]:
    """Return the sentences that the job's attacks paraphrase, without duplicates."""
    sentences: dict[str, None] = {}

    def record_sentence(sentence: str) -> str:
        sentences[sentence] = None
        return ""

    _repeat_sentences(job, record_sentence)
    return tuple(sentences)


async def paraphrase_job(
    job: AuditJob, settings: Settings, folder: Path | None, listen: Listener, limiter: RunLimiter
) -> AuditJob:
    """Replace rule-based paraphrases in a job with a model's paraphrases, if a model is set.

    If a model's paraphrase is unusable, the rule-based paraphrase is kept. Paraphrases that are
    already stored in the folder are reused.

    Raises:
        FatalModelError: If the model is unavailable. Paraphrases received so far remain in the
            folder.
    """
    if not job.options.paraphraser:
        return job
    sentences = list_sentences_to_rephrase(job)
    file = folder / PARAPHRASES if folder else None
    known = {p.sentence: p for p in read_lines(file, Paraphrase)} if file else {}
    for paraphrase in known.values():
        limiter.count(paraphrase.usage.cost_usd, paraphrase.usage.n_calls)
    missing = tuple(sentence for sentence in sentences if sentence not in known)
    listen(Event(n_expected=len(missing)))
    if missing:
        own = build_paraphraser_settings(settings, job.options.paraphraser)
        run = ParaphraseRun(JudgeLM(use_base_model(own)))
        graph: Any = build_paraphrase_graph(own.judge.max_attempts)
        with limit_calls(limiter):
            stream = graph.astream(
                Items(tuple(map(SentenceTask, missing))), context=run, stream_mode="custom"
            )
            async for chunk in stream:
                paraphrase = chunk["result"]
                known[paraphrase.sentence] = paraphrase
                if file:
                    append_line(file, paraphrase)
                listen(Event(n_calls=1, usage=paraphrase.usage))
    texts = {sentence: known[sentence].text for sentence in sentences}
    perturbed = await asyncio.to_thread(_repeat_sentences, job, texts.__getitem__)
    paraphrases = tuple(known[sentence] for sentence in sentences)
    return replace(_replace_perturbations(job, perturbed), paraphrases=paraphrases)


def build_paraphraser_settings(settings: Settings, name: str) -> Settings:
    """Return the settings for calling the model `name`, given as NAME or NAME@URL."""
    with_panel = settings.model_copy(update={"panel": (*settings.judge.panel, name)})
    return with_panel.build_judge_settings(len(with_panel.judge.judges) - 1)


def forget_failed_paraphrases(folder: Path) -> None:
    """Remove failed paraphrases from a folder, so that they are requested again."""
    file = folder / PARAPHRASES
    write_lines(file, [p for p in read_lines(file, Paraphrase) if p.failure is None])


def _repeat_sentences(job: AuditJob, rephrase: Rephrase) -> dict[str, PerturbedAnswer]:
    ids = {perturbation.record.id for perturbation in job.perturbed}
    answers: dict[str, PerturbedAnswer] = {}
    for attack in REDUNDANCY:
        records = [r for r in job.job.records if f"{r.id}~{attack.name}" in ids]
        new = perturb_answers(records, attacks=[attack], seed=job.options.seed, rephrase=rephrase)
        answers |= {perturbation.record.id: perturbation for perturbation in new.answers}
    return answers


def _replace_perturbations(job: AuditJob, answers: dict[str, PerturbedAnswer]) -> AuditJob:
    perturbed: list[PerturbedAnswer] = []
    for perturbation in job.perturbed:
        if new := answers.get(perturbation.record.id):
            record = perturbation.record.model_copy(update={"answer": new.record.answer})
            update = {"record": record, "sentences": new.sentences}
            perturbation = perturbation.model_copy(update=update)
        perturbed.append(perturbation)
    records = {perturbation.record.id: perturbation.record for perturbation in perturbed}
    asks = tuple(replace(ask, record=records.get(ask.record.id, ask.record)) for ask in job.asks)
    return replace(job, perturbed=tuple(perturbed), asks=asks)


@dataclass(frozen=True)
class AuditResult:
    """Results of an audit, with the perturbed answers, their evaluations, and failures."""

    audit: Audit
    perturbed: tuple[PerturbedAnswer, ...]
    evaluations: CompactEvaluations
    failures: tuple[RecordFailure, ...]


def plan_audit(job: AuditJob, run: Run) -> Plan:
    """Estimate the number of calls and tokens of an audit, including paraphrases."""
    groups = (
        plan(replace(job.job, records=tuple(records)), _limit_parts(parts, run))
        for parts, records in job.group_records().items()
    )
    return sum(groups, plan_paraphrases(job, run.settings))


async def run_audit(
    job: AuditJob,
    run: Run,
    folder: RunFolder | None = None,
    listen: Listener = lambda event: None,
    unperturbed: Mapping[str, Evaluation] | None = None,
) -> AuditResult:
    """Audit a judge.

    Args:
        folder: Folder in which finished work is stored, so that an interrupted audit can be
            resumed.
        unperturbed: Existing evaluations of the unperturbed answers, keyed by record id.

    Raises:
        RunMismatchError: If the folder contains another run or audit.
        FatalModelError: If the judge or the paraphraser is unavailable.
    """
    with folder.open_locked(build_audit_manifest(job, run)) if folder else nullcontext():
        if folder:
            write_lines(folder.rejected_file, job.job.rejections)
        job = await paraphrase_job(job, run.settings, folder and folder.path, listen, run.limiter)
        if folder:
            write_lines(folder.path / "perturbed.jsonl", job.perturbed)
        outcome = await _judge_groups(job, run, folder, listen)
        result = _build_result(job, outcome, run, unperturbed or {})
        if folder:
            folder.write_evaluations(result.evaluations)
            write_lines(folder.failures_file, result.failures)
            write_audit(folder.path, result.audit)
    return result


def prepare_run_audit(job: Job, result: RunResult, run: Run, options: AuditOptions) -> AuditJob:
    """Prepare an audit of the judge of a run, with the answers that the run evaluated.

    Raises:
        InputError: If none of the run's answers can be perturbed.
    """
    judged = {outline.record_id for outline in result.evaluations.outlines}
    records = tuple(record for record in job.records if record.id in judged)
    return build_audit_job(replace(job, records=records), run, options, is_judged=True)


async def audit_run_judge(
    job: AuditJob,
    result: RunResult,
    run: Run,
    folder: RunFolder | None,
    listen: Listener = lambda event: None,
) -> AuditResult:
    """Audit the judge of a run, and add the certificate to the run's report.

    Only perturbed answers are judged, and their evaluations are stored in the subfolder `audit` of
    the run folder. The scores of the unperturbed answers are those in the run.

    Raises:
        FatalModelError: If the judge is unavailable.
    """
    ids = {perturbation.original for perturbation in job.perturbed}
    unperturbed = {e.record_id: e for e in result.evaluations if e.record_id in ids}
    audited = await run_audit(job, run, folder and folder.audit_folder, listen, unperturbed)
    if folder:
        write_atomically(folder.audit_file, audited.audit.model_dump_json(indent=2))
        folder.write_reports(result.summary)
    return audited


def _limit_parts(parts: tuple[str, ...], run: Run) -> Run:
    return replace(run, settings=run.settings.model_copy(update={"only": parts}))


def build_audit_manifest(job: AuditJob, run: Run) -> Manifest:
    """Return a manifest of everything that determines the results, except the answers."""
    manifest = build_manifest(job.job, run)
    audit_settings: dict[str, str | int | float | bool | None] = {
        "audit_seed": job.options.seed,
        "audit_attacks": ",".join(job.options.attacks),
        "audit_given": job.options.use_perturbed,
        "audit_paraphraser": get_paraphraser_name(job) or None,
    }
    return manifest.model_copy(update={"settings": manifest.settings | audit_settings})


def describe_raters(run: Run) -> str:
    """Return the names of a run's judges, and of the signal rater if there is one."""
    rater = run.judge.name_signal_rater(run.rubrics)
    members = [_describe_rater(name, rater, run) for name in run.settings.judge.judges]
    return ("; " if rater else ", ").join(members)


def _describe_rater(name: str, rater: str, run: Run) -> str:
    if rater and run.judge.find_member(name).reads:
        return f"{name} with {rater}"
    is_replaced = name == INSTRUMENTS or is_embedded_base(name)
    return f"{name}, rubrics by {rater}" if rater and is_replaced else name


def write_audit(folder: Path, audit: Audit) -> None:
    """Write audit.json, audit.html, audit.md and figures.csv."""
    write_atomically(folder / "audit.json", audit.model_dump_json(indent=2))
    write_atomically(folder / "audit.html", render_audit_html(audit))
    write_atomically(folder / "audit.md", render_audit_markdown(audit))
    write_atomically(folder / "figures.csv", render_figures_csv(audit))


async def _judge_groups(
    job: AuditJob, run: Run, folder: RunFolder | None, listen: Listener
) -> RunOutcome:
    outcome = RunOutcome()
    for parts, records in job.group_records().items():
        group = await run_records(records, _limit_parts(parts, run), folder, listen)
        outcome.evaluations.update(group.evaluations)
        outcome.failures.update(group.failures)
    return outcome


def _build_result(
    job: AuditJob, outcome: RunOutcome, run: Run, unperturbed: Mapping[str, Evaluation]
) -> AuditResult:
    ids = [ask.record.id for ask in job.asks]
    evaluations = outcome.list_evaluations(ids)
    perturbed = {evaluation.record_id: evaluation for evaluation in evaluations}
    failures = tuple(outcome.failures[name] for name in ids if name in outcome.failures)
    pairs = build_perturbed_pairs(job.perturbed, {**unperturbed, **perturbed})
    n_paraphrased = sum(bool(paraphrase.text) for paraphrase in job.paraphrases)
    audit = Audit(
        judge=describe_raters(run),
        is_measured=run.computes_signals,
        n_answers=len({perturbation.original for perturbation in job.perturbed}),
        seed=job.options.seed,
        pools=job.pools,
        n_unchanged=job.n_unchanged,
        n_perturbed=len(job.perturbed),
        n_failed=len(failures),
        figures=compute_attack_figures(pairs),
        ratings=average_variant_ratings(pairs),
        certificate=certify(pairs),
        paraphraser=get_paraphraser_name(job),
        n_paraphrased=n_paraphrased,
        n_by_rule=len(job.paraphrases) - n_paraphrased,
        usage=sum((one.usage for one in (*evaluations, *job.paraphrases)), Usage()),
    )
    return AuditResult(audit, job.perturbed, evaluations, failures)
