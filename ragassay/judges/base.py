"""The surface of all judges, and the answer that they rate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ragassay.errors import FatalModelError, SettingsError
from ragassay.metrics.stats.uncertainty import Condition
from ragassay.model_names import INSTRUMENTS
from ragassay.models.gateway import NEEDS_JUDGE, JudgeLM
from ragassay.prompts import Rubric
from ragassay.records import Case, Failure, Judgment, Reading, Signals, VerdictBase

if TYPE_CHECKING:
    from ragassay.agents.agent_set import Agents
    from ragassay.agents.base import Agent


@dataclass(frozen=True)
class RatedAnswer:
    """An answer, with what was prepared before its rubrics are rated.

    Attributes:
        case: The answer, its question and its sources.
        rubrics: Names of all rubrics that it is rated on.
        signals: Measurements; None where it was not measured.
        readings: Readings by fine-tuned judges, by the judge's name.
    """

    case: Case
    rubrics: tuple[str, ...] = ()
    signals: Signals | None = None
    readings: Mapping[str, Reading] = field(default_factory=dict)


class Question(ABC):
    """A question that a judge answers by verdicts."""

    @property
    @abstractmethod
    def asks_panel(self) -> bool:
        """Return whether each member of a panel is asked, or the first for all."""

    @abstractmethod
    def make_unscored(self, failure: Failure) -> Sequence[VerdictBase]:
        """Return what stands where a judge gave no verdict."""

    @abstractmethod
    def second_round(self, verdicts: Sequence[VerdictBase]) -> Mapping[str, Question]:
        """Return what members of a panel are asked again, by their names, after the first round."""

    @abstractmethod
    def join_verdicts(self, verdicts: Sequence[VerdictBase]) -> VerdictBase:
        """Return the verdict of a panel, from those of its members."""

    @abstractmethod
    def is_unsure(self, verdict: VerdictBase, condition: Condition) -> bool:
        """Return whether a second judge is asked about a verdict."""

    @abstractmethod
    def alone(self, verdict: VerdictBase) -> Question:
        """Return the question about one verdict of several."""


JudgeReply = Sequence[VerdictBase] | Failure
"""A judge's verdicts on a question, or why there are none."""

Rounds = Generator[
    Sequence[tuple[Question, "BaseJudge"]], Sequence[JudgeReply], Sequence[VerdictBase]
]
"""Yields which judges are asked what, together; is sent their replies; returns the verdicts."""


class BaseJudge(ABC):
    """A judge answers the questions of a run.

    Attributes:
        name: LiteLLM name of the model that rates; as the settings write it.
        lm: Answers all questions but ratings; None where instruments decide what they can.
        rating_lm: Rates the rubrics, where another model than `lm` does.
        signals: Rates by measurements, in its place or with it; None where nothing does.
    """

    name: str
    lm: JudgeLM | None = None
    rating_lm: JudgeLM | None = None
    signals: BaseJudge | None = None

    def rounds(self, question: Question) -> Rounds:
        """Decide who is asked a question; a failure becomes an unscored verdict."""
        (reply,) = yield [(question, self)]
        return question.make_unscored(reply) if isinstance(reply, Failure) else reply

    async def ask(self, agent: Agent, **inputs: Any) -> Any:
        """Put an agent's question to the model, and return what the agent reads in the reply.

        Raises:
            SettingsError: There is no model that answers questions.
            ModelError: The model gave no usable reply.
        """
        import dspy

        with dspy.context(lm=self.model):
            return await agent.acall(**inputs)

    @property
    def model(self) -> JudgeLM:
        """Return the model that answers questions.

        Raises:
            SettingsError: There is none.
        """
        if self.lm is None:
            raise SettingsError(NEEDS_JUDGE)
        return self.lm

    @property
    def answered_by(self) -> str:
        """Name of what answers all questions but ratings."""
        return self.lm.model if self.lm else INSTRUMENTS

    @property
    def models(self) -> tuple[JudgeLM, ...]:
        """All models that it may ask."""
        return tuple(lm for lm in (self.lm, self.rating_lm) if lm)

    @property
    def fatal(self) -> FatalModelError | None:
        """Why the run cannot go on: the error of the first model that cannot be asked."""
        return next((lm.fatal for lm in self.models if lm.fatal is not None), None)

    @property
    def members(self) -> tuple[BaseJudge, ...]:
        """The judges of a panel; empty for a single judge."""
        return ()

    def member(self, name: str) -> BaseJudge:
        """Return a member of a panel by its name; without one, the judge itself."""
        return next((one for one in self.members if one.name == name), self)

    async def rate(
        self, rubric: Rubric, answer: RatedAnswer, agents: Agents, others: str = ""
    ) -> Judgment:
        """Rate an answer on a rubric.

        Args:
            others: Ratings of a panel's other members, for a second round; "" in the first.

        Raises:
            ModelError: The model gave no usable reply.
            SettingsError: It does not rate itself, as `NoJudge`; or its members do, as of a panel.
        """
        raise SettingsError(NEEDS_JUDGE)

    def refuse_unrated(self, rubrics: Mapping[str, Rubric]) -> None:  # noqa: B027
        """Refuse rubrics that it cannot rate.

        Raises:
            SettingsError: It cannot rate one.
            ExtraError: A published judge's words are not installed.
        """

    def rates_by_signals(self, rubric: str) -> bool:
        """Return whether signals take part in its rating of a rubric."""
        return self.signals is not None and self.signals.rates_by_signals(rubric)

    def calls_model(self, rubric: str) -> bool:
        """Return whether its rating of a rubric takes a model call."""
        return not self.rates_by_signals(rubric)

    def deliberates(self, rubric: str) -> bool:
        """Return whether it can rate again with a panel's other ratings before it."""
        return not self.rates_by_signals(rubric)

    def rating_inputs(self, rubric: Rubric, answer: RatedAnswer) -> Iterable[str]:
        """Return what its rating depends on besides the case's context and the rubric."""
        return ()

    @property
    def reads(self) -> bool:
        """Return whether it reads an answer before it rates."""
        return False

    async def read(self, case: Case, agents: Agents) -> Reading:
        """Read an answer, if it `reads`.

        Raises:
            ModelError: The model gave no usable reply.
        """
        raise NotImplementedError

    def signal_rater(self, rubrics: Iterable[str]) -> str:
        """Return the name of the signal rater that takes part; "" where none does."""
        return self.signals.signal_rater(rubrics) if self.signals else ""

    def rated_by(self, rubrics: Iterable[str]) -> str:
        """Return who rates the rubrics, for reports."""
        return self.signal_rater(rubrics) or self.name


class NoJudge(BaseJudge):
    """No judge: instruments answer what they can, and no rubric is rated."""

    name = INSTRUMENTS

    def refuse_unrated(self, rubrics: Mapping[str, Rubric]) -> None:
        """Refuse any rubric."""
        for name in rubrics:
            raise SettingsError(f"rubric {name}: {NEEDS_JUDGE}")
