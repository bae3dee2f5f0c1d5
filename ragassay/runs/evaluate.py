"""Plan an evaluation run, run it, compute its scores, and write its reports."""

from __future__ import annotations

import asyncio
import importlib.metadata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ragassay.agents.sampling import LOGPROBS
from ragassay.evaluators.base import Run
from ragassay.evaluators.cases import OpenCase
from ragassay.evaluators.registry import group_asked_verdicts
from ragassay.extras import find_installed_versions
from ragassay.graphs.case import create_open_case
from ragassay.graphs.evidence import count_max_search_calls
from ragassay.metrics.stats.joint_judgments import summarize_cascade
from ragassay.metrics.stats.summary import summarize
from ragassay.model_names import EMBEDDED_BASE
from ragassay.models.call_reply import describe_mixtures
from ragassay.models.cards import load_card
from ragassay.models.fitted_raters import load_shipped_rater
from ragassay.models.litellm_library import compute_price_usd
from ragassay.models.prompt_caching import CHARS_PER_TOKEN
from ragassay.models.tuned import find_tuned_note
from ragassay.models.weights import SMOLLM2_GGUF_SHA256
from ragassay.records import (
    CompactEvaluations,
    Manifest,
    PanelJudge,
    RecordFailure,
    Rejection,
    Summary,
    Usage,
)
from ragassay.reports.text import count_text
from ragassay.runs.engine import RunOutcome, run_records
from ragassay.runs.folder import RunFolder, write_atomically, write_lines
from ragassay.runs.job import Job, build_job, read_job
from ragassay.runs.pooling import pool_record_scores
from ragassay.runs.preflight import (
    Estimate,
    SharedCalls,
    add_costs,
    estimate_cost,
    keep_endpoints,
    list_endpoint_notes,
    list_judge_settings,
)
from ragassay.runs.progress import Listener
from ragassay.settings import Settings, format_settings

if TYPE_CHECKING:
    from ragassay.models.gateway import JudgeLM

__all__ = ["Job", "Plan", "RunResult", "build_job", "build_manifest", "plan", "read_job", "run_job"]


def list_judge_notes(summary: Summary, n_samples: int) -> tuple[str, ...]:
    """Return notes if several models answered, or if samples were unnecessary or failed.

    Args:
        n_samples: Number of samples per verdict that the settings request.
    """
    usage = summary.usage
    notes = [*describe_mixtures(usage.answered_by)]
    if n_samples > 1 and LOGPROBS in usage.confidence_from:
        n = summary.confidence_from.get(LOGPROBS, 0)
        notes.append(
            f"The judge returns log-probabilities ({count_text(n, 'verdict')}), which are more "
            f"informative than {n_samples} samples, so no samples were drawn for these verdicts."
        )
    if usage.n_failed_samples:
        n = count_text(usage.n_failed_samples, "sample")
        notes.append(
            f"{n} without a usable reply do not count in the probabilities of ratings and labels."
        )
    return tuple(notes)


NOTED_PACKAGES = (
    "dspy",
    "langgraph",
    "litellm",
    "llguidance",
    "rank-bm25",
    "sentence-transformers",
    "sentencex",
    "torch",
    "transformers",
)
"""Libraries whose version can affect the results."""

TASK_CHARS = 700
"""Approximate length of a prompt without the context of the answer, in characters."""


@dataclass(frozen=True)
class RunResult:
    """Result of a run, with the evaluations in input order."""

    summary: Summary
    evaluations: CompactEvaluations
    failures: tuple[RecordFailure, ...]
    rejections: tuple[Rejection, ...]
    manifest: Manifest


@dataclass(frozen=True)
class Plan:
    """Estimated number of calls and tokens, and the cost of a run.

    Attributes:
        n_calls: Maximum number of model calls. The run may need fewer calls, because calls are
            shared, searches end early, and panels only discuss disputed ratings.
        n_prompt_tokens: Approximate number of tokens in all prompts.
        n_shared_tokens: Number of prompt tokens that repeat the context of an answer.
        n_escalated: Maximum number of calls to a second judge.
        n_escalated_tokens: Approximate number of tokens sent to the second judge.
        escalated_usd: Maximum cost of the second judge in USD according to LiteLLM's price list.
            None if the price is unknown.
        cost: Maximum cost of all calls except those to the second judge.
    """

    n_records: int
    n_calls: int
    n_prompt_tokens: int
    n_shared_tokens: int
    n_escalated: int = 0
    n_escalated_tokens: int = 0
    escalated_usd: float | None = 0.0
    cost: Estimate = field(default_factory=Estimate)

    def __add__(self, other: Plan) -> Plan:
        """Add the estimates of two plans."""
        return Plan(
            self.n_records + other.n_records,
            self.n_calls + other.n_calls,
            self.n_prompt_tokens + other.n_prompt_tokens,
            self.n_shared_tokens + other.n_shared_tokens,
            self.n_escalated + other.n_escalated,
            self.n_escalated_tokens + other.n_escalated_tokens,
            add_costs(self.escalated_usd, other.escalated_usd),
            self.cost + other.cost,
        )


def plan(job: Job, run: Run) -> Plan:
    """Estimate calls and tokens without calling a model."""
    n_calls = n_shared_tokens = n_escalated = n_escalated_tokens = 0
    task_tokens, shared_calls = TASK_CHARS // CHARS_PER_TOKEN, list[SharedCalls]()
    n_per_question = _count_calls_per_question(run)
    for record in job.records:
        open_case = create_open_case(record, run)
        context_tokens = len(open_case.case.context) // CHARS_PER_TOKEN
        counts = [
            evaluator.count_max_calls(open_case, run)
            * (n_per_question if evaluator.is_weighed else 1)
            for evaluator in run.evaluators
        ]
        counts.append(count_max_search_calls(open_case, run))
        shared_calls += [SharedCalls(n, context_tokens, task_tokens) for n in counts if n]
        n_calls += sum(counts)
        n_shared_tokens += sum(counts) * context_tokens
        n_second = count_max_escalations(open_case, run)
        n_escalated += n_second
        n_escalated_tokens += n_second * (context_tokens + task_tokens)
    return Plan(
        len(job.records),
        n_calls,
        n_shared_tokens + n_calls * task_tokens,
        n_shared_tokens,
        n_escalated,
        n_escalated_tokens,
        _estimate_max_usd(run.settings, n_escalated, n_escalated_tokens),
        estimate_cost(shared_calls, run.settings) if shared_calls else Estimate(),
    )


def count_max_escalations(open_case: OpenCase, run: Run) -> int:
    """Return the maximum number of calls to the second judge for an answer, one per question."""
    if run.second is None or not open_case.case.sentences:
        return 0
    weighed = (evaluator for evaluator in run.evaluators if evaluator.is_weighed)
    return sum(evaluator.count_max_questions(open_case, run) for evaluator in weighed)


def _count_calls_per_question(run: Run) -> int:
    return max(
        (_count_max_reply_calls(lm) for lm in run.judge.models if not lm.gives_logprobs), default=1
    )


def _count_max_reply_calls(lm: JudgeLM) -> int:
    is_known = lm.gives_logprobs is not None
    n_samples = lm.n_samples + (not is_known) if lm.n_samples > 1 else 1
    return 2 if lm.has_decisions else n_samples


def _estimate_max_usd(settings: Settings, n_calls: int, n_prompt_tokens: int) -> float | None:
    if settings.judge.escalated_to is None or not n_calls:
        return 0.0
    n_reply_tokens = n_calls * settings.prompting.max_reply_tokens
    return compute_price_usd(settings.judge.escalated_to, n_prompt_tokens, n_reply_tokens)


async def run_job(
    job: Job,
    run: Run,
    folder: RunFolder | None,
    listen: Listener = lambda event: None,
    *,
    has_reports: bool = True,
) -> RunResult:
    """Run a job. If the folder contains an earlier start of the same run, resume it.

    Raises:
        RunMismatchError: The folder contains another run.
        FatalModelError: The judge cannot be reached or used.
    """
    manifest = build_manifest(job, run)
    if folder is None:
        outcome = await run_records(job.records, run, None, listen)
        return await asyncio.to_thread(_build_result, job, outcome, manifest, run)
    with folder.open_locked(manifest):
        write_lines(folder.rejected_file, job.rejections)
        judges = list_judge_settings(run.settings)
        keep_endpoints(folder.path, judges)  # Save what the preflight checks found.
        try:
            outcome = await run_records(job.records, run, folder, listen)
        finally:
            keep_endpoints(folder.path, judges)
        result = await asyncio.to_thread(_build_result, job, outcome, manifest, run)
        folder.note_answered_by(result.manifest.answered_by)
        folder.write_evaluations(result.evaluations)
        write_lines(folder.failures_file, result.failures)
        write_atomically(folder.summary_file, result.summary.model_dump_json(indent=2))
        if has_reports:
            folder.write_reports(result.summary, result.evaluations)
    return result


def build_manifest(job: Job, run: Run) -> Manifest:
    """Return everything that the results of a run depend on."""
    settings, judge = run.settings, run.judge.name
    grader = run.grading.instrument if _needs_grader(job, run) else None
    base, rater = run.judge.answered_by, run.judge.name_signal_rater(run.rubrics)
    is_tuned = judge != base
    return Manifest(
        ragassay=importlib.metadata.version("ragassay"),
        packages=find_installed_versions(NOTED_PACKAGES),
        judge=judge,
        judge_digest=_find_digest(judge),
        base=base if is_tuned else "",
        panel=tuple(PanelJudge(judge=j, card=load_card(j)) for j in settings.judge.panel_names),
        second=_build_second_member(settings),
        rater=rater,
        rater_digest=load_shipped_rater().digest if rater else "",
        verifier=run.verifier_name,
        verifier_digest=run.models.encoder.model.digest
        if run.models.encoder
        else _find_digest(settings.chosen_verifier),
        correctness=run.correctness_name,
        grader=grader.name if grader else "",
        grader_digest=grader.digest if grader else "",
        embedder=run.models.embedder.name,
        embedder_digest=run.models.embedder.digest,
        prompts_sha256=run.prompts_sha256,
        prompts=tuple(prompt.fingerprint for prompt in run.compiled),
        own=run.own_digests,
        answers=job.answers,
        corpus=job.corpus_fingerprint,
        settings=format_settings(settings),
        card=load_card(judge),
        base_card=load_card(base) if is_tuned else None,
        rater_card=load_card(rater) if rater else None,
        verifier_card=load_card(run.verifier_name) if settings.chosen_verifier != "judge" else None,
        grader_card=load_card(grader.name) if grader else None,
    )


def _needs_grader(job: Job, run: Run) -> bool:
    has_items = bool(run.grading.item_ways) and any(record.exam for record in job.records)
    return run.settings.evaluation.wants("grades") and (has_items or bool(run.grading.direct_ways))


def _find_digest(model: str) -> str:
    metadata = find_tuned_note(model)
    if metadata is not None:
        return metadata.weights_sha256
    return SMOLLM2_GGUF_SHA256 if model == EMBEDDED_BASE else ""


def _build_second_member(settings: Settings) -> PanelJudge | None:
    name = settings.judge.escalated_to
    return PanelJudge(judge=name, card=load_card(name)) if name else None


def _build_result(job: Job, outcome: RunOutcome, manifest: Manifest, run: Run) -> RunResult:
    ids = [record.id for record in job.records]
    evaluated = outcome.list_evaluations(ids)
    evaluations = evaluated.with_scores(pool_record_scores(evaluated, run.models.embedder.encode))
    failed = tuple(outcome.failures[i] for i in ids if i in outcome.failures)
    failures, n_records = (*job.failures, *failed), len(ids) + len(job.failures)
    failed_usage = sum((failure.usage for failure in failures), Usage())
    summary = summarize(evaluations, n_records, len(failures), len(job.rejections), failed_usage)
    settings = run.settings
    notes = (
        *job.notes,
        *list_endpoint_notes(list_judge_settings(settings)),
        *list_judge_notes(summary, settings.prompting.samples),
    )
    summary = summary.model_copy(update={"application": job.application, "notes": notes})
    manifest = manifest.model_copy(update={"answered_by": summary.usage.answered_by})
    if settings.judge.escalated_to and settings.judge.escalated_when:
        questions = group_asked_verdicts(evaluations, run.registered)
        second, when = settings.judge.escalated_to, settings.judge.escalated_when
        cascade = summarize_cascade(questions, settings.judge.model, second, when)
        summary = summary.model_copy(update={"cascade": cascade})
    return RunResult(summary, evaluations, failures, job.rejections, manifest)
