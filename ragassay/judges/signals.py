"""Judge that rates an answer from signals, without a language model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ragassay.agents.agent_set import Agents
from ragassay.errors import SettingsError
from ragassay.instruments.signals.facts import SOURCED, explain_signal
from ragassay.judges.base import BaseJudge, RatedAnswer
from ragassay.model_names import INSTRUMENTS
from ragassay.models.fitted_raters import SignalRater
from ragassay.models.gateway import NEEDS_JUDGE
from ragassay.prompts import Rubric
from ragassay.prompts.texts import load_signals
from ragassay.records import Failure, Judgment, Signals

LIKERT = (1, 5)

LEAST_WEIGHT = 0.25
"""Minimum amount, in logits, by which a signal must lower the rating to be named as a reason."""

MOST_REASONS = 3


class SignalJudge(BaseJudge):
    """Judge that rates answers with models fitted to signals, alone or as part of another judge."""

    name = INSTRUMENTS

    def __init__(self, rater: SignalRater) -> None:
        self.rater = rater

    async def rate(
        self, rubric: Rubric, answer: RatedAnswer, agents: Agents, others: str = ""
    ) -> Judgment:
        """Rate the answer from its signals. `others` is ignored."""
        return self.judge(answer.signals or Signals(), rubric.name)

    def require_rubrics(self, rubrics: Mapping[str, Rubric]) -> None:
        """Reject rubrics for which there is no fitted model."""
        for name in rubrics:
            if not self.rates_by_signals(name):
                raise SettingsError(f"rubric {name}: {NEEDS_JUDGE}")

    def rates_by_signals(self, rubric: str) -> bool:
        """Return whether a fitted model can rate answers on the rubric."""
        return rubric in self.rater.rubrics

    def list_rating_inputs(self, rubric: Rubric, answer: RatedAnswer) -> Iterable[str]:
        """Return what a rating depends on: the digest of the models, and the signals."""
        yield self.rater.digest
        yield answer.signals.model_dump_json() if answer.signals else ""

    def name_signal_rater(self, rubrics: Iterable[str]) -> str:
        """Return the name of the rater, or "" if it supports none of the rubrics."""
        return self.rater.model if any(map(self.rates_by_signals, rubrics)) else ""

    def judge(self, signals: Signals, rubric: str) -> Judgment:
        """Return the rating derived from the signals. The score is the expected rating."""
        if not signals.sentences:
            failure = Failure(reason="empty_answer", detail="the answer has no sentence")
            return Judgment(rubric=rubric, failure=failure)
        if load_signals().rubrics[rubric].needs_sources and SOURCED not in signals.values:
            failure = Failure(reason="no_evidence", detail="the answer comes without sources")
            return Judgment(rubric=rubric, failure=failure)
        distribution = self.rater.rubrics[rubric].predict_distribution(signals.values)
        score = sum(rating * share for rating, share in enumerate(distribution, 1))
        rationale, sentences = self._explain_rating(signals, rubric)
        return Judgment(
            rubric=rubric,
            scale=LIKERT,
            rating=min(5, max(1, round(score))),
            score=round(min(5.0, max(1.0, score)), 4),
            distribution=tuple(round(share, 6) for share in distribution),
            rationale=rationale,
            sentences=sentences,
        )

    def _explain_rating(self, signals: Signals, rubric: str) -> tuple[str, tuple[int, ...]]:
        """Describe the signals that lower the rating most, and return the affected sentences."""
        weights = self.rater.rubrics[rubric].compute_contributions(signals.values)
        worst = sorted(
            (name for name in weights if weights[name] <= -LEAST_WEIGHT), key=weights.__getitem__
        )
        reasons = list(dict.fromkeys(explain_signal(signals, name) for name in worst))[
            :MOST_REASONS
        ]
        if not reasons:
            return load_signals().reasons.none, ()
        numbers = dict.fromkeys(n for reason in reasons for n in reason.sentences)
        return " ".join(reason.text for reason in reasons), tuple(numbers)
