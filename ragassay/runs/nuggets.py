"""Write gold nuggets for a file's questions, and let a person edit them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from ragassay.errors import (
    FatalModelError,
    InputError,
    RagassayError,
    StorageError,
    raise_ungrouped,
)
from ragassay.evaluators.base import Run
from ragassay.formats import NuggetBank, write_nugget_banks
from ragassay.graphs.nugget_state import NuggetJob, NuggetList
from ragassay.graphs.nuggets import NuggetGraph, build_nugget_graph, reviewed_nuggets
from ragassay.records import Document, Record
from ragassay.runs.journal import EditRequest, as_text, from_text, until_read
from ragassay.runs.progress import Event, Listener
from ragassay.runs.resume import bounded_job, follow_graph, written_alone
from ragassay.store import hash_of, opened_store
from ragassay.text.segmenter import segment

Origin = Literal["documents", "answer", "reference"]
"""Source of the nuggets."""

Editor = Callable[[str], str]
"""Shows a text to a person and returns the edited text."""

Rows = list[dict[str, str | None]]
"""Text and importance of each nugget of a list."""

Reviewer = Callable[[Sequence[EditRequest]], Awaitable[Sequence[Rows]]]
"""Shows all lists that wait to people, and returns them as they left them."""

JOB = TypeAdapter(NuggetJob)
ACCEPTED = TypeAdapter(NuggetList)


@dataclass(frozen=True)
class Written:
    """The nuggets of one question, or why there are none; whether they wait for a person."""

    job: NuggetJob
    found: NuggetList | None = None
    problem: str = ""
    waits: bool = False

    @property
    def bank(self) -> NuggetBank:
        """The nuggets as stored in a file."""
        nuggets = self.found.nuggets if self.found else ()
        return NuggetBank(self.job.topic, self.job.question, nuggets)

    @property
    def asked(self) -> EditRequest:
        """The list as a person is shown it."""
        nuggets, left_out = (self.found.nuggets, self.found.left_out) if self.found else ((), ())
        return EditRequest(
            self.job.topic,
            self.job.question,
            tuple((nugget.importance, nugget.text) for nugget in nuggets),
            tuple((one.reason, one.text) for one in left_out),
        )


def nugget_jobs(
    records: Sequence[Record], origin: Origin, tools: Run, *, n_window: int, n_most: int
) -> list[NuggetJob]:
    """Return one job a topic, in the order of the records; a record without a topic is its own.

    Args:
        records: The answers of all systems.
        origin: "documents" uses their sources and the corpus documents that they cite.
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


def _sources(record: Record, origin: Origin, tools: Run) -> Sequence[Document]:
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
    tools: Run,
    out: Path,
    edit: Editor | None = None,
    *,
    review: Reviewer | None = None,
    tell: Callable[[str], None] = lambda message: None,
    listen: Listener = lambda event: None,
) -> list[Written]:
    """Write the nuggets of all questions, then let a person edit the lists one by one.

    Finished work is kept next to `out`: a killed run goes on, and no accepted list is shown again.

    Args:
        jobs: Topics differ.
        tools: The graph's context.
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
    _ = tools.judge.model  # refuses at once, not topic by topic
    with written_alone(out) as states, opened_store(states) as store:
        writer = _NuggetJobs(replace(tools, store=store), listen)
        with bounded_job(out, tools.limiter), raise_ungrouped(FatalModelError, StorageError):
            async with asyncio.TaskGroup() as group:
                started = [group.create_task(writer.write(job)) for job in jobs]
        written = [task.result() for task in started]
        waiting = [one for one in written if one.waits]
        choose = _chooser(edit, tell)
        if review is not None and waiting:
            asked = [one.asked for one in waiting]
            lists = await review(asked)
            choose = _choose_reviewed(dict(zip([one.topic for one in asked], lists, strict=True)))
        done = [writer.accept(one, choose) if one.waits else one for one in written]
    write_nugget_banks([one.bank for one in done if one.found is not None], out)
    return done


class _NuggetJobs:
    """Runs jobs through the graph; any number may be in progress."""

    def __init__(self, tools: Run, listen: Listener) -> None:
        self._graph: NuggetGraph = build_nugget_graph(tools.settings.judge.max_attempts)
        self._tools, self._listen = tools, listen
        self._slots = asyncio.Semaphore(max(2, tools.settings.n_slots // 4))

    async def write(self, job: NuggetJob) -> Written:
        """Write a list that a person has not accepted yet; return one that was accepted."""
        async with self._slots:
            try:
                found = await self._tools.store.get(self._key(job), ACCEPTED)
                return Written(job, found) if found else await self._write_list(job)
            except (FatalModelError, StorageError):
                raise
            except RagassayError as error:
                return Written(job, problem=str(error))
            finally:
                self._listen(Event(n_records=1))

    async def _write_list(self, job: NuggetJob) -> Written:
        start = replace(job, accept_all=True)  # The person is asked when all lists are written.
        values, failed = await follow_graph(self._graph, start, self._tools, self._listen)
        found = NuggetList(**values)
        return Written(job, replace(found, usage=found.usage + failed), waits=True)

    def accept(self, one: Written, choose: Callable[[EditRequest], Rows]) -> Written:
        """Keep a list as a person left it."""
        assert one.found is not None
        try:
            nuggets = reviewed_nuggets(choose(one.asked), one.found.nuggets)
        except InputError as error:
            return Written(one.job, problem=f"not accepted: {error}")
        found = replace(one.found, nuggets=nuggets)
        self._tools.store.keep(self._key(one.job), found, ACCEPTED)
        return Written(one.job, found)

    def _key(self, job: NuggetJob) -> str:
        return hash_of(self._tools.identity, "nuggets", JOB.dump_json(job).decode())


def _chooser(edit: Editor | None, tell: Callable[[str], None]) -> Callable[[EditRequest], Rows]:
    """Return what lets a person edit a list, or accepts it unchanged."""

    def choose(asked: EditRequest) -> Rows:
        if edit is not None:
            return edited_rows(asked, edit, tell)
        return [{"text": text, "importance": mark} for mark, text in asked.nuggets]

    return choose


def _choose_reviewed(lists: Mapping[str, Rows]) -> Callable[[EditRequest], Rows]:
    return lambda asked: lists[asked.topic]


def edited_rows(asked: EditRequest, edit: Editor, tell: Callable[[str], None]) -> Rows:
    """Return a person's edit of a list; the editor opens again where it cannot be used."""
    return until_read(as_text(asked), from_text, edit, tell)
