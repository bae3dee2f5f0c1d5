"""Let a model write an audit's redundant sentences, before its answers are judged.

They are kept in paraphrases.jsonl of the audit's folder, one sentence a line, as they arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragassay.graphs.paraphrase import ParaphraseTools, Sentences, build_paraphrase_graph
from ragassay.model_names import split_endpoint
from ragassay.models.gateway import JudgeLM
from ragassay.models.limiter import RunLimiter, limited
from ragassay.models.prompt_caching import CHARS_A_TOKEN
from ragassay.models.tuned import untuned
from ragassay.perturbations import Rephrase, damage_answers
from ragassay.perturbations.redundancy import REDUNDANCY
from ragassay.records import DamagedAnswer, Paraphrase
from ragassay.runs.audit_job import AuditJob
from ragassay.runs.estimate import Estimate, SharedCalls, estimate_cost
from ragassay.runs.evaluate import TASK_CHARS, Plan
from ragassay.runs.events import Event, Listener
from ragassay.runs.folder import append_line, read_lines, write_lines
from ragassay.settings import Settings

PARAPHRASES = "paraphrases.jsonl"


def paraphraser_name(job: AuditJob) -> str:
    """Return the paraphrasing model's name without its endpoint; empty for rules."""
    return split_endpoint(job.options.paraphraser)[0]


def plan_paraphrases(job: AuditJob, settings: Settings) -> Plan:
    """Count the calls and tokens of the redundant sentences."""
    sentences = sentences_to_rephrase(job) if job.options.paraphraser else ()
    n_chars = sum(len(sentence) for sentence in sentences) + len(sentences) * TASK_CHARS
    cost = Estimate()
    if sentences:
        calls = SharedCalls(len(sentences), 0, n_chars // CHARS_A_TOKEN // len(sentences))
        cost = estimate_cost([calls], paraphraser_settings(settings, job.options.paraphraser))
    return Plan(0, len(sentences), n_chars // CHARS_A_TOKEN, 0, cost=cost)


def sentences_to_rephrase(job: AuditJob) -> tuple[str, ...]:
    """Return the sentences that the job's attacks paraphrase, each once."""
    asked: dict[str, None] = {}

    def note(sentence: str) -> str:
        asked[sentence] = None
        return ""

    _redundant(job, note)
    return tuple(asked)


async def paraphrased_job(
    job: AuditJob,
    settings: Settings,
    folder: Path | None,
    listen: Listener,
    limiter: RunLimiter,
) -> AuditJob:
    """Return the job with redundant sentences by the model that its options name, if any.

    Where the model's sentence is unusable, the rule's is kept.

    Args:
        job: The job with redundant sentences by rule.
        settings: The audit's settings; they limit concurrent calls.
        folder: The folder of sentences; existing ones are not requested again.
        listen: Receives an event for each call.
        limiter: Bounds the calls of the audit.

    Raises:
        FatalModelError: The model is unavailable; its earlier sentences are kept.
    """
    if not job.options.paraphraser:
        return job
    sentences = sentences_to_rephrase(job)
    file = folder / PARAPHRASES if folder else None
    known = {p.sentence: p for p in read_lines(file, Paraphrase)} if file else {}
    for found in known.values():
        limiter.count(found.usage.cost_usd, found.usage.n_calls)
    waiting = [sentence for sentence in sentences if sentence not in known]
    listen(Event(n_expected=len(waiting)))
    with limited(limiter):
        async for found in _asked(waiting, paraphraser_settings(settings, job.options.paraphraser)):
            known[found.sentence] = found
            if file:
                append_line(file, found)
            listen(Event(n_calls=1, usage=found.usage))
    texts = {sentence: known[sentence].text for sentence in sentences}
    damaged = await asyncio.to_thread(_redundant, job, texts.__getitem__)
    paraphrases = tuple(known[sentence] for sentence in sentences)
    return replace(_with_damage(job, damaged), paraphrases=paraphrases)


def paraphraser_settings(settings: Settings, name: str) -> Settings:
    """Return the settings for calling the model, as for another judge of a panel.

    Args:
        settings: The audit's settings.
        name: LiteLLM name, optionally with its endpoint (NAME@URL).
    """
    seated = settings.model_copy(update={"panel": (*settings.judge.panel, name)})
    return seated.of_judge(len(seated.judge.judges) - 1)


def forget_failed_paraphrases(folder: Path) -> None:
    """Drop sentences whose call failed, so that they are requested again; refusals are kept."""
    file = folder / PARAPHRASES
    write_lines(file, [found for found in read_lines(file, Paraphrase) if found.failure is None])


async def _asked(sentences: Sequence[str], settings: Settings) -> AsyncIterator[Paraphrase]:
    """Yield the model's paraphrases of the sentences as they arrive."""
    if not sentences:
        return
    graph = build_paraphrase_graph(settings.judge.max_attempts)
    tools = ParaphraseTools(JudgeLM(untuned(settings)))
    stream: AsyncIterator[Any] = graph.astream(
        Sentences(tuple(sentences)), context=tools, stream_mode="custom"
    )
    async for chunk in stream:
        yield chunk["paraphrase"]


def _redundant(job: AuditJob, rephrase: Rephrase) -> dict[str, DamagedAnswer]:
    """Recreate the job's redundant answers with another paraphraser; return them by id."""
    wanted = {damage.record.id for damage in job.damaged}
    found: dict[str, DamagedAnswer] = {}
    for attack in REDUNDANCY:
        records = [r for r in job.job.records if f"{r.id}~{attack.name}" in wanted]
        again = damage_answers(records, attacks=[attack], seed=job.options.seed, rephrase=rephrase)
        found |= {damage.record.id: damage for damage in again.answers}
    return found


def _with_damage(job: AuditJob, made: dict[str, DamagedAnswer]) -> AuditJob:
    """Return the job with new texts of some damaged answers; targets and rubrics stay."""
    damaged = tuple(
        _with_text(damage, made[damage.record.id]) if damage.record.id in made else damage
        for damage in job.damaged
    )
    records = {damage.record.id: damage.record for damage in damaged}
    asks = tuple(replace(ask, record=records.get(ask.record.id, ask.record)) for ask in job.asks)
    return replace(job, damaged=damaged, asks=asks)


def _with_text(damage: DamagedAnswer, made: DamagedAnswer) -> DamagedAnswer:
    record = damage.record.model_copy(update={"answer": made.record.answer})
    return damage.model_copy(update={"record": record, "sentences": made.sentences})
