"""One model writes syntheses: what is written already, what is left, what is tried again."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from ragassay.agents.context import source_lines
from ragassay.errors import FatalModelError, RagassayError, StorageError, ungrouped
from ragassay.evaluators.base import Run
from ragassay.graphs.synthesis import (
    WORDS,
    SynthesisGraph,
    SynthesisJob,
    SynthesisText,
    build_synthesis_graph,
)
from ragassay.models.limiter import Limiter, limited
from ragassay.models.tuned import note_of
from ragassay.prompts import load_prompts
from ragassay.records import Record, Usage
from ragassay.runs.events import Event, Listener
from ragassay.runs.following import follow_graph
from ragassay.settings import result_values
from ragassay.store import hash_of

WRITING_FIELDS = ("model", "max_reply_tokens", "source_chars", "local_dtype")
"""The settings that a synthesis depends on."""

SYNTHESIS = TypeAdapter(SynthesisText)
"""The kind of finished work: syntheses, failed ones too."""


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

    Args:
        questions: Records without an answer, with distinct ids, each with its papers.
        tools: Those of the model; their store has finished syntheses.
        how: How they are written.
        keep: Receives each synthesis.
        listen: Receives progress events.
        limiter: Bounds the model's calls; by default the run's.

    Raises:
        FatalModelError: The model is unavailable, or the money is spent.
        StorageError: What is finished cannot be stored.
    """
    bounds = limiter or tools.limiter
    writer = _Writer(tools, how, keep, listen, bounds)
    with limited(bounds), ungrouped(FatalModelError, StorageError):
        async with asyncio.TaskGroup() as group:
            for question in questions:
                group.create_task(writer.write(question))


class _Writer:
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
                self._keep(await self._written(question, job, key))
            except (FatalModelError, StorageError):
                raise
            except RagassayError as error:
                self._keep(
                    Synthesis(question, self._tools.settings.judge.model, problem=str(error))
                )
            finally:
                self._listen(Event(n_records=1))

    async def _written(self, question: Record, job: SynthesisJob, key: str) -> Synthesis:
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
    note, results = note_of(tools.settings.judge.model), result_values(tools.settings)
    return hash_of(
        *(str(results[name]) for name in WRITING_FIELDS),
        note.weights_sha256 if note else "",
        load_prompts().context.model_dump_json(),
        predict.signature.instructions,
        json.dumps([dict(demo) for demo in predict.demos], default=str),
    )
