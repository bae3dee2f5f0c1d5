"""Generate test banks for queries with a judge model or by rule.

A run that was interrupted can be resumed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import TypeAdapter

from ragassay.errors import SettingsError
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.formats import BankItem, RubricBank, build_bank_item_id, write_test_banks
from ragassay.formats.exam_queries import QueryFile
from ragassay.formats.workbench.bank_items import BankKind
from ragassay.graphs.writing import ExamGraph, ExamItems, ExamJob, build_exam_graph
from ragassay.process import run_in_thread
from ragassay.records import Document, Usage
from ragassay.runs.banks import map_duplicates, remove_duplicate_items
from ragassay.runs.job import open_corpus
from ragassay.runs.nuggets import build_nugget_jobs
from ragassay.runs.progress import Event, Listener
from ragassay.runs.resume import follow_graph, lock_for_writing, run_limited_tasks
from ragassay.settings import Settings
from ragassay.store import open_store
from ragassay.text.clauses import split_clauses
from ragassay.text.search import condense_documents
from ragassay.text.sentences import extract_sentences

if TYPE_CHECKING:
    from ragassay.options import CorpusLike


BY_RULE = "clauses by rule"
"""Name stored instead of a model name in test banks that rules wrote."""


def select_clause_nuggets(job: ExamJob, run: Run) -> ExamItems:
    """Return the source clauses most similar to the query, without duplicates.

    Clauses are longer than nuggets that a model writes.

    Args:
        job: Query and sources. The sources are shortened in the same way as for a prompt.
    """
    query = f"{job.text} {job.facet_text}".strip()
    sources = condense_documents(job.sources, query, run.settings.source_chars)
    sentences = (sentence for source in sources for sentence in extract_sentences(source.text))
    clauses = list(dict.fromkeys(c for sentence in sentences for c in split_clauses(sentence)))
    vectors = run.models.embedder.encode([query, *clauses])
    similarities = vectors[1:] @ vectors[0]
    order = sorted(range(len(clauses)), key=lambda i: -similarities[i])
    ranked = [clauses[i] for i in order[: 3 * job.number]]
    duplicates = map_duplicates(ranked, "nuggets", run.models.embedder.encode)
    texts = [text for i, text in enumerate(ranked) if i not in duplicates][: job.number]
    return ExamItems(tuple(texts), ("",) * len(texts), 0, [], Usage())


Origin = Literal["query", "documents", "reference"]
"""What the items are written from."""

ITEMS = TypeAdapter(ExamItems)


@dataclass(frozen=True)
class ExamPlan:
    """Settings for writing test banks.

    Attributes:
        number: Number of items per query, or per facet.
        with_facets: Whether to write items for each facet of a query.
        n_documents: Number of corpus documents to retrieve per query.
    """

    kinds: tuple[BankKind, ...] = ("questions",)
    number: int = 10
    origin: Origin = "query"
    with_facets: bool = True
    with_answers: bool = False
    n_documents: int = 5


@dataclass(frozen=True)
class WrittenBank:
    """Result of one job: the test bank items, or the reason why there are none."""

    job: ExamJob
    found: ExamItems | None = None
    problem: str = ""


@dataclass(frozen=True)
class CreatedBanks:
    """Test banks that were written for all queries.

    Attributes:
        banks: Test banks that have items, in the order of the queries.
        folded: Query id and text of each item that was removed as a duplicate.
    """

    banks: tuple[RubricBank, ...]
    written: tuple[WrittenBank, ...]
    folded: tuple[tuple[str, str], ...]


def build_exam_run(
    settings: Settings, plan: ExamPlan, corpus: CorpusLike | None = None
) -> tuple[Run, str]:
    """Return the run for writing test banks, and a note about the corpus for the user.

    Raises:
        SettingsError: The plan requires a judge, but the settings name none.
        InputError, CorpusError: The corpus cannot be opened.
    """
    if not settings.judge.has_judge:
        check_by_rule(plan)
    if corpus is None:
        return build_run(settings), ""
    opened = open_corpus(corpus, settings)
    return build_run(settings, opened.literature), opened.note


def build_exam_jobs(file: QueryFile, plan: ExamPlan, run: Run) -> list[ExamJob]:
    """Return a job for each query, facet and kind of item, in the order of the file."""
    known: dict[str, tuple[Document, ...]] = {}
    if file.records and plan.origin != "query":
        nuggets = build_nugget_jobs(file.records, plan.origin, run, n_window=1, n_most=1)
        known = {job.topic: job.sources for job in nuggets}
    jobs: list[ExamJob] = []
    for query in file.queries:
        for facet, heading in query.facets if plan.with_facets and query.facets else [("", "")]:
            sources = known.get(query.id, ())
            if plan.origin == "documents" and not sources:
                hits = run.retrieval.corpus.search(f"{query.text} {heading}", plan.n_documents)
                sources = tuple(hit.document for hit in hits)
            jobs += [
                ExamJob(
                    *(query.id, query.text, kind, facet, heading, sources),
                    wants_answers=plan.with_answers and kind == "questions",
                    number=plan.number,
                )
                for kind in plan.kinds
            ]
    return jobs


async def write_testbanks(
    jobs: Sequence[ExamJob],
    plan: ExamPlan,
    run: Run,
    out: Path,
    *,
    collection: str = "",
    listen: Listener = lambda event: None,
) -> CreatedBanks:
    """Run all jobs and write their test banks to a file.

    Finished jobs are stored next to `out`. If the run is interrupted, the next run continues from
    there and retries failed jobs.

    Raises:
        FatalModelError: The model is unavailable.
        InputError: The file cannot be written, or another process is writing it.
        SettingsError: The plan requires a judge, but the settings name none.
    """
    if run.judge.lm is None:
        written = await _write_by_rule(jobs, plan, run, listen)
    else:
        written = await _write_with_judge(jobs, plan, run, out, listen)
    banks = [build_bank(one, plan.origin, run, collection) for one in written if one.found]
    embedder, matcher = run.models.embedder, run.models.matcher
    least = matcher.similarity_threshold if matcher else None
    kept, folded = await run_in_thread(remove_duplicate_items, banks, embedder.encode, least)
    write_test_banks(kept, out)
    return CreatedBanks(kept, written, folded)


async def _write_by_rule(
    jobs: Sequence[ExamJob], plan: ExamPlan, run: Run, listen: Listener
) -> tuple[WrittenBank, ...]:
    check_by_rule(plan)
    written: list[WrittenBank] = []
    for job in jobs:
        items = await run_in_thread(select_clause_nuggets, job, run) if job.sources else None
        if items and items.texts:
            written.append(WrittenBank(job, items))
        else:
            written.append(WrittenBank(job, problem=_explain_missing_sources(plan.origin)))
        listen(Event(n_records=1))
    return tuple(written)


def check_by_rule(plan: ExamPlan) -> None:
    """Check that rules can write everything in the plan, without a model.

    Raises:
        SettingsError: The plan includes questions, or has no sources to extract nuggets from.
    """
    if plan.kinds != ("nuggets",) or plan.origin == "query":
        raise SettingsError(
            "questions require a model; pass --model openai/gpt-4.1-mini or --model "
            "ragassay/judge. Without a model, use --kind nuggets --from documents (or reference), "
            "or import hand-written items with `ragassay testbank import`"
        )


def _explain_missing_sources(origin: Origin) -> str:
    return f"no {origin.rstrip('s')} to write from"


async def _write_with_judge(
    jobs: Sequence[ExamJob], plan: ExamPlan, run: Run, out: Path, listen: Listener
) -> tuple[WrittenBank, ...]:
    with lock_for_writing(out) as states, open_store(states) as store:
        graph = build_exam_graph(run.settings.judge.max_attempts)
        writer = _BankJobs(graph, replace(run, store=store), listen)
        coroutines = (writer.write(job, plan.origin) for job in jobs)
        return tuple(await run_limited_tasks(out, run.limiter, coroutines))


class _BankJobs:
    def __init__(self, graph: ExamGraph, run: Run, listen: Listener) -> None:
        self._graph, self._run, self._listen = graph, run, listen
        self._slots = asyncio.Semaphore(run.settings.n_slots)

    async def write(self, job: ExamJob, origin: Origin) -> WrittenBank:
        """Run a job, or load its items from the store. The items of failed jobs are not stored."""
        if origin != "query" and not job.sources:
            self._listen(Event(n_records=1))
            return WrittenBank(job, problem=_explain_missing_sources(origin))
        async with self._slots:
            key, store = self._compute_key(job), self._run.store
            items = await store.get(key, ITEMS)
            if items is None:
                items = await self._run_graph(job)
                if items.texts:
                    store.keep(key, items, ITEMS)
            self._listen(Event(n_records=1))
        if items.texts:
            return WrittenBank(job, items)
        problems = (f"{failure.reason}: {failure.detail}" for failure in items.failures)
        return WrittenBank(job, problem="; ".join(problems))

    async def _run_graph(self, job: ExamJob) -> ExamItems:
        self._listen(Event(n_expected=1))
        values, failed = await follow_graph(self._graph, job, self._run, self._listen)
        items = ExamItems(**values)
        return replace(items, usage=items.usage + failed)

    def _compute_key(self, job: ExamJob) -> str:
        parts: list[object] = [self._run.identity, asdict(replace(job, sources=()))]
        parts += [source.model_dump(mode="json") for source in job.sources]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def build_bank(written: WrittenBank, origin: Origin, run: Run, collection: str = "") -> RubricBank:
    """Return the written items as a test bank, with their origin in `info`."""
    job, found = written.job, written.found
    info: dict[str, object] = {
        "gpt_model": run.judge.answered_by if run.judge.lm else BY_RULE,
        "prompt_target": job.kind,
        "prompts_sha256": run.prompts_sha256,
        "written_from": origin,
    }
    if job.sources:
        info["documents"] = [source.id for source in job.sources]
    pairs = zip(found.texts, found.answers, strict=True) if found else ()
    items = tuple(
        BankItem(
            text, build_bank_item_id(job.query, text, job.facet), answers=(key,) if key else ()
        )
        for text, key in pairs
    )
    return RubricBank(
        *(job.query, job.text, job.kind, items, job.facet, collection),
        info=json.dumps(info),
        facet_text=job.facet_text,
    )
