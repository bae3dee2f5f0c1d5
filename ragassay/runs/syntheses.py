"""Write syntheses: answers to research questions from the abstracts of their papers.

YESciEval's first task (LLMgen, section 4.3): several models write, in turn, one synthesis for each
question. What is written is kept beside the file, and not written again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig

from ragassay.errors import FatalModelError, InputError, RagassayError, SettingsError, StorageError
from ragassay.evaluators.toolbox import Toolbox, hash_of
from ragassay.formats import read_records, write_records
from ragassay.formats.yescieval import read_questions
from ragassay.graphs.persistence import Saver, opened_checkpointer
from ragassay.graphs.synthesis import SynthesisGraph, build_synthesis_graph
from ragassay.graphs.synthesis_state import WORDS, SynthesisJob
from ragassay.records import Document, Record, Rejection, Usage
from ragassay.runs.engine import Event, Listener, first_error
from ragassay.settings import Settings

REPLY_TOKENS = 800
"""Longest reply: 200 words with citations take some 350 tokens, in other scripts twice as many."""


@dataclass(frozen=True)
class Questions:
    """The questions to write syntheses for.

    Attributes:
        jobs: One a question, in the file's order.
        rejections: Lines that could not be read.
        n_bare: Questions without a source, which are left out.
    """

    jobs: tuple[SynthesisJob, ...]
    rejections: tuple[Rejection, ...] = ()
    n_bare: int = 0


@dataclass(frozen=True)
class Synthesis:
    """One model's synthesis of one question.

    Attributes:
        job: The question.
        generator: The model's LiteLLM name.
        text: The synthesis; empty where there is none.
        problem: Why there is none.
        usage: The cost of its calls, whenever they were made.
    """

    job: SynthesisJob
    generator: str
    text: str = ""
    problem: str = ""
    usage: Usage = field(default_factory=Usage)

    @property
    def record(self) -> Record:
        """The synthesis as an answer to evaluate."""
        return Record(
            id=f"{self.job.topic}/{self.generator}",
            question=self.job.question,
            answer=self.text,
            sources=self.job.sources,
            system=self.generator,
            topic=self.job.topic,
        )


def read_synthesis_jobs(
    path: Path, *, limit: int | None = None, words: int = WORDS, questions: Path | None = None
) -> Questions:
    """Read the questions of a file, each with its papers.

    Args:
        path: YESciEval's file of questions, or answers in any format that brings sources: the
            questions of these answers, each with the sources of all its answers.
        limit: Only so many questions; None for all.
        words: About how many words a synthesis may have.
        questions: The questions of a format whose answers do not bring them.

    Raises:
        InputError: The file cannot be read, or no question has a source.
    """
    try:
        known, rejected = read_questions(path)
    except InputError:  # Not YESciEval's; if it is nothing else either, the reader below says so.
        found = _of_answers(path, words, questions)
    else:
        jobs = [SynthesisJob(name, q.text, q.sources, words) for name, q in known.items()]
        found = Questions(tuple(jobs), tuple(rejected))
    with_sources = tuple(job for job in found.jobs if job.sources)
    if not with_sources:
        raise InputError(f"{path} has no question with papers: nothing can be written from it")
    return replace(found, jobs=with_sources[:limit], n_bare=len(found.jobs) - len(with_sources))


def _of_answers(path: Path, words: int, questions: Path | None) -> Questions:
    result = read_records(path, questions=questions)
    topics: dict[str, list[Record]] = {}
    for record in result.records:
        topics.setdefault(record.topic or record.question, []).append(record)
    jobs: list[SynthesisJob] = []
    for group in topics.values():
        first = group[0]
        sources: dict[tuple[str, str], Document] = {}
        for record in group:
            for source in record.sources:
                sources.setdefault((source.title, source.text), source)
        topic = first.topic or first.id
        jobs.append(SynthesisJob(topic, first.question, _numbered(sources.values()), words))
    return Questions(tuple(jobs), tuple(result.rejections))


def _numbered(sources: Collection[Document]) -> tuple[Document, ...]:
    """Return sources with their ids; with their numbers where two have the same id."""
    if len({source.id for source in sources}) == len(sources):
        return tuple(sources)
    return tuple(s.model_copy(update={"id": str(n)}) for n, s in enumerate(sources, 1))


def generator_settings(settings: Settings, reply_tokens: int = REPLY_TOKENS) -> Settings:
    """Return the settings of a model that writes.

    Raises:
        SettingsError: No model is named, or several are.
    """
    if not settings.has_judge:
        raise SettingsError("a synthesis takes a model that writes: name one, --generator NAME")
    if settings.panel:
        raise SettingsError(f"one model writes at a time, not {', '.join(settings.judges)}")
    return settings.model_copy(update={"max_reply_tokens": reply_tokens})


async def write_syntheses(
    jobs: Sequence[SynthesisJob],
    settings: Settings,
    states: Path,
    *,
    max_tokens: int = 0,
    listen: Listener = lambda event: None,
) -> list[Synthesis]:
    """Let one model write the syntheses of all questions.

    Args:
        jobs: The questions, with distinct ids.
        settings: From `generator_settings`.
        states: The file of finished and stopped work, which is not repeated; a failed call is.
            Several models may share it.
        max_tokens: Tokens after which no call begins; 0 for no bound. Calls under way are ended.
        listen: Receives progress events.

    Returns:
        One a question, in order; those that failed or were not begun have a problem and no text.

    Raises:
        FatalModelError: The model is unavailable; finished work is kept.
    """
    tools = Toolbox.of(settings)
    states.parent.mkdir(parents=True, exist_ok=True)
    async with opened_checkpointer(states) as saver:
        graph = build_synthesis_graph(settings.max_attempts, saver)
        writer = _Writer(graph, saver, tools, max_tokens, listen)
        try:
            async with asyncio.TaskGroup() as group:
                started = [group.create_task(writer.write(job)) for job in jobs]
        except* (FatalModelError, StorageError) as errors:
            raise first_error(errors) from None
    return [task.result() for task in started]


def write_answers(syntheses: Sequence[Synthesis], out: Path) -> list[Record]:
    """Write the syntheses that there are, as answers that `ragassay evaluate` reads.

    Raises:
        InputError: There is none, or the file cannot be written.
    """
    records = [one.record for one in syntheses if one.text]
    if not records:
        first = next((one.problem for one in syntheses if one.problem), "")
        raise InputError(f"no synthesis could be written: {first}")
    out.parent.mkdir(parents=True, exist_ok=True)
    write_records(records, out)
    return records


class _Writer:
    """Runs jobs through the graph; any number may be in progress."""

    def __init__(
        self,
        graph: SynthesisGraph,
        saver: Saver,
        tools: Toolbox,
        max_tokens: int,
        listen: Listener,
    ) -> None:
        self._graph, self._saver, self._tools, self._listen = graph, saver, tools, listen
        self._slots = asyncio.Semaphore(tools.settings.n_slots)
        self._max_tokens, self._usage = max_tokens, Usage()

    async def write(self, job: SynthesisJob) -> Synthesis:
        """Bring a job to its end; a failed one is tried again."""
        name = self._tools.settings.model
        async with self._slots:
            try:
                return await self._written(job, name)
            except FatalModelError:
                raise
            except RagassayError as error:
                return Synthesis(job, name, problem=str(error))
            finally:
                self._listen(Event(n_records=1))

    async def _written(self, job: SynthesisJob, name: str) -> Synthesis:
        thread = self._thread(job)
        config: RunnableConfig = {"configurable": {"thread_id": thread}}
        before = await self._graph.aget_state(config)
        if before.values.get("failures") and not before.values.get("text"):
            await self._saver.adelete_thread(thread)
            before = await self._graph.aget_state(config)
        if not before.values.get("text"):
            if self._max_tokens and self._n_tokens >= self._max_tokens:
                return Synthesis(job, name, problem=f"not begun: {self._max_tokens} tokens used")
            await self._run(None if before.next else job, config)
        values = (await self._graph.aget_state(config)).values
        problems = [f"{one.reason}: {one.detail}" for one in values.get("failures", ())]
        text = values.get("text", "")
        problem = "" if text else "; ".join(problems) or "no synthesis"
        return Synthesis(job, name, text, problem, values.get("usage", Usage()))

    async def _run(self, start: SynthesisJob | None, config: RunnableConfig) -> None:
        given: Any = start
        self._listen(Event(n_expected=1))
        stream = self._graph.astream(given, config, context=self._tools, stream_mode="custom")
        async for chunk in stream:
            told: dict[str, Any] = dict(chunk)
            usage = told.get("usage", Usage())
            self._usage += usage
            self._listen(Event(n_calls=told.get("done", 0), usage=usage))

    @property
    def _n_tokens(self) -> int:
        return self._usage.n_prompt_tokens + self._usage.n_completion_tokens

    def _thread(self, job: SynthesisJob) -> str:
        """Return a hash of everything that a synthesis depends on."""
        about = (job.topic, job.question, str(job.words))
        sources = (source.model_dump_json() for source in job.sources)
        return hash_of(self._tools.identity, *about, *sources)
