"""Let a model write gold nuggets for a file of questions, and let people review them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from ragassay.errors import FatalModelError, InputError, RagassayError, StorageError
from ragassay.evaluators.base import Run
from ragassay.formats import NuggetBank, write_nugget_banks
from ragassay.graphs.nugget_state import NuggetJob, NuggetList
from ragassay.graphs.nuggets import NuggetGraph, apply_review, build_nugget_graph
from ragassay.records import Document, Record
from ragassay.runs.journal import EditRequest, as_text, from_text, read_with_repairs
from ragassay.runs.progress import Event, Listener
from ragassay.runs.resume import follow_graph, lock_for_writing, run_limited_tasks
from ragassay.store import hash_parts, open_store
from ragassay.text.segmenter import segment

Origin = Literal["documents", "answer", "reference"]
"""Texts from which nuggets are created."""

Editor = Callable[[str], str]
"""Function that lets a user edit a text and returns the edited text."""

Rows = list[dict[str, str | None]]
"""Text and importance of each nugget in a list."""

Reviewer = Callable[[Sequence[EditRequest]], Awaitable[Sequence[Rows]]]
"""Function that lets reviewers edit all lists together and returns the edited lists."""

JOB = TypeAdapter(NuggetJob)
ACCEPTED = TypeAdapter(NuggetList)


@dataclass(frozen=True)
class Written:
    """The nuggets for one question, or the reason why there are none.

    `waits` is True if the nuggets still need a review.
    """

    job: NuggetJob
    found: NuggetList | None = None
    problem: str = ""
    waits: bool = False

    @property
    def bank(self) -> NuggetBank:
        """The nuggets as they are written to the output file."""
        nuggets = self.found.nuggets if self.found else ()
        return NuggetBank(self.job.topic, self.job.question, nuggets)

    @property
    def asked(self) -> EditRequest:
        """Request to a user to edit the list."""
        nuggets, left_out = (self.found.nuggets, self.found.left_out) if self.found else ((), ())
        return EditRequest(
            self.job.topic,
            self.job.question,
            tuple((nugget.importance, nugget.text) for nugget in nuggets),
            tuple((fact.reason, fact.text) for fact in left_out),
        )


def build_nugget_jobs(
    records: Sequence[Record], origin: Origin, run: Run, *, n_window: int, n_most: int
) -> list[NuggetJob]:
    """Return the jobs of writing nuggets, one per topic.

    A record without a topic counts as a separate topic.

    Args:
        records: Answers of all systems.
        origin: Texts from which nuggets are created. "documents" uses the answers' sources and the
            corpus documents that they cite.
        n_window: Number of sources that the model reads at a time.
        n_most: Maximum number of nuggets per list.
    """
    topics: dict[str, list[Record]] = {}
    for record in records:
        topics.setdefault(record.topic or record.id, []).append(record)
    jobs: list[NuggetJob] = []
    for topic, group in topics.items():
        sources: dict[str, Document] = {}
        for record in group:
            for source in _collect_sources(record, origin, run):
                sources.setdefault(source.id if origin == "documents" else source.text, source)
        question = group[0].question
        jobs.append(NuggetJob(topic, question, tuple(sources.values()), n_window, n_most))
    return jobs


def _collect_sources(record: Record, origin: Origin, run: Run) -> Sequence[Document]:
    if origin == "reference":
        text = record.reference or ""
    else:
        _, sentences, sources = segment(record, run.retrieval.corpus.get)
        text = " ".join(sentence.text for sentence in sentences)
        if origin == "documents":
            return sources
    return [Document(id=record.id, text=text)] if text.strip() else []


async def write_nuggets(
    jobs: Sequence[NuggetJob],
    run: Run,
    out: Path,
    edit: Editor | None = None,
    *,
    review: Reviewer | None = None,
    tell: Callable[[str], None] = lambda message: None,
    listen: Listener = lambda event: None,
) -> list[Written]:
    """Write the nuggets of all questions, then let a user edit the lists.

    Finished work is stored next to `out`, so an interrupted run can be resumed and accepted lists
    are not shown again.

    Args:
        jobs: Jobs with distinct topics.
        out: Output file, in the format of the nuggetizer's `create`.
        edit: Function to edit a single list. If None, all lists are accepted without editing.
        review: Function to edit all lists together, used instead of `edit`.
        tell: Function to call with the reason why an edit is invalid.

    Raises:
        FatalModelError: The model is unavailable.
        InputError: The file cannot be written, or another process is writing it.
        SettingsError: There is no judge to write nuggets.
    """
    _ = run.judge.model  # raises without a judge
    with lock_for_writing(out) as states, open_store(states) as store:
        writer = _NuggetJobs(replace(run, store=store), listen)
        written = await run_limited_tasks(out, run.limiter, map(writer.write, jobs))
        requests = [result.asked for result in written if result.waits]
        reviewed: dict[str, Rows] = {}
        if review is not None and requests:
            lists = await review(requests)
            reviewed = dict(zip([request.topic for request in requests], lists, strict=True))
        choose = _build_chooser(edit, tell, reviewed)
        done = [writer.accept(result, choose) if result.waits else result for result in written]
    write_nugget_banks([result.bank for result in done if result.found is not None], out)
    return done


class _NuggetJobs:
    def __init__(self, run: Run, listen: Listener) -> None:
        self._graph: NuggetGraph = build_nugget_graph(run.settings.judge.max_attempts)
        self._run, self._listen = run, listen
        self._slots = asyncio.Semaphore(max(2, run.settings.n_slots // 4))

    async def write(self, job: NuggetJob) -> Written:
        """Return the accepted list from the store, or write a new list."""
        async with self._slots:
            try:
                accepted = await self._run.store.get(self._hash_job(job), ACCEPTED)
                return Written(job, accepted) if accepted else await self._write_list(job)
            except (FatalModelError, StorageError):
                raise
            except RagassayError as error:
                return Written(job, problem=str(error))
            finally:
                self._listen(Event(n_records=1))

    async def _write_list(self, job: NuggetJob) -> Written:
        start = replace(job, accept_all=True)  # The review starts when all lists are written.
        values, failed = await follow_graph(self._graph, start, self._run, self._listen)
        nuggets = NuggetList(**values)
        return Written(job, replace(nuggets, usage=nuggets.usage + failed), waits=True)

    def accept(self, written: Written, choose: Callable[[EditRequest], Rows]) -> Written:
        """Let the user review a list, and store the accepted list."""
        assert written.found is not None
        try:
            nuggets = apply_review(choose(written.asked), written.found.nuggets)
        except InputError as error:
            return Written(written.job, problem=f"not accepted: {error}")
        accepted = replace(written.found, nuggets=nuggets)
        self._run.store.keep(self._hash_job(written.job), accepted, ACCEPTED)
        return Written(written.job, accepted)

    def _hash_job(self, job: NuggetJob) -> str:
        return hash_parts(self._run.identity, "nuggets", JOB.dump_json(job).decode())


def _build_chooser(
    edit: Editor | None, tell: Callable[[str], None], reviewed: Mapping[str, Rows]
) -> Callable[[EditRequest], Rows]:

    def choose(request: EditRequest) -> Rows:
        if request.topic in reviewed:
            return reviewed[request.topic]
        if edit is not None:
            return edit_rows(request, edit, tell)
        return [{"text": text, "importance": mark} for mark, text in request.nuggets]

    return choose


def edit_rows(asked: EditRequest, edit: Editor, tell: Callable[[str], None]) -> Rows:
    """Let the user edit a list, and return the edited list.

    The editor reopens until the edit is valid.
    """
    return read_with_repairs(as_text(asked), from_text, edit, tell)
