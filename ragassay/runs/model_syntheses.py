"""One model's syntheses: those of earlier starts, and those that are still to be written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from langgraph.cache.base import FullKey

from ragassay.evaluators.toolbox import Toolbox
from ragassay.graphs.persistence import opened_cache
from ragassay.records import Record, Usage
from ragassay.runs.events import Event, Listener
from ragassay.runs.synthesis_writer import Synthesis, Writing, identity_of, key_of, write_here
from ragassay.settings import Settings


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
        self.tools = Toolbox.of(settings)
        self._questions, self._states, self._how = questions, states, how
        identity = identity_of(self.tools)
        self._keys = {one.id: key_of(identity, one, how) for one in questions}
        with opened_cache(states) as cache:
            kept = cache.get(list(dict.fromkeys(self._keys.values())))
        if how.retry_failed:
            kept = {key: found for key, found in kept.items() if found.text}
        self._found = {
            one.id: Synthesis.of(one, settings.model, kept[self._keys[one.id]])
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
        paid: set[FullKey] = set()
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
        if self.tools.settings.engine == "ray":
            from ragassay.runs.distributed.driver import write_in_cluster

            await write_in_cluster(left, self.tools, self._how, self._states, self._keep, listen)
            return
        with opened_cache(self._states) as cache:
            await write_here(left, self.tools, self._how, self._keep, listen, cache)

    def _keep(self, found: Synthesis) -> None:
        self._found[found.record_id] = found
