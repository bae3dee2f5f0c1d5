"""Rate an answer from measurements. There is no prompt and no language model to instruct."""

from __future__ import annotations

from ragassay.instruments.signals.facts import reason_of
from ragassay.models.signal_rater import SignalRater
from ragassay.prompts.signals import load_signals
from ragassay.records import Failure, Judgment, Signals

LIKERT = (1, 5)

SOURCED = "mean_source_support"
"""A signal that exactly the answers with sources have."""

LEAST_WEIGHT = 0.25
"""Logits by which a signal must lower a rating to count as a reason."""

MOST_REASONS = 3


class SignalJudge:
    """Rates signals on a rubric.

    Args:
        rater: The fitted models.
    """

    def __init__(self, rater: SignalRater) -> None:
        self.rater = rater

    def knows(self, rubric: str) -> bool:
        """Return whether it can rate a rubric."""
        return rubric in self.rater.rubrics

    def judge(self, signals: Signals, rubric: str) -> Judgment:
        """Rate an answer; the score is the expectation over the five ratings."""
        if not signals.sentences:
            failure = Failure(reason="empty_answer", detail="the answer has no sentence")
            return Judgment(rubric=rubric, failure=failure)
        if load_signals().rubrics[rubric].needs_sources and SOURCED not in signals.values:
            failure = Failure(reason="no_evidence", detail="the answer comes without sources")
            return Judgment(rubric=rubric, failure=failure)
        likely = self.rater.rubrics[rubric].distribution(signals.values)
        score = sum(rating * share for rating, share in enumerate(likely, 1))
        rationale, sentences = self._reasons(signals, rubric)
        return Judgment(
            rubric=rubric,
            scale=LIKERT,
            rating=min(5, max(1, round(score))),
            score=round(min(5.0, max(1.0, score)), 4),
            distribution=tuple(round(share, 6) for share in likely),
            rationale=rationale,
            sentences=sentences,
        )

    def _reasons(self, signals: Signals, rubric: str) -> tuple[str, tuple[int, ...]]:
        """Name what lowers the rating most, in words, with the sentences concerned."""
        added = self.rater.rubrics[rubric].contributions(signals.values)
        worst = sorted(
            (name for name in added if added[name] <= -LEAST_WEIGHT), key=added.__getitem__
        )
        reasons = list(dict.fromkeys(reason_of(signals, name) for name in worst))[:MOST_REASONS]
        if not reasons:
            return load_signals().reasons.none, ()
        numbers = dict.fromkeys(n for reason in reasons for n in reason.sentences)
        return " ".join(reason.text for reason in reasons), tuple(numbers)
