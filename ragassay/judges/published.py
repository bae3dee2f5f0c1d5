"""A published fine-tuned judge, asked in the form that it was trained on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ragassay.agents.published_judge import is_rated_by, words_of
from ragassay.errors import SettingsError
from ragassay.judges.base import BaseJudge, RatedAnswer
from ragassay.judges.signals import SignalJudge
from ragassay.model_names import JudgeForm
from ragassay.models.gateway import JudgeLM
from ragassay.prompts import Rubric, RubricSet
from ragassay.records import Judgment

if TYPE_CHECKING:
    from ragassay.agents.agent_set import Agents


class PublishedJudge(BaseJudge):
    """Rates the rubrics of its form; signals rate the others that they know.

    Args:
        rating_lm: The published model.
        lm: Answers other questions; None where instruments do.
        form: The form in which it is asked.
        known: The rubrics of the run, by name.
        rubric_set: The set that they are of.
        signals: Rate what it was not trained on; None where nothing is measured.
    """

    def __init__(
        self,
        rating_lm: JudgeLM,
        lm: JudgeLM | None,
        form: JudgeForm,
        known: Mapping[str, Rubric],
        rubric_set: RubricSet,
        signals: SignalJudge | None,
    ) -> None:
        self.name, self.lm, self.form = rating_lm.model, lm, form
        self.rating_lm, self.signals = rating_lm, signals
        self._trained = {
            name for name, rubric in known.items() if is_rated_by(form, rubric, rubric_set)
        }

    async def rate(
        self, rubric: Rubric, answer: RatedAnswer, agents: Agents, others: str = ""
    ) -> Judgment:
        """Ask in its form what it was trained on; have signals rate the rest."""
        import dspy

        from ragassay.agents.published_judge import rate_published

        if rubric.name not in self._trained and self.signals:
            return await self.signals.rate(rubric, answer, agents)
        with dspy.context(lm=self.rating_lm):
            return await rate_published(answer.case, rubric, self.form)

    def refuse_unrated(self, rubrics: Mapping[str, Rubric]) -> None:
        """Refuse rubrics that it was not trained on and signals do not know."""
        words_of(self.form)
        rated = f"the rubrics of {self.form.rubric_set}"
        for name in rubrics:
            if name not in self._trained and not self.rates_by_signals(name):
                raise SettingsError(
                    f"rubric {name}: {self.name} is {self.form.title}, which rates "
                    f"{rated if self.form.rubric_set else 'scales from 1 to 5'} only: choose "
                    "those with --rubrics, or name another judge"
                )

    def rates_by_signals(self, rubric: str) -> bool:
        """Return whether signals rate in its place."""
        return rubric not in self._trained and super().rates_by_signals(rubric)

    def deliberates(self, rubric: str) -> bool:
        """Its form has no place for other ratings."""
        return rubric not in self._trained and super().deliberates(rubric)

    def rating_inputs(self, rubric: Rubric, answer: RatedAnswer) -> Iterable[str]:
        """Return the form, its words, and the reference that some forms show; or the signals."""
        if self.signals:
            yield from self.signals.rating_inputs(rubric, answer)
        if rubric.name in self._trained:
            yield from (self.form.name, words_of(self.form), *answer.case.reference_sentences)

    def signal_rater(self, rubrics: Iterable[str]) -> str:
        """Return the name of the signal rater, if it rates what the judge was not trained on."""
        return super().signal_rater(name for name in rubrics if name not in self._trained)

    def rated_by(self, rubrics: Iterable[str]) -> str:
        """Name both, where signals take part."""
        rater = self.signal_rater(rubrics)
        return f"{self.name}, or {rater} what it was not trained on" if rater else self.name
