"""Generate syntheses with one model, and resume interrupted work."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from ragassay.agents.context import render_sources
from ragassay.errors import FatalModelError, RagassayError, StorageError, raise_ungrouped
from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.graphs.writing import (
    WORDS,
    SynthesisGraph,
    SynthesisJob,
    SynthesisText,
    build_synthesis_graph,
)
from ragassay.models.limiter import Limiter, limit_calls
from ragassay.models.tuned import find_tuned_note
from ragassay.prompts import load_prompts
from ragassay.records import Record, Usage
from ragassay.runs.progress import Event, Listener
from ragassay.runs.resume import follow_graph
from ragassay.settings import Settings, collect_result_values
from ragassay.store import hash_parts, open_store

if TYPE_CHECKING:
    from ragassay.runs.distributed.worker import Outbox


WRITING_FIELDS = ("model", "max_reply_tokens", "source_chars", "local_dtype")
"""Names of the settings on which a synthesis depends."""

SYNTHESIS = TypeAdapter(SynthesisText)
"""Type adapter for stored syntheses, including failed ones."""


@dataclass(frozen=True)
class Writing:
    """Settings that apply to all models that write syntheses.

    Attributes:
        max_tokens: Number of tokens after which a model starts no more syntheses (0 for no limit).
    """

    words: int = WORDS
    max_tokens: int = 0
    retry_failed: bool = False


@dataclass(frozen=True)
class Synthesis:
    """Synthesis by one model for one question.

    Attributes:
        usage: Usage of all calls. Identical questions share their calls, and only the first of
            these questions includes the usage.
    """

    question: Record
    generator: str
    text: str = ""
    problem: str = ""
    usage: Usage = field(default_factory=Usage)

    @classmethod
    def from_text(cls, question: Record, generator: str, found: SynthesisText) -> Synthesis:
        """Create a synthesis from the result of the synthesis graph."""
        problems = [f"{one.reason}: {one.detail}" for one in found.failures]
        problem = "" if found.text else "; ".join(problems) or "no synthesis"
        return cls(question, generator, found.text, problem, found.usage)

    @property
    def record_id(self) -> str:
        """Id of the question."""
        return self.question.id

    @property
    def record(self) -> Record:
        """Record in which the synthesis is the answer to evaluate."""
        update: dict[str, object] = {
            "id": f"{self.question.id}/{self.generator}",
            "answer": self.text,
            "system": self.generator,
            "topic": self.question.id,
        }
        return self.question.model_copy(update=update)


async def write_here(
    questions: Sequence[Record],
    run: Run,
    how: Writing,
    keep: Callable[[Synthesis], None],
    listen: Listener,
    limiter: Limiter | None = None,
) -> None:
    """Generate syntheses with one model in this process.

    Raises:
        FatalModelError: If the model is unavailable or the cost limit is reached.
        StorageError: If a synthesis cannot be stored.
    """
    bounds = limiter or run.limiter
    writer = _SynthesisJobs(run, how, keep, listen, bounds)
    with limit_calls(bounds), raise_ungrouped(FatalModelError, StorageError):
        async with asyncio.TaskGroup() as group:
            for question in questions:
                group.create_task(writer.write(question))


class _SynthesisJobs:
    def __init__(
        self,
        run: Run,
        how: Writing,
        keep: Callable[[Synthesis], None],
        listen: Listener,
        limiter: Limiter,
    ) -> None:
        self._graph: SynthesisGraph = build_synthesis_graph(run.settings.judge.max_attempts)
        self._run, self._how, self._limiter = run, how, limiter
        self._keep, self._listen = keep, listen
        self._slots = asyncio.Semaphore(run.settings.n_slots)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._done: set[str] = set()
        self._identity = hash_writer(run)

    async def write(self, question: Record) -> None:
        """Write the synthesis for a question.

        Identical questions are not processed concurrently.
        """
        how = self._how
        job = SynthesisJob(question.id, question.question, question.sources, how.words)
        key = compute_synthesis_key(self._identity, question, how)
        async with self._locks[key], self._slots:
            try:
                self._keep(await self._write_synthesis(question, job, key))
            except (FatalModelError, StorageError):
                raise
            except RagassayError as error:
                self._keep(Synthesis(question, self._run.settings.judge.model, problem=str(error)))
            finally:
                self._listen(Event(n_records=1))

    async def _write_synthesis(self, question: Record, job: SynthesisJob, key: str) -> Synthesis:
        model, max_tokens = self._run.settings.judge.model, self._how.max_tokens
        result = await self._run.store.get(key, SYNTHESIS)
        if result and not result.text and self._how.retry_failed and key not in self._done:
            result = None
        if result is None:
            if max_tokens and await self._limiter.count_spent_tokens() >= max_tokens:
                problem = f"not started, because the limit of {max_tokens} tokens was reached"
                return Synthesis(question, model, problem=problem)
            result = await self._run_graph(job)
            self._run.store.keep(key, result, SYNTHESIS)
            self._done.add(key)
        return Synthesis.from_text(question, model, result)

    async def _run_graph(self, job: SynthesisJob) -> SynthesisText:
        self._listen(Event(n_expected=1))
        values, failed = await follow_graph(self._graph, job, self._run, self._listen)
        return SynthesisText(values["text"], values["failures"], values["usage"] + failed)


def compute_synthesis_key(identity: str, question: Record, how: Writing) -> str:
    """Return the key of a stored synthesis, which does not depend on the id of the question."""
    sources = render_sources(question.sources)
    return hash_parts("synthesis", identity, question.question, str(how.words), sources)


def hash_writer(run: Run) -> str:
    """Return a hash of the model and of the prompt, except the question and its papers."""
    predict: Any = run.agents.synthesizer.predict
    note, results = find_tuned_note(run.settings.judge.model), collect_result_values(run.settings)
    return hash_parts(
        *(str(results[name]) for name in WRITING_FIELDS),
        note.weights_sha256 if note else "",
        load_prompts().context.model_dump_json(),
        predict.signature.instructions,
        json.dumps([dict(demo) for demo in predict.demos], default=str),
    )


@dataclass(frozen=True)
class SynthesisWriting:
    """`WorkKind` for generating the syntheses of one model in a cluster."""

    model: str
    how: Writing

    def compute_identity(self, run: Run) -> str:
        """Return a hash of the model and the prompt."""
        return hash_writer(run)

    async def work_on_records(
        self, records: Sequence[Record], run: Run, outbox: Outbox, limiter: Limiter
    ) -> None:
        """Write the syntheses for a worker's share of the questions."""
        await write_here(records, run, self.how, outbox.keep, outbox.listen, limiter)

    def fail_record(self, record: Record, detail: str) -> Synthesis:
        """Return a failed synthesis for a question, which the next run retries."""
        return Synthesis(record, self.model, problem=detail)


class ModelSyntheses:
    """Syntheses by one model for all questions, including syntheses from earlier runs.

    Several models can share the file `states`, in which finished work is stored.

    Raises:
        StorageError: If the file is damaged.
    """

    def __init__(
        self, questions: Sequence[Record], settings: Settings, states: Path, how: Writing
    ) -> None:
        self.run = build_run(settings)
        self._questions, self._states, self._how = questions, states, how
        identity = hash_writer(self.run)
        self._keys = {one.id: compute_synthesis_key(identity, one, how) for one in questions}
        with open_store(states) as store:
            rows = store.read_rows(list(dict.fromkeys(self._keys.values())))
            stored = {key: store.read(row, SYNTHESIS) for key, row in rows}
        if how.retry_failed:
            stored = {key: result for key, result in stored.items() if result.text}
        self._finished = {
            one.id: Synthesis.from_text(one, settings.judge.model, stored[self._keys[one.id]])
            for one in questions
            if self._keys[one.id] in stored
        }

    @property
    def n_questions(self) -> int:
        """Number of questions."""
        return len(self._questions)

    @property
    def left(self) -> list[Record]:
        """Questions whose synthesis is not finished."""
        return [one for one in self._questions if one.id not in self._finished]

    @property
    def syntheses(self) -> list[Synthesis]:
        """Finished syntheses in the order of the questions. Shared usage is counted once."""
        counted: set[str] = set()
        syntheses: list[Synthesis] = []
        for question in self._questions:
            if synthesis := self._finished.get(question.id):
                key = self._keys[question.id]
                syntheses.append(replace(synthesis, usage=Usage()) if key in counted else synthesis)
                counted.add(key)
        return syntheses

    async def write(self, listen: Listener = lambda event: None) -> None:
        """Generate the syntheses that are not finished, in this process or in a cluster.

        Finished work remains stored after an error.

        Raises:
            FatalModelError: If the model is unavailable or the cost limit is reached.
            StorageError: If the disk is full.
        """
        left = self.left
        listen(Event(n_records=len(self._questions) - len(left)))
        if self.run.settings.limits.engine == "ray":
            from ragassay.runs.distributed.driver import work_in_cluster

            kind = SynthesisWriting(self.run.settings.judge.model, self._how)
            await work_in_cluster(left, self.run, kind, self._states, self._keep, listen)
            return
        with open_store(self._states) as store:
            run = replace(self.run, store=store)
            await write_here(left, run, self._how, self._keep, listen)

    def _keep(self, synthesis: Synthesis) -> None:
        self._finished[synthesis.record_id] = synthesis
