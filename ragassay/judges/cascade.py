"""A cascade of two judges: what the first is unsure of goes to the second, which decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragassay.judges.base import BaseJudge, Question, gather_all
from ragassay.metrics.uncertainty import Condition
from ragassay.records import Escalation, Failure, VerdictBase


@dataclass(frozen=True)
class Cascade:
    """Two judges, of whom the second decides what the first is unsure of.

    The first judge's verdict is kept inside the second one's. Where the second gives none, the
    first stands, and the failure is kept with it.

    Attributes:
        first: Is asked everything.
        second: Is asked again what the first is unsure of.
        condition: When a verdict is unsure.
    """

    first: BaseJudge
    second: BaseJudge
    condition: Condition

    async def answer(self, question: Question) -> Sequence[VerdictBase]:
        """Ask the first judge, and the second what the first is unsure of."""
        verdicts = {(v.evaluator, v.item): v for v in await self.first.answer(question)}
        unsure = (v for v in verdicts.values() if question.is_unsure(v, self.condition))
        asked = [question.alone(verdict) for verdict in unsure]
        answers = await gather_all(again.ask(self.second) for again in asked)
        for again, found in zip(asked, answers, strict=True):
            failure = None
            if isinstance(found, Failure):
                failure, found = found, again.unscored(found)
            for second in found:
                key = second.evaluator, second.item
                verdicts[key] = self._decide(verdicts.get(key, second), second, failure)
        return list(verdicts.values())

    def _decide(
        self, first: VerdictBase, second: VerdictBase, failure: Failure | None
    ) -> VerdictBase:
        """Return the second verdict with the first in it; the first where the second failed."""
        name = self.second.name
        if failure:
            return first.model_copy(update={"escalation": Escalation(judge=name, failure=failure)})
        changes = {
            "escalation": Escalation(judge=name, usage=second.usage),
            "escalated_from": first,
            "usage": first.usage + second.usage,
        }
        return second.model_copy(update=changes)
