"""Write question-answer pairs from papers: one job a paper, with resume."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ragassay.errors import (
    FatalModelError,
    InputError,
    RagassayError,
    SettingsError,
    StorageError,
    raise_ungrouped,
)
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.formats.papers import write_pairs
from ragassay.graphs.case import case_of
from ragassay.graphs.qa import QAGraph, build_qa_graph, qa_key, qa_prefix
from ragassay.graphs.qa_parts import window_of
from ragassay.graphs.qa_state import QAJob, QAPairs, QAState, QATools, Rate
from ragassay.models.gateway import JudgeLM
from ragassay.process import in_thread
from ragassay.records import Paper, QAPair, RacarDimension, RacarRating, Usage
from ragassay.records.qa import paper_record
from ragassay.runs.banks import repeats
from ragassay.runs.progress import Event, Listener
from ragassay.runs.resume import bounded_job, follow_graph, written_alone
from ragassay.settings import Settings
from ragassay.store import opened_store

JOB = TypeAdapter(QAJob)
PAIRS = TypeAdapter(QAPairs)


@dataclass(frozen=True)
class PaperPairs:
    """The pairs of one paper, numbered anew, in the order of its parts.

    `found` is what the graph did, None where the model could not be asked; the problem says why
    there are no pairs, or which calls failed.
    """

    paper: str
    pairs: tuple[QAPair, ...] = ()
    found: QAPairs | None = None
    problem: str = ""


@dataclass(frozen=True)
class Generated:
    """The pairs of a run, by paper, in the order given."""

    papers: tuple[PaperPairs, ...]

    @property
    def pairs(self) -> tuple[QAPair, ...]:
        """All pairs."""
        return tuple(pair for one in self.papers for pair in one.pairs)

    @property
    def n_mended(self) -> int:
        """Pairs that were repaired and kept."""
        return sum(draft.n_mended > 0 for found in self._found for draft in found.kept)

    @property
    def dropped(self) -> Counter[str]:
        """Pairs that were given up, by the first flaw that was found."""
        dropped = (draft for found in self._found for draft in found.dropped)
        return Counter(draft.flaws[0].kind for draft in dropped)

    @property
    def ends(self) -> Counter[str]:
        """Papers, by why the work on them ended."""
        return Counter(found.end for found in self._found)

    @property
    def usage(self) -> Usage:
        """The cost of all calls."""
        return sum((found.usage for found in self._found), Usage())

    @property
    def _found(self) -> list[QAPairs]:
        return [one.found for one in self.papers if one.found]


def check_writer(settings: Settings) -> None:
    """Refuse to write pairs without a model, or with several.

    Raises:
        SettingsError: No model is named, or several are.
    """
    if not settings.judge.has_judge:
        raise SettingsError(
            "question-answer pairs are written by a model: name one, --model openai/gpt-4.1-mini "
            "or another"
        )
    if settings.judge.panel:
        raise SettingsError(f"one model writes the pairs, not {', '.join(settings.judge.judges)}")


def qa_tools(settings: Settings, papers: Sequence[Paper], evaluator: str = "") -> QATools:
    """Return the tools to write pairs with.

    Args:
        settings: Names the writer, which may be a fine-tuned one.
        evaluator: LiteLLM name of the second model, which rates; NAME@URL has an endpoint of its
            own. Empty: rules alone check.

    Raises:
        InputError: Two papers have the same id.
        SettingsError: No writer is named, or several are.
    """
    check_writer(settings)
    known = {paper.id: paper for paper in papers}
    if len(known) < len(papers):
        twice, _ = Counter(paper.id for paper in papers).most_common(1)[0]
        raise InputError(f"two papers have the id {twice!r}")
    tools = build_run(settings)
    rating: Run | None = None
    if evaluator:
        rating = build_run(settings.model_copy(update={"escalate": evaluator}).of_second())

    def fold(questions: Sequence[str]) -> dict[int, int]:
        return repeats(questions, "questions", tools.models.embedder.encode)

    return QATools(
        tools=tools,
        writer=JudgeLM(settings),
        papers=known,
        fold=fold,
        rate=_rate(rating) if rating else None,
        rater=rating.judge.answered_by if rating else "",
        window_tokens=window_of(settings.judge.model),
        window_chars=settings.source_chars,
    )


def _rate(tools: Run) -> Rate:
    async def rate(
        paper: Paper, dimension: RacarDimension, pairs: Sequence[QAPair]
    ) -> Sequence[RacarRating]:
        record = paper_record(paper, pairs)
        case = await in_thread(case_of, record, tools.settings, tools.retrieval.corpus)
        found: Any = await tools.judge.ask(
            tools.agents.racar_rater(dimension), case=case, pairs=pairs
        )
        return found

    return rate


async def make_pairs(
    papers: Sequence[Paper],
    plan: QAJob,
    tools: QATools,
    out: Path,
    *,
    listen: Listener = lambda event: None,
) -> Generated:
    """Write the pairs of all papers into a file, a line each.

    Finished calls are kept next to `out`: a killed run goes on, and papers without a pair are tried
    again. The plan's paper is not read; the tools are from `qa_tools`, for these papers.

    Raises:
        FatalModelError: A model is unavailable.
        InputError: The file cannot be written, or another process is writing it.
    """
    jobs = [replace(plan, paper=paper.id) for paper in papers]
    with written_alone(out) as states, opened_store(states) as store:
        tools = replace(tools, tools=replace(tools.tools, store=store))
        writer = _PairJobs(build_qa_graph(tools.tools.settings.judge.max_attempts), tools, listen)
        with bounded_job(out, tools.tools.limiter), raise_ungrouped(FatalModelError, StorageError):
            async with asyncio.TaskGroup() as group:
                started = [group.create_task(writer.write(job)) for job in jobs]
    found = Generated(tuple(task.result() for task in started))
    write_pairs(found.pairs, out)
    return found


class _PairJobs:
    """Runs jobs through the graph; any number may be in progress."""

    def __init__(self, graph: QAGraph, tools: QATools, listen: Listener) -> None:
        self._graph, self._tools, self._listen = graph, tools, listen
        self._slots = asyncio.Semaphore(max(2, tools.tools.settings.n_slots))

    async def write(self, job: QAJob) -> PaperPairs:
        """Bring a job to its end; one without a pair is tried again."""
        async with self._slots:
            try:
                found = await self._read_or_write(job)
            except (FatalModelError, StorageError):
                raise
            except RagassayError as error:
                return PaperPairs(job.paper, problem=str(error))
            finally:
                self._listen(Event(n_records=1))
        pairs = tuple(
            draft.pair.model_copy(update={"id": f"{job.paper}/{n}"})
            for n, draft in enumerate(found.kept, 1)
        )
        problems = list(dict.fromkeys(f"{one.reason}: {one.detail}" for one in found.failures))
        if not pairs and not problems:
            problems = ["every pair had a flaw, see the counts"]
        return PaperPairs(job.paper, pairs, found, "; ".join(problems))

    async def _read_or_write(self, job: QAJob) -> QAPairs:
        store, paper = self._tools.tools.store, self._tools.papers[job.paper]
        key = qa_key(self._tools, paper, "paper", JOB.dump_json(job))
        found = await store.get(key, PAIRS)
        if found is None:
            values, failed = await follow_graph(self._graph, job, self._tools, self._listen)
            state = QAState(**values)  # What no node has written is not among the values.
            found = QAPairs(**{field.name: getattr(state, field.name) for field in fields(QAPairs)})
            found = replace(found, usage=found.usage + failed)
            if found.kept:
                store.keep(key, found, PAIRS)
            else:
                store.forget(qa_prefix(self._tools, paper))
        return found
