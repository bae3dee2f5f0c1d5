"""Judges that call a language model, with ragassay's prompts or the judge's training format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ragassay.agents.agent_set import Agents
from ragassay.agents.published_judge import describe_prompt_texts, is_rated_by
from ragassay.agents.tuned_judge import render_papers
from ragassay.errors import SettingsError
from ragassay.instruments.signals.facts import format_facts
from ragassay.judges.base import BaseJudge, RatedAnswer
from ragassay.judges.signals import SignalJudge
from ragassay.metrics.stats.joint_judgments import BEYOND_SENTENCES, join_judgments
from ragassay.model_names import JudgeForm
from ragassay.models.gateway import JudgeLM
from ragassay.prompts import Rubric, RubricSet, load_rubrics
from ragassay.records import Case, Judgment, Reading, Usage


class HostedJudge(BaseJudge):
    """Judge that uses ragassay's own prompts with a hosted or the embedded model.

    `signals` is used for ratings instead of the embedded model, which is too small to rate.
    """

    def __init__(self, lm: JudgeLM, signals: SignalJudge | None = None) -> None:
        self.name, self.lm, self.signals = lm.model, lm, signals

    async def rate(
        self, rubric: Rubric, answer: RatedAnswer, agents: Agents, others: str = ""
    ) -> Judgment:
        """Rate an answer from its signals, or with a model that sees the signals in its prompt."""
        import dspy

        if self.signals and answer.signals and self.rates_by_signals(rubric.name):
            return await self.signals.rate(rubric, answer, agents)
        case, facts = answer.case, ""
        if answer.signals:
            texts = [sentence.text for sentence in case.sentences]
            facts = format_facts(answer.signals, rubric.name, texts)
        with dspy.context(lm=self.model):
            rated: Any = await agents.judge.acall(
                case=case, rubric=rubric, facts=facts, others=others
            )
        return rated

    def list_rating_inputs(self, rubric: Rubric, answer: RatedAnswer) -> Iterable[str]:
        """Return what a rating depends on: the signals of the answer."""
        if self.signals:
            yield from self.signals.list_rating_inputs(rubric, answer)
        elif answer.signals:
            yield answer.signals.model_dump_json()


TUNED_RUBRICS = "yescieval"
"""Rubric set that fine-tuned judges are trained on. A base model rates all other rubrics."""


class FineTunedJudge(BaseJudge):
    """Fine-tuned judge that rates answers on YESciEval's rubrics, combined with signals.

    Args:
        lm: Base model for everything except ratings.
        source_chars: Number of source characters in the prompt. 0 for a prompt without sources.
        signals: Judge that rates from signals, or None if signals are not measured.
    """

    def __init__(
        self, rating_lm: JudgeLM, lm: JudgeLM, source_chars: int, signals: SignalJudge | None
    ) -> None:
        self.name, self.lm = rating_lm.model, lm
        self._base = HostedJudge(lm)
        self.rating_lm, self.signals, self._source_chars = rating_lm, signals, source_chars

    async def rate(
        self, rubric: Rubric, answer: RatedAnswer, agents: Agents, others: str = ""
    ) -> Judgment:
        """Combine the rating of the model with the rating from signals.

        The base model rates rubrics that the fine-tuned model was not trained on.
        """
        name, measured = rubric.name, None
        if self.signals and answer.signals and self.rates_by_signals(name):
            measured = await self.signals.rate(rubric, answer, agents)
            if not self.calls_model(name):
                return measured
        if not _is_trained(name):
            return await self._base.rate(rubric, answer, agents, others)
        rated = await self._rate_reading(name, answer, agents)
        return join_judgments(rated, measured) if measured else rated

    async def _rate_reading(self, rubric: str, answer: RatedAnswer, agents: Agents) -> Judgment:
        import dspy

        reading = self._find_reading(rubric, answer) or await self.read(answer.case, agents)
        with dspy.context(lm=self.rating_lm):
            papers = render_papers(answer.case, self._source_chars)
            rated: Any = await agents.tuned_judge.acall(
                case=answer.case, reading=reading, rubric=rubric, papers=papers
            )
        return rated.model_copy(update={"usage": rated.usage + reading.usage})

    def _find_reading(self, rubric: str, answer: RatedAnswer) -> Reading | None:
        """Return the stored sentence marks. The usage of marking is counted for one rubric only."""
        reading = answer.readings.get(self.name)
        payer = min(answer.rubrics, key=lambda name: name in BEYOND_SENTENCES, default="")
        if reading is None or rubric == payer:
            return reading
        return reading.model_copy(update={"usage": Usage()})

    @property
    def reads(self) -> bool:
        """Return True."""
        return True

    async def read(self, case: Case, agents: Agents) -> Reading:
        """Mark the sentences of an answer."""
        import dspy

        with dspy.context(lm=self.rating_lm):
            reading: Any = await agents.reader.acall(case=case)
        return reading

    def calls_model(self, rubric: str) -> bool:
        """Return whether the model is called for a rubric.

        Rubrics that do not depend on single sentences are rated from signals alone.
        """
        is_asked = _is_trained(rubric) and rubric not in BEYOND_SENTENCES
        return is_asked or not self.rates_by_signals(rubric)

    def can_deliberate(self, rubric: str) -> bool:
        """Return False for trained rubrics, because their prompts cannot contain other ratings."""
        return not _is_trained(rubric) and super().can_deliberate(rubric)

    def list_rating_inputs(self, rubric: Rubric, answer: RatedAnswer) -> Iterable[str]:
        """Return what a rating depends on: signals, sentence marks and sources in the prompt."""
        if self.signals:
            yield from self.signals.list_rating_inputs(rubric, answer)
        reading = answer.readings.get(self.name)
        yield from reading.marks if reading else ()
        if _is_trained(rubric.name):
            yield render_papers(answer.case, self._source_chars)

    def name_raters(self, rubrics: Iterable[str]) -> str:
        """Return the name of the judge and, if signals are used, of the rater that uses them."""
        rater = self.name_signal_rater(rubrics)
        return f"{self.name} with {rater}" if rater else self.name


def _is_trained(rubric: str) -> bool:
    return rubric in load_rubrics(TUNED_RUBRICS)


class PublishedJudge(BaseJudge):
    """Published judge, prompted in its training format.

    Args:
        lm: Model for everything except ratings, or None if local models decide instead.
        form: Prompt format of the judge.
        signals: Judge for rubrics that the model was not trained on, or None if signals are not
            measured.
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
        """Rate with the published model, or from signals if it was not trained on the rubric."""
        import dspy

        from ragassay.agents.published_judge import rate_published

        if rubric.name not in self._trained and self.signals:
            return await self.signals.rate(rubric, answer, agents)
        with dspy.context(lm=self.rating_lm):
            return await rate_published(answer.case, rubric, self.form)

    def require_rubrics(self, rubrics: Mapping[str, Rubric]) -> None:
        """Reject rubrics that can be rated neither by the model nor from signals."""
        describe_prompt_texts(self.form)  # Raises ExtraError if the prompts are not installed.
        rated = f"the rubrics of {self.form.rubric_set}"
        for name in rubrics:
            if name not in self._trained and not self.rates_by_signals(name):
                raise SettingsError(
                    f"rubric {name}: {self.name} is {self.form.title}, which rates "
                    f"{rated if self.form.rubric_set else 'scales from 1 to 5'} only; select "
                    "these rubrics with --rubrics, or use a different judge"
                )

    def rates_by_signals(self, rubric: str) -> bool:
        """Return whether a rubric is rated from signals instead of by the model."""
        return rubric not in self._trained and super().rates_by_signals(rubric)

    def can_deliberate(self, rubric: str) -> bool:
        """Return False for trained rubrics, because their prompts cannot contain other ratings."""
        return rubric not in self._trained and super().can_deliberate(rubric)

    def list_rating_inputs(self, rubric: Rubric, answer: RatedAnswer) -> Iterable[str]:
        """Return what a rating depends on: signals, the prompt format and the reference answer."""
        if self.signals:
            yield from self.signals.list_rating_inputs(rubric, answer)
        if rubric.name in self._trained:
            yield from (
                self.form.name,
                describe_prompt_texts(self.form),
                *answer.case.reference_sentences,
            )

    def name_signal_rater(self, rubrics: Iterable[str]) -> str:
        """Return the name of the rater for rubrics that the model was not trained on."""
        return super().name_signal_rater(name for name in rubrics if name not in self._trained)

    def name_raters(self, rubrics: Iterable[str]) -> str:
        """Return the name of the judge and, if signals are used, of the rater that uses them."""
        rater = self.name_signal_rater(rubrics)
        return f"{self.name}, and {rater} for other rubrics" if rater else self.name
