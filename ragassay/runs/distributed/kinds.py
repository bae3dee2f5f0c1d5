"""The kinds of work of a cluster: answers are judged, or syntheses are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from langgraph.cache.base import BaseCache

from ragassay.evaluators.toolbox import Toolbox
from ragassay.models.limiter import Limiter
from ragassay.records import Failure, Record, RecordFailure
from ragassay.runs.distributed.hub import Result
from ragassay.runs.distributed.shared import Outbox
from ragassay.runs.judging import judge_here
from ragassay.runs.synthesis_writer import Synthesis, Writing, identity_of, write_here


@dataclass(frozen=True)
class Means:
    """The means of a worker.

    Attributes:
        tools: The toolbox.
        outbox: Takes results and events.
        cache: Finished verdicts, or syntheses.
        limiter: Bounds the model calls.
    """

    tools: Toolbox
    outbox: Outbox
    cache: BaseCache[Any]
    limiter: Limiter


class Kind(Protocol):
    """A kind of work; it is sent to the workers."""

    @property
    def max_tokens(self) -> int:
        """Tokens of the run after which nothing is begun; 0 for no bound."""
        ...

    def identity(self, tools: Toolbox) -> str:
        """Return a hash of all that the results depend on, besides the records."""
        ...

    async def work(self, records: Sequence[Record], means: Means) -> None:
        """Bring records to their ends, and put their results into the outbox."""
        ...

    def lost(self, record: Record, detail: str) -> Result:
        """Return the result of a record that cost too many workers their life."""
        ...


@dataclass(frozen=True)
class Judging:
    """Judges answers."""

    max_tokens: int = 0

    def identity(self, tools: Toolbox) -> str:
        """Return the toolbox's."""
        return tools.identity

    async def work(self, records: Sequence[Record], means: Means) -> None:
        """Judge the answers, as a local run does."""
        keep, listen = means.outbox.keep, means.outbox.listen
        await judge_here(records, means.tools, keep, listen, means.cache, limiter=means.limiter)

    def lost(self, record: Record, detail: str) -> Result:
        """Return the failure of an answer."""
        failure = Failure(reason="error", detail=detail)
        return RecordFailure(record_id=record.id, stage="evaluate", failure=failure)


@dataclass(frozen=True)
class SynthesisWriting:
    """Has one model write syntheses.

    Attributes:
        model: The model's name.
        how: How they are written.
    """

    model: str
    how: Writing

    @property
    def max_tokens(self) -> int:
        """Tokens of the model after which it begins no synthesis; 0 for no bound."""
        return self.how.max_tokens

    def identity(self, tools: Toolbox) -> str:
        """Return the writer's."""
        return identity_of(tools)

    async def work(self, records: Sequence[Record], means: Means) -> None:
        """Have the syntheses written, as a local run does."""
        keep, listen = means.outbox.keep, means.outbox.listen
        await write_here(records, means.tools, self.how, keep, listen, means.cache, means.limiter)

    def lost(self, record: Record, detail: str) -> Result:
        """Return a synthesis without a text; the next start tries it again."""
        return Synthesis(record, self.model, problem=detail)
