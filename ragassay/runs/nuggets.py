"""Write gold nuggets for a file's questions, and let a person edit them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, StateSnapshot

from ragassay.errors import FatalModelError, RagassayError, StorageError, ungrouped
from ragassay.evaluators.toolbox import Toolbox
from ragassay.formats import NuggetBank, write_nugget_banks
from ragassay.graphs.nugget_state import NuggetJob, NuggetList
from ragassay.graphs.nuggets import NuggetGraph, build_nugget_graph
from ragassay.graphs.persistence import Saver
from ragassay.records import Document, Record, Usage
from ragassay.runs.events import Event, Listener
from ragassay.runs.following import follow_graph
from ragassay.runs.nugget_edit import EditRequest, as_text, edit_request, from_text, until_read
from ragassay.runs.spent import bounded_job
from ragassay.runs.states import opened_states
from ragassay.text.segmenter import segment

Origin = Literal["documents", "answer", "reference"]
"""Source of the nuggets."""

Editor = Callable[[str], str]
"""Shows a text to a person and returns the edited text."""

Rows = list[dict[str, str | None]]
"""Text and importance of each nugget of a list."""

Reviewer = Callable[[Sequence[EditRequest]], Awaitable[Sequence[Rows]]]
"""Shows all lists that wait to people, and returns them as they left them."""


@dataclass(frozen=True)
class Written:
    """The nuggets of one question, or why there are none."""

    job: NuggetJob
    found: NuggetList | None = None
    problem: str = ""

    @property
    def bank(self) -> NuggetBank:
        """The nuggets as stored in a file."""
        nuggets = self.found.nuggets if self.found else ()
        return NuggetBank(self.job.topic, self.job.question, nuggets)


def nugget_jobs(
    records: Sequence[Record], origin: Origin, tools: Toolbox, *, n_window: int, n_most: int
) -> list[NuggetJob]:
    """Return one job a topic, in the order of the records; a record without a topic is its own.

    Args:
        records: The answers of all systems.
        origin: "documents" uses their sources and the corpus documents that they cite.
        tools: Has the corpus.
        n_window: Sources read at a time.
        n_most: The most nuggets of a list.
    """
    topics: dict[str, list[Record]] = {}
    for record in records:
        topics.setdefault(record.topic or record.id, []).append(record)
    jobs: list[NuggetJob] = []
    for topic, group in topics.items():
        sources: dict[str, Document] = {}
        for record in group:
            for source in _sources(record, origin, tools):
                sources.setdefault(source.id if origin == "documents" else source.text, source)
        question = group[0].question
        jobs.append(NuggetJob(topic, question, tuple(sources.values()), n_window, n_most))
    return jobs


def _sources(record: Record, origin: Origin, tools: Toolbox) -> Sequence[Document]:
    if origin == "reference":
        text = record.reference or ""
    else:
        _, sentences, sources = segment(record, tools.retrieval.corpus.get)
        text = " ".join(sentence.text for sentence in sentences)
        if origin == "documents":
            return sources
    return [Document(id=record.id, text=text)] if text.strip() else []


async def write_nuggets(
    jobs: Sequence[NuggetJob],
    tools: Toolbox,
    out: Path,
    edit: Editor | None = None,
    *,
    review: Reviewer | None = None,
    tell: Callable[[str], None] = lambda message: None,
    listen: Listener = lambda event: None,
) -> list[Written]:
    """Write the nuggets of all questions, then let a person edit the lists one by one.

    States are kept next to `out`: a killed run continues, and an accepted list is not shown again.

    Args:
        jobs: Topics differ.
        tools: The graph's toolbox.
        out: The file of lists, as the nuggetizer's `create` writes it.
        edit: Shows a list; None accepts all.
        review: Shows all lists together, in place of `edit`.
        tell: Receives the reason why an edit cannot be used.
        listen: Receives progress events.

    Raises:
        FatalModelError: The model is unavailable.
        InputError: The file cannot be written, or another process is writing it.
        SettingsError: There is no judge to write them.
    """
    _ = tools.jury.judge  # refuses at once, not topic by topic
    async with opened_states(out) as saver:
        graph = build_nugget_graph(tools.settings.max_attempts, saver)
        writer = _Writer(graph, saver, tools, listen)
        try:
            with bounded_job(out, tools.limiter), ungrouped(FatalModelError, StorageError):
                async with asyncio.TaskGroup() as group:
                    started = [group.create_task(writer.start(job)) for job in jobs]
        except FatalModelError:
            await writer.forget_unfinished(jobs)
            raise
        written = [task.result() for task in started]
        waiting = [one[1] for one in written if not isinstance(one, Written)]
        choose = _chooser(edit, tell)
        if review is not None and waiting:
            topics = [asked.topic for asked in waiting]
            choose = _reviewed(dict(zip(topics, await review(waiting), strict=True)))
        done = [
            one if isinstance(one, Written) else await writer.resume(*one, choose)
            for one in written
        ]
    write_nugget_banks([one.bank for one in done if one.found is not None], out)
    return done


class _Writer:
    """Runs jobs through the graph; any number may be in progress."""

    def __init__(self, graph: NuggetGraph, saver: Saver, tools: Toolbox, listen: Listener) -> None:
        self._graph, self._saver, self._tools, self._listen = graph, saver, tools, listen
        self._slots = asyncio.Semaphore(max(2, tools.settings.n_slots // 4))
        self._failed: dict[str, Usage] = {}

    async def start(self, job: NuggetJob) -> Written | tuple[NuggetJob, EditRequest]:
        """Continue a job to its end, or to where it waits for a person."""
        async with self._slots:
            config = self._config(job)
            before = await self._graph.aget_state(config)
            outcome: Written | tuple[NuggetJob, EditRequest]
            try:
                if not _is_settled(before):
                    start = None if before.next else job
                    self._failed[self._thread(job)] = await self._run(start, config)
                outcome = await self._outcome(job)
            except FatalModelError:
                raise
            except RagassayError as error:
                outcome = Written(job, problem=str(error))
            self._listen(Event(n_records=1))
            return outcome

    async def resume(
        self, job: NuggetJob, asked: EditRequest, choose: Callable[[EditRequest], Rows]
    ) -> Written:
        """Go on with a list as a person left it."""
        await self._run(Command(resume=choose(asked)), self._config(job))
        outcome = await self._outcome(job)
        return outcome if isinstance(outcome, Written) else Written(job, problem="not accepted")

    async def forget_unfinished(self, jobs: Sequence[NuggetJob]) -> None:
        """Drop the states of unfinished jobs."""
        for job in jobs:
            config = self._config(job)
            if not _is_settled(await self._graph.aget_state(config)):
                await self._saver.adelete_thread(self._thread(job))

    async def _run(self, start: Any, config: RunnableConfig) -> Usage:
        return (await follow_graph(self._graph, start, self._tools, self._listen, config))[1]

    async def _outcome(self, job: NuggetJob) -> Written | tuple[NuggetJob, EditRequest]:
        state = await self._graph.aget_state(self._config(job))
        if state.interrupts:
            return job, edit_request(state.interrupts[0].value)
        names = ("nuggets", "left_out", "failures", "usage")
        found = NuggetList(**{name: state.values[name] for name in names})
        failed = self._failed.get(self._thread(job), Usage())
        return Written(job, replace(found, usage=found.usage + failed))

    def _config(self, job: NuggetJob) -> RunnableConfig:
        return {
            "configurable": {"thread_id": self._thread(job)},
        }

    def _thread(self, job: NuggetJob) -> str:
        """Return a hash of everything that the nuggets of a job depend on."""
        parts: list[object] = [self._tools.identity, asdict(replace(job, sources=()))]
        parts += [source.model_dump(mode="json") for source in job.sources]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _chooser(edit: Editor | None, tell: Callable[[str], None]) -> Callable[[EditRequest], Rows]:
    """Return what lets a person edit a list, or accepts it unchanged."""

    def choose(asked: EditRequest) -> Rows:
        if edit is not None:
            return edited_rows(asked, edit, tell)
        return [{"text": text, "importance": mark} for mark, text in asked.nuggets]

    return choose


def _reviewed(lists: Mapping[str, Rows]) -> Callable[[EditRequest], Rows]:
    return lambda asked: lists[asked.topic]


def _is_settled(state: StateSnapshot) -> bool:
    """Return whether a job has ended or waits for a person."""
    return bool(state.interrupts) or ("nuggets" in state.values and not state.next)


def edited_rows(asked: EditRequest, edit: Editor, tell: Callable[[str], None]) -> Rows:
    """Return a person's edit of a list; the editor opens again where it cannot be used."""
    return until_read(as_text(asked), from_text, edit, tell)
