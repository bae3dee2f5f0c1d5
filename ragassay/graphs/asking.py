"""Ask one question: from the store, in a call under way, or anew with retries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from ragassay.evaluators.base import Evaluator, Run
from ragassay.evaluators.cases import OpenCase
from ragassay.graphs.base import failure_of, pause_before_retry
from ragassay.graphs.case import question_key
from ragassay.judges import BaseJudge, Question, Reply
from ragassay.metrics.stats.uncertainty import Condition
from ragassay.records import Failure, Usage, VerdictBase
from ragassay.records.evaluation import AnyVerdict
from ragassay.tracing import step_span

VERDICTS: TypeAdapter[Sequence[VerdictBase]] = TypeAdapter(Sequence[AnyVerdict])


@dataclass(frozen=True)
class CaseQuestion(Question):
    """A question of an evaluator about an answer.

    Attributes:
        evaluator: Whose question it is.
        item: What it is about, as its verdict names it.
        subject: What the evaluator's `ask` takes for that item.
        tell: Receives progress: calls expected and done, and their usage.
    """

    evaluator: Evaluator[Any]
    item: str
    subject: Any
    file: OpenCase
    run: Run
    tell: Callable[[dict[str, Any]], None]

    @property
    def asks_panel(self) -> bool:
        """Return whether each member of a panel is asked."""
        return self.evaluator.asks_panel

    def key(self, judge: BaseJudge) -> str:
        """Return the hash of everything that a judge's verdicts depend on."""
        run = self.run.with_judge(judge)
        parts = (self.evaluator.name, self.item, self._role(judge))
        more = self.evaluator.depends_on(self.subject, self.file, run)
        return question_key(run, self.file, *parts, *more)

    def _role(self, judge: BaseJudge) -> str:
        if self.run.second is not None and judge is self.run.second.judge:
            return "second"
        return judge.name if judge in self.run.judge.members else ""

    async def ask(self, judge: BaseJudge) -> Reply:
        """Ask one judge; return its verdicts, or why there are none.

        Raises:
            FatalModelError, InputError, CorpusError, StorageError: The run or the record cannot go
                on.
        """
        evaluator, run = self.evaluator, self.run.with_judge(judge)
        key, role = self.key(judge), self._role(judge)
        self.tell({"expected": 1, "phase": f"judging {evaluator.part}"})

        n_attempts = 0
        while True:
            n_attempts += 1
            try:
                async with self.run.store.once(key, VERDICTS) as work:
                    if work.is_new:
                        with step_span("ask", evaluator.name, self.item, role):
                            work.result = await evaluator.ask(self.subject, self.file, run)
            except Exception as error:
                pause_s = pause_before_retry(error, n_attempts, run.settings.judge.max_attempts)
                if pause_s is None:
                    failure = failure_of(error)
                    self.tell({"done": 1, "failed": 1})
                    return failure
                await asyncio.sleep(pause_s)
            else:
                paid = (one.usage for one in work.result if work.is_new)
                self.tell({"done": 1, "usage": sum(paid, Usage())})
                return work.result

    def unscored(self, failure: Failure) -> Sequence[VerdictBase]:
        """Return what stands where a judge gave no verdict."""
        return self.evaluator.unscored(self.subject, self.file, self.run, failure)

    def second_round(self, verdicts: Sequence[VerdictBase]) -> dict[str, Question]:
        """Return what a panel's members are asked once they know the others' verdicts."""
        again = self.evaluator.second_round(self.subject, verdicts, self.run)
        return {name: replace(self, subject=subject) for name, subject in again.items()}

    def joined(self, verdicts: Sequence[VerdictBase]) -> VerdictBase:
        """Return the verdict of a panel."""
        return self.evaluator.joined(verdicts)

    def is_unsure(self, verdict: VerdictBase, condition: Condition) -> bool:
        """Return whether a second judge is asked about a verdict; citations may share one item."""
        is_own = self.evaluator.is_weighed and verdict.evaluator == self.evaluator.name
        is_item = is_own and verdict.item in self.evaluator.known_items(self.file, self.run)
        return is_item and condition.is_unsure(verdict)

    def alone(self, verdict: VerdictBase) -> Question:
        """Return the question about one verdict of a batch."""
        subject = self.evaluator.alone(
            self.evaluator.known_items(self.file, self.run)[verdict.item]
        )
        return replace(self, item=verdict.item, subject=subject)
