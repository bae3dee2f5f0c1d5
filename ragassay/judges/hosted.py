"""A language model that is asked in ragassay's own prompts."""

from __future__ import annotations

from collections.abc import Iterable

from ragassay.agents.agent_set import Agents
from ragassay.instruments.signals.facts import facts_text
from ragassay.judges.base import BaseJudge, RatedAnswer
from ragassay.judges.signals import SignalJudge
from ragassay.models.gateway import JudgeLM
from ragassay.prompts import Rubric
from ragassay.records import Judgment


class HostedJudge(BaseJudge):
    """A hosted model, or the embedded one.

    Args:
        lm: The model.
        signals: Rate in its place what they know: the embedded model is too small for that.
    """

    def __init__(self, lm: JudgeLM, signals: SignalJudge | None = None) -> None:
        self.name, self.lm, self.signals = lm.model, lm, signals

    async def rate(
        self, rubric: Rubric, answer: RatedAnswer, agents: Agents, others: str = ""
    ) -> Judgment:
        """Ask for a rating, with what was measured in the prompt; or have signals rate."""
        if self.signals and answer.signals and self.rates_by_signals(rubric.name):
            return await self.signals.rate(rubric, answer, agents)
        case, facts = answer.case, ""
        if answer.signals:
            texts = [sentence.text for sentence in case.sentences]
            facts = facts_text(answer.signals, rubric.name, texts)
        judgment: Judgment = await self.ask(
            agents.judge, case=case, rubric=rubric, facts=facts, others=others
        )
        return judgment

    def rates_by_signals(self, rubric: str) -> bool:
        """Return whether signals rate in its place."""
        return self.signals is not None and self.signals.rates_by_signals(rubric)

    def rating_inputs(self, rubric: Rubric, answer: RatedAnswer) -> Iterable[str]:
        """Return what signals depend on, where they rate, or else the signals that it is shown."""
        if self.signals:
            yield from self.signals.rating_inputs(rubric, answer)
        elif answer.signals:
            yield answer.signals.model_dump_json()

    def signal_rater(self, rubrics: Iterable[str]) -> str:
        """Return the name of the signal rater in its place."""
        return self.signals.signal_rater(rubrics) if self.signals else ""
