"""One model writes syntheses: the jobs, their states, what is kept and what is tried again."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig

from ragassay.agents.context import source_lines
from ragassay.errors import FatalModelError, RagassayError, StorageError
from ragassay.evaluators.toolbox import Toolbox, hash_of
from ragassay.graphs.persistence import Saver, opened_checkpointer
from ragassay.graphs.synthesis import SynthesisGraph, build_synthesis_graph
from ragassay.graphs.synthesis_state import WORDS, SynthesisJob
from ragassay.models.tuned import note_of
from ragassay.prompts import load_prompts
from ragassay.records import Record, Usage
from ragassay.runs.engine import Event, Listener, first_error
from ragassay.settings import Settings

WRITING_FIELDS = ("model", "max_reply_tokens", "source_chars", "local_dtype")
"""The settings that a synthesis depends on."""


@dataclass(frozen=True)
class Writing:
    """The settings of writing that are no model's.

    Attributes:
        words: About how many words one has.
        max_tokens: Tokens of a model after which it begins none; 0 for no bound. Calls under way
            are ended.
        retry_failed: Whether what failed before is tried again.
    """

    words: int = WORDS
    max_tokens: int = 0
    retry_failed: bool = False


@dataclass(frozen=True)
class Synthesis:
    """One model's synthesis of one question.

    Attributes:
        question: The question with its papers, a record without an answer.
        generator: The model's LiteLLM name.
        text: The synthesis; empty where there is none.
        problem: Why there is none.
        usage: The cost of its calls, whenever they were made; nothing where another question of the
            same words and papers has it.
    """

    question: Record
    generator: str
    text: str = ""
    problem: str = ""
    usage: Usage = field(default_factory=Usage)

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


async def write_syntheses(
    questions: Sequence[Record],
    settings: Settings,
    states: Path,
    how: Writing,
    listen: Listener = lambda event: None,
) -> list[Synthesis]:
    """Let one model write the syntheses of all questions.

    Args:
        questions: Records without an answer, with distinct ids, each with its papers.
        settings: Of one writer, from `writers_of`.
        states: The file of finished and stopped work, which is not repeated. Several models may
            share it.
        how: How they are written.
        listen: Receives progress events.

    Returns:
        One a question, in order; those that failed or were not begun have a problem and no text.

    Raises:
        FatalModelError: The model is unavailable; finished work is kept.
        StorageError: The disk is full, or the file is damaged; finished work is kept.
    """
    tools = Toolbox.of(settings)
    async with opened_checkpointer(states) as saver:
        graph = build_synthesis_graph(settings.max_attempts, saver)
        writer = _Writer(graph, saver, tools, how, listen)
        try:
            async with asyncio.TaskGroup() as group:
                started = [group.create_task(writer.write(one)) for one in questions]
        except* (FatalModelError, StorageError) as errors:
            raise first_error(errors) from None
    return [task.result() for task in started]


class _Writer:
    """Runs jobs through the graph; any number may be in progress."""

    def __init__(
        self, graph: SynthesisGraph, saver: Saver, tools: Toolbox, how: Writing, listen: Listener
    ) -> None:
        self._graph, self._saver, self._tools, self._how = graph, saver, tools, how
        self._listen, self._usage = listen, Usage()
        self._slots = asyncio.Semaphore(tools.settings.n_slots)
        self._same: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._done: set[str] = set()
        self._identity = _identity(tools)

    async def write(self, question: Record) -> Synthesis:
        """Bring a question to its end; one with the words and papers of another waits for it."""
        job = SynthesisJob(question.id, question.question, question.sources, self._how.words)
        thread = self._thread(job)
        found = Synthesis(question, self._tools.settings.model)
        async with self._same[thread], self._slots:
            try:
                found = await self._written(found, job, thread)
            except (FatalModelError, StorageError):
                raise
            except RagassayError as error:
                return replace(found, problem=str(error))
            finally:
                self._listen(Event(n_records=1))
            is_new = thread not in self._done
            self._done.add(thread)
        return found if is_new else replace(found, usage=Usage())

    async def _written(self, found: Synthesis, job: SynthesisJob, thread: str) -> Synthesis:
        config: RunnableConfig = {"configurable": {"thread_id": thread}}
        before = await self._graph.aget_state(config)
        retries = self._how.retry_failed and thread not in self._done
        if retries and _has_failed(before.values):
            await self._saver.adelete_thread(thread)
            before = await self._graph.aget_state(config)
        if not before.values.get("text") and not _has_failed(before.values):
            most = self._how.max_tokens
            if most and self._n_tokens >= most:
                return replace(found, problem=f"not begun: {most} tokens used")
            await self._run(None if before.next else job, config)
        values = (await self._graph.aget_state(config)).values
        problems = [f"{one.reason}: {one.detail}" for one in values.get("failures", ())]
        text = values.get("text", "")
        problem = "" if text else "; ".join(problems) or "no synthesis"
        return replace(found, text=text, problem=problem, usage=values.get("usage", Usage()))

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
        """Return a hash of everything that a synthesis depends on: not of its question's id."""
        return hash_of(self._identity, job.question, str(job.words), source_lines(job.sources))


def _has_failed(values: dict[str, Any]) -> bool:
    return bool(values.get("failures")) and not values.get("text")


def _identity(tools: Toolbox) -> str:
    """Return a hash of who writes, and of what the prompt says besides question and papers."""
    predict: Any = tools.agents.synthesizer.predict
    note = note_of(tools.settings.model)
    return hash_of(
        *(str(getattr(tools.settings, name)) for name in WRITING_FIELDS),
        note.weights_sha256 if note else "",
        load_prompts().context.model_dump_json(),
        predict.signature.instructions,
        json.dumps([dict(demo) for demo in predict.demos], default=str),
    )
