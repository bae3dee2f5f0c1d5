"""One model writes syntheses: what is written already, what is left, what is tried again."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from ragassay.agents.context import source_lines
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
from ragassay.models.tuned import metadata_of
from ragassay.prompts import load_prompts
from ragassay.records import Record, Usage
from ragassay.runs.progress import Event, Listener
from ragassay.runs.resume import follow_graph
from ragassay.settings import Settings, result_values
from ragassay.store import hash_of, opened_store

if TYPE_CHECKING:
    from ragassay.runs.distributed.hub import Outbox


WRITING_FIELDS = ("model", "max_reply_tokens", "source_chars", "local_dtype")
"""The settings that a synthesis depends on."""

SYNTHESIS = TypeAdapter(SynthesisText)
"""The kind of finished work: syntheses, failed ones too."""


@dataclass(frozen=True)
class Writing:
    """The settings of writing that are no model's.

    A model begins no synthesis after `max_tokens` tokens, where that is not 0; it ends those that
    are under way.
    """

    words: int = WORDS
    max_tokens: int = 0
    retry_failed: bool = False


@dataclass(frozen=True)
class Synthesis:
    """One model's synthesis of one question; without a text, there is a problem.

    `usage` is the cost of its calls, whenever they were made; nothing where another question of the
    same words and papers has it.
    """

    question: Record
    generator: str
    text: str = ""
    problem: str = ""
    usage: Usage = field(default_factory=Usage)

    @classmethod
    def of(cls, question: Record, generator: str, found: SynthesisText) -> Synthesis:
        """Return what a model's calls for a question came to."""
        problems = [f"{one.reason}: {one.detail}" for one in found.failures]
        problem = "" if found.text else "; ".join(problems) or "no synthesis"
        return cls(question, generator, found.text, problem, found.usage)

    @property
    def record_id(self) -> str:
        """The question's id."""
        return self.question.id

    @property
    def record(self) -> Record:
        """The synthesis as an answer to evaluate."""
        given: dict[str, object] = {
            "id": f"{self.question.id}/{self.generator}",
            "answer": self.text,
            "system": self.generator,
            "topic": self.question.id,
        }
        return self.question.model_copy(update=given)


async def write_here(
    questions: Sequence[Record],
    tools: Run,
    how: Writing,
    keep: Callable[[Synthesis], None],
    listen: Listener,
    limiter: Limiter | None = None,
) -> None:
    """Have one model write the syntheses of questions in this process.

    The tools' store has finished syntheses; `keep` receives each; the limiter is the run's by
    default.

    Raises:
        FatalModelError: The model is unavailable, or the money is spent.
        StorageError: What is finished cannot be stored.
    """
    bounds = limiter or tools.limiter
    writer = _SynthesisJobs(tools, how, keep, listen, bounds)
    with limit_calls(bounds), raise_ungrouped(FatalModelError, StorageError):
        async with asyncio.TaskGroup() as group:
            for question in questions:
                group.create_task(writer.write(question))


class _SynthesisJobs:
    """Runs jobs through the graph; any number may be in progress."""

    def __init__(
        self,
        tools: Run,
        how: Writing,
        keep: Callable[[Synthesis], None],
        listen: Listener,
        limiter: Limiter,
    ) -> None:
        self._graph: SynthesisGraph = build_synthesis_graph(tools.settings.judge.max_attempts)
        self._tools, self._how, self._limiter = tools, how, limiter
        self._keep, self._listen = keep, listen
        self._slots = asyncio.Semaphore(tools.settings.n_slots)
        self._same: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._done: set[str] = set()
        self._identity = identity_of(tools)

    async def write(self, question: Record) -> None:
        """Bring a question to its end; one with the words and papers of another waits for it."""
        how = self._how
        job = SynthesisJob(question.id, question.question, question.sources, how.words)
        key = key_of(self._identity, question, how)
        async with self._same[key], self._slots:
            try:
                self._keep(await self._write_synthesis(question, job, key))
            except (FatalModelError, StorageError):
                raise
            except RagassayError as error:
                self._keep(
                    Synthesis(question, self._tools.settings.judge.model, problem=str(error))
                )
            finally:
                self._listen(Event(n_records=1))

    async def _write_synthesis(self, question: Record, job: SynthesisJob, key: str) -> Synthesis:
        model, most = self._tools.settings.judge.model, self._how.max_tokens
        found = await self._tools.store.get(key, SYNTHESIS)
        if found and not found.text and self._how.retry_failed and key not in self._done:
            found = None
        if found is None:
            if most and await self._limiter.n_tokens() >= most:
                return Synthesis(question, model, problem=f"not begun: {most} tokens used")
            found = await self._run(job)
            self._tools.store.keep(key, found, SYNTHESIS)
            self._done.add(key)
        return Synthesis.of(question, model, found)

    async def _run(self, job: SynthesisJob) -> SynthesisText:
        self._listen(Event(n_expected=1))
        values, failed = await follow_graph(self._graph, job, self._tools, self._listen)
        return SynthesisText(values["text"], values["failures"], values["usage"] + failed)


def key_of(identity: str, question: Record, how: Writing) -> str:
    """Return where a synthesis is kept: by all that it depends on, not by its question's id."""
    sources = source_lines(question.sources)
    return hash_of("synthesis", identity, question.question, str(how.words), sources)


def identity_of(tools: Run) -> str:
    """Return a hash of who writes, and of what the prompt says besides question and papers."""
    predict: Any = tools.agents.synthesizer.predict
    note, results = metadata_of(tools.settings.judge.model), result_values(tools.settings)
    return hash_of(
        *(str(results[name]) for name in WRITING_FIELDS),
        note.weights_sha256 if note else "",
        load_prompts().context.model_dump_json(),
        predict.signature.instructions,
        json.dumps([dict(demo) for demo in predict.demos], default=str),
    )


@dataclass(frozen=True)
class SynthesisWriting:
    """The work of a cluster's workers on one model's syntheses; see `WorkKind`."""

    model: str
    how: Writing

    def identity(self, tools: Run) -> str:
        """Return the writer's."""
        return identity_of(tools)

    async def work(
        self, records: Sequence[Record], tools: Run, outbox: Outbox, limiter: Limiter
    ) -> None:
        """Have the syntheses written, as a local run does."""
        await write_here(records, tools, self.how, outbox.keep, outbox.listen, limiter)

    def fail_record(self, record: Record, detail: str) -> Synthesis:
        """Return a synthesis without a text; the next start tries it again."""
        return Synthesis(record, self.model, problem=detail)


class ModelSyntheses:
    """One model's syntheses of all questions: those of earlier starts, and those to come.

    Several models may share the file of finished work, which is not repeated. The limiter of the
    tools counts what was spent.

    Raises:
        StorageError: The file is damaged.
    """

    def __init__(
        self, questions: Sequence[Record], settings: Settings, states: Path, how: Writing
    ) -> None:
        self.tools = build_run(settings)
        self._questions, self._states, self._how = questions, states, how
        identity = identity_of(self.tools)
        self._keys = {one.id: key_of(identity, one, how) for one in questions}
        with opened_store(states) as store:
            rows = store.rows(list(dict.fromkeys(self._keys.values())))
            kept = {key: store.read(row, SYNTHESIS) for key, row in rows}
        if how.retry_failed:
            kept = {key: found for key, found in kept.items() if found.text}
        self._found = {
            one.id: Synthesis.of(one, settings.judge.model, kept[self._keys[one.id]])
            for one in questions
            if self._keys[one.id] in kept
        }

    @property
    def n_questions(self) -> int:
        """The number of questions."""
        return len(self._questions)

    @property
    def left(self) -> list[Record]:
        """The questions that are still to be asked."""
        return [one for one in self._questions if one.id not in self._found]

    @property
    def syntheses(self) -> list[Synthesis]:
        """Those that there are, in the questions' order; calls count once."""
        paid: set[str] = set()
        shown: list[Synthesis] = []
        for found in (self._found[one.id] for one in self._questions if one.id in self._found):
            key = self._keys[found.record_id]
            shown.append(replace(found, usage=Usage()) if key in paid else found)
            paid.add(key)
        return shown

    async def write(self, listen: Listener = lambda event: None) -> None:
        """Have those that are left written, here or in a cluster, as the settings say.

        Those that failed or were not begun have a problem and no text.

        Raises:
            FatalModelError: The model is unavailable, or the money is spent; finished work is kept.
            StorageError: The disk is full; finished work is kept.
        """
        left = self.left
        listen(Event(n_records=len(self._questions) - len(left)))
        if self.tools.settings.limits.engine == "ray":
            from ragassay.runs.distributed.driver import work_in_cluster

            kind = SynthesisWriting(self.tools.settings.judge.model, self._how)
            await work_in_cluster(left, self.tools, kind, self._states, self._keep, listen)
            return
        with opened_store(self._states) as store:
            tools = replace(self.tools, store=store)
            await write_here(left, tools, self._how, self._keep, listen)

    def _keep(self, found: Synthesis) -> None:
        self._found[found.record_id] = found
