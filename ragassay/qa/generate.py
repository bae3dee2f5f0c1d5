"""Generate question-answer pairs from papers. Each paper is one job that can be resumed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ragassay.errors import FatalModelError, InputError, RagassayError, SettingsError, StorageError
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.formats.papers import write_pairs
from ragassay.graphs.case import convert_to_case
from ragassay.graphs.qa import QAGraph, build_qa_graph, build_qa_key, build_qa_key_prefix
from ragassay.graphs.qa_parts import find_context_window
from ragassay.graphs.qa_state import QAJob, QAPairs, QARun, QAState, Rate
from ragassay.models.gateway import JudgeLM
from ragassay.process import run_in_thread
from ragassay.records import Paper, QAPair, RacarDimension, RacarRating, Usage
from ragassay.records.qa import build_paper_record
from ragassay.runs.banks import map_duplicates
from ragassay.runs.progress import Event, Listener
from ragassay.runs.resume import follow_graph, lock_for_writing, run_limited_tasks
from ragassay.settings import Settings
from ragassay.store import open_store

JOB = TypeAdapter(QAJob)
PAIRS = TypeAdapter(QAPairs)


@dataclass(frozen=True)
class PaperPairs:
    """Question-answer pairs generated from one paper.

    Attributes:
        pairs: Pairs in the order of the text, with ids numbered from 1.
        found: Result of the generation graph, or None if an error ended the generation.
        problem: Reason why there are no pairs, or the reasons for failed calls.
    """

    paper: str
    pairs: tuple[QAPair, ...] = ()
    found: QAPairs | None = None
    problem: str = ""


@dataclass(frozen=True)
class Generated:
    """Question-answer pairs generated in a run, grouped by paper in input order."""

    papers: tuple[PaperPairs, ...]

    @property
    def pairs(self) -> tuple[QAPair, ...]:
        """Question-answer pairs of all papers."""
        return tuple(pair for paper in self.papers for pair in paper.pairs)

    @property
    def n_mended(self) -> int:
        """Number of pairs that were repaired and kept."""
        return sum(draft.n_mended > 0 for result in self._results for draft in result.kept)

    @property
    def dropped(self) -> Counter[str]:
        """Number of dropped pairs for each kind of flaw; only the first flaw of a pair counts."""
        dropped = (draft for result in self._results for draft in result.dropped)
        return Counter(draft.flaws[0].kind for draft in dropped)

    @property
    def ends(self) -> Counter[str]:
        """Number of papers for each reason why the generation ended."""
        return Counter(result.end for result in self._results)

    @property
    def usage(self) -> Usage:
        """Total number of tokens and cost of all model calls."""
        return sum((result.usage for result in self._results), Usage())

    @property
    def _results(self) -> list[QAPairs]:
        return [paper.found for paper in self.papers if paper.found]


def check_writer(settings: Settings) -> None:
    """Check that the settings name exactly one model to write pairs.

    Raises:
        SettingsError: The settings name no model or several models.
    """
    if not settings.judge.has_judge:
        raise SettingsError(
            "writing question-answer pairs requires a model; pass --model, for example "
            "--model openai/gpt-4.1-mini"
        )
    if settings.judge.panel:
        models = ", ".join(settings.judge.judges)
        raise SettingsError(f"pairs are written by a single model, got {models}")


def build_qa_run(settings: Settings, papers: Sequence[Paper], evaluator: str = "") -> QARun:
    """Return the models and settings that the generation graph uses.

    Args:
        settings: Settings that name the model that writes the pairs.
        evaluator: LiteLLM name of a second model that rates the pairs, or NAME@URL for a model
            at a different endpoint, or empty if only rules check the pairs.

    Raises:
        InputError: Two papers have the same id.
        SettingsError: The settings name no model or several models.
    """
    check_writer(settings)
    known = {paper.id: paper for paper in papers}
    if len(known) < len(papers):
        duplicate, _ = Counter(paper.id for paper in papers).most_common(1)[0]
        raise InputError(f"two papers have the id {duplicate!r}")
    run = build_run(settings)
    rating: Run | None = None
    if evaluator:
        rating = build_run(
            settings.model_copy(update={"escalate": evaluator}).build_second_settings()
        )

    def map_repeated_questions(questions: Sequence[str]) -> dict[int, int]:
        return map_duplicates(questions, "questions", run.models.embedder.encode)

    return QARun(
        run=run,
        writer=JudgeLM(settings),
        papers=known,
        fold=map_repeated_questions,
        rate=_build_rate(rating) if rating else None,
        rater=rating.judge.answered_by if rating else "",
        window_tokens=find_context_window(settings.judge.model),
        window_chars=settings.source_chars,
    )


def _build_rate(run: Run) -> Rate:
    async def rate_dimension(
        paper: Paper, dimension: RacarDimension, pairs: Sequence[QAPair]
    ) -> Sequence[RacarRating]:
        record = build_paper_record(paper, pairs)
        case = await run_in_thread(convert_to_case, record, run.settings, run.retrieval.corpus)
        ratings: Any = await run.judge.ask(
            run.agents.choose_racar_rater(dimension), case=case, pairs=pairs
        )
        return ratings

    return rate_dimension


async def make_pairs(
    papers: Sequence[Paper],
    plan: QAJob,
    run: QARun,
    out: Path,
    *,
    listen: Listener = lambda event: None,
) -> Generated:
    """Generate question-answer pairs from all papers and write them to a JSON Lines file.

    Progress is saved in a file next to `out`. The same call resumes an interrupted run and retries
    papers without pairs.

    Args:
        plan: Job settings for all papers, whose field `paper` is ignored.
        run: Result of `build_qa_run` for the same papers.

    Raises:
        FatalModelError: A model is unavailable.
        InputError: The file cannot be written, or another process is writing it.
    """
    jobs = [replace(plan, paper=paper.id) for paper in papers]
    with lock_for_writing(out) as states, open_store(states) as store:
        run = replace(run, run=replace(run.run, store=store))
        writer = _PairJobs(build_qa_graph(run.run.settings.judge.max_attempts), run, listen)
        results = await run_limited_tasks(out, run.run.limiter, map(writer.write, jobs))
    generated = Generated(tuple(results))
    write_pairs(generated.pairs, out)
    return generated


class _PairJobs:
    """Runs the generation graph on several papers at the same time."""

    def __init__(self, graph: QAGraph, run: QARun, listen: Listener) -> None:
        self._graph, self._run, self._listen = graph, run, listen
        self._slots = asyncio.Semaphore(max(2, run.run.settings.n_slots))

    async def write(self, job: QAJob) -> PaperPairs:
        """Generate the pairs of a paper, or load them if they are stored."""
        async with self._slots:
            try:
                result = await self._read_or_write(job)
            except (FatalModelError, StorageError):
                raise
            except RagassayError as error:
                return PaperPairs(job.paper, problem=str(error))
            finally:
                self._listen(Event(n_records=1))
        pairs = tuple(
            draft.pair.model_copy(update={"id": f"{job.paper}/{n}"})
            for n, draft in enumerate(result.kept, 1)
        )
        failures = (f"{failure.reason}: {failure.detail}" for failure in result.failures)
        problems = list(dict.fromkeys(failures))
        if not pairs and not problems:
            problems = ["all pairs were dropped because of flaws"]
        return PaperPairs(job.paper, pairs, result, "; ".join(problems))

    async def _read_or_write(self, job: QAJob) -> QAPairs:
        store, paper = self._run.run.store, self._run.papers[job.paper]
        key = build_qa_key(self._run, paper, "paper", JOB.dump_json(job))
        result = await store.get(key, PAIRS)
        if result is None:
            values, failed = await follow_graph(self._graph, job, self._run, self._listen)
            state = QAState(**values)  # Fields that no node has written get their defaults.
            result = QAPairs(
                **{field.name: getattr(state, field.name) for field in fields(QAPairs)}
            )
            result = replace(result, usage=result.usage + failed)
            if result.kept:
                store.keep(key, result, PAIRS)
            else:
                store.forget(build_qa_key_prefix(self._run, paper))
        return result
