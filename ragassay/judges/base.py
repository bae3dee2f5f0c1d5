"""Base class of all judges."""

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
    """An answer, and the measurements that judges can use to rate it on rubrics.

    Attributes:
        signals: Signals of the answer, or None if they were not measured.
        readings: Sentence marks, keyed by the name of the fine-tuned judge.
    """

    case: Case
    rubrics: tuple[str, ...] = ()
    signals: Signals | None = None
    readings: Mapping[str, Reading] = field(default_factory=dict)


class Question(ABC):
    """A question that an evaluator asks a judge, which replies with one or more verdicts."""

    @property
    @abstractmethod
    def asks_panel(self) -> bool:
        """Return whether all members of a panel are asked, not only the first."""

    @abstractmethod
    def make_unscored(self, failure: Failure) -> Sequence[VerdictBase]:
        """Return unscored verdicts with the reason why the judge failed."""

    @abstractmethod
    def build_second_round(self, verdicts: Sequence[VerdictBase]) -> Mapping[str, Question]:
        """Return the second-round questions for panel members, keyed by member name."""

    @abstractmethod
    def join_verdicts(self, verdicts: Sequence[VerdictBase]) -> VerdictBase:
        """Combine the verdicts of the panel members."""

    @abstractmethod
    def is_unsure(self, verdict: VerdictBase, condition: Condition) -> bool:
        """Return whether to pass a verdict to the second judge of a cascade."""

    @abstractmethod
    def isolate_question(self, verdict: VerdictBase) -> Question:
        """Return the question that asks only for this verdict of several."""


JudgeReply = Sequence[VerdictBase] | Failure
"""Verdicts of a judge, or the reason why the judge failed."""

Rounds = Generator[
    Sequence[tuple[Question, "BaseJudge"]], Sequence[JudgeReply], Sequence[VerdictBase]
]
"""Generator that yields the questions of each round with the judges to ask, receives their replies,
and returns the final verdicts."""


class BaseJudge(ABC):
    """Base class of all judges.

    Attributes:
        name: LiteLLM name of the rating model, as in the settings.
        lm: Model for everything except ratings, or None if local models decide instead.
        rating_lm: Model for ratings, if different from `lm`.
        signals: Judge that rates answers from signals, instead of or in addition to the model, or
            None.
    """

    name: str
    lm: JudgeLM | None = None
    rating_lm: JudgeLM | None = None
    signals: BaseJudge | None = None

    def run_rounds(self, question: Question) -> Rounds:
        """Yield the judges to ask and return the verdicts. Failures become unscored verdicts."""
        (reply,) = yield [(question, self)]
        return question.make_unscored(reply) if isinstance(reply, Failure) else reply

    async def ask(self, agent: Agent, **inputs: Any) -> Any:
        """Run an agent with the model and return its result.

        Raises:
            SettingsError: The judge has no model.
            ModelError: The model returned no usable reply.
        """
        import dspy

        with dspy.context(lm=self.model):
            return await agent.acall(**inputs)

    @property
    def model(self) -> JudgeLM:
        """Model for everything except ratings.

        Raises:
            SettingsError: The judge has no model.
        """
        if self.lm is None:
            raise SettingsError(NEEDS_JUDGE)
        return self.lm

    @property
    def answered_by(self) -> str:
        """Name of the model for everything except ratings, or a general name for local models."""
        return self.lm.model if self.lm else INSTRUMENTS

    @property
    def models(self) -> tuple[JudgeLM, ...]:
        """All models that the judge may call."""
        return tuple(lm for lm in (self.lm, self.rating_lm) if lm)

    @property
    def fatal(self) -> FatalModelError | None:
        """First fatal error of a model, or None."""
        return next((lm.fatal for lm in self.models if lm.fatal is not None), None)

    @property
    def members(self) -> tuple[BaseJudge, ...]:
        """Members of a panel (empty for a single judge)."""
        return ()

    def find_member(self, name: str) -> BaseJudge:
        """Return the panel member with this name, or the judge itself if it is not a panel."""
        return next((one for one in self.members if one.name == name), self)

    async def rate(
        self, rubric: Rubric, answer: RatedAnswer, agents: Agents, others: str = ""
    ) -> Judgment:
        """Rate an answer on a rubric.

        Args:
            others: Text with the ratings by the other panel members (empty in the first round).

        Raises:
            ModelError: The model returned no usable reply.
            SettingsError: The judge rates no answers (`NoJudge`), or leaves ratings to its members
                (`Panel`).
        """
        raise SettingsError(NEEDS_JUDGE)

    def require_rubrics(self, rubrics: Mapping[str, Rubric]) -> None:  # noqa: B027
        """Raise an error if the judge cannot rate answers on all rubrics.

        Raises:
            SettingsError: The judge cannot rate answers on one of the rubrics.
            ExtraError: The prompts of a published judge are not installed.
        """

    def rates_by_signals(self, rubric: str) -> bool:
        """Return whether the judge uses signals to rate answers on a rubric."""
        return self.signals is not None and self.signals.rates_by_signals(rubric)

    def calls_model(self, rubric: str) -> bool:
        """Return whether the judge calls a model to rate answers on a rubric."""
        return not self.rates_by_signals(rubric)

    def can_deliberate(self, rubric: str) -> bool:
        """Return whether the judge can take account of other panel members' ratings on a rubric."""
        return not self.rates_by_signals(rubric)

    def list_rating_inputs(self, rubric: Rubric, answer: RatedAnswer) -> Iterable[str]:
        """Return what a rating depends on besides the rubric and the context of the case."""
        return ()

    @property
    def reads(self) -> bool:
        """Return whether the judge marks the sentences of an answer before rating it."""
        return False

    async def read(self, case: Case, agents: Agents) -> Reading:
        """Mark the sentences of an answer. Judges support this if `reads` is True.

        Raises:
            ModelError: The model returned no usable reply.
        """
        raise NotImplementedError

    def name_signal_rater(self, rubrics: Iterable[str]) -> str:
        """Return the name of the rater that uses signals for these rubrics, or "" without one."""
        return self.signals.name_signal_rater(rubrics) if self.signals else ""

    def name_raters(self, rubrics: Iterable[str]) -> str:
        """Return the name under which reports show who rated these rubrics."""
        return self.name_signal_rater(rubrics) or self.name


class NoJudge(BaseJudge):
    """Placeholder for runs without a judge, which use instruments and have no rubric ratings."""

    name = INSTRUMENTS

    def require_rubrics(self, rubrics: Mapping[str, Rubric]) -> None:
        """Reject all rubrics."""
        for name in rubrics:
            raise SettingsError(f"rubric {name}: {NEEDS_JUDGE}")
