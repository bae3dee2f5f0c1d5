"""One model's syntheses: those of earlier starts, and those that are still to be written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.evaluators.base import Run
from ragassay.evaluators.build_run import build_run
from ragassay.records import Record, Usage
from ragassay.runs.events import Event, Listener
from ragassay.runs.synthesis_writer import (
    SYNTHESIS,
    Synthesis,
    Writing,
    identity_of,
    key_of,
    write_here,
)
from ragassay.settings import Settings
from ragassay.store import opened_store

if TYPE_CHECKING:
    from ragassay.models.limiter import Limiter
    from ragassay.runs.distributed.shared import Outbox


@dataclass(frozen=True)
class SynthesisWriting:
    """The work of a cluster's workers on one model's syntheses; see `Kind`.

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

    def identity(self, tools: Run) -> str:
        """Return the writer's."""
        return identity_of(tools)

    async def work(
        self, records: Sequence[Record], tools: Run, outbox: Outbox, limiter: Limiter
    ) -> None:
        """Have the syntheses written, as a local run does."""
        await write_here(records, tools, self.how, outbox.keep, outbox.listen, limiter)

    def lost(self, record: Record, detail: str) -> Synthesis:
        """Return a synthesis without a text; the next start tries it again."""
        return Synthesis(record, self.model, problem=detail)


class ModelSyntheses:
    """One model's syntheses of all questions: those of earlier starts, and those to come.

    Args:
        questions: Records without an answer, with distinct ids, each with its papers.
        settings: Of one writer, from `writers_of`.
        states: The file of finished work, which is not repeated. Several models may share it.
        how: How they are written.

    Attributes:
        tools: What the model works with; its limiter counts what was spent.

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

        Args:
            listen: Receives progress events.

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
