"""Hedging: whether a sentence states its claim or hedges it, by its words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ragassay.evaluators.base import CaseFile, Evaluator, Task, Wording, Words
from ragassay.metrics.scores import share
from ragassay.records import AnswerSentence, Failure, Hedging, Score

if TYPE_CHECKING:
    from ragassay.evaluators.outcome import Outcome
    from ragassay.evaluators.toolbox import Toolbox

_HEDGE = re.compile(r"\b(may|might|could|possibly|probably|suggests?|appears?)\b", re.IGNORECASE)


class HedgingEvaluator(Evaluator[AnswerSentence]):
    """Say of each sentence whether it hedges."""

    name = "hedging"
    part = "sentences"
    record = Hedging
    words = Words(
        verdict="verdict on hedging",
        verdicts="verdicts on hedging",
        scores={"sentences.hedged": Wording("Hedged sentences")},
    )

    def subjects(self, file: CaseFile, tools: Toolbox) -> Mapping[str, AnswerSentence]:
        """Return the sentences."""
        return {str(sentence.index): sentence for sentence in file.case.sentences}

    async def ask(
        self, subject: AnswerSentence, task: Task, file: CaseFile, tools: Toolbox
    ) -> Sequence[Hedging]:
        """Look for a hedging word."""
        return [Hedging(sentence=subject.index, is_hedged=bool(_HEDGE.search(subject.text)))]

    def unscored(
        self,
        subject: AnswerSentence,
        task: Task,
        file: CaseFile,
        tools: Toolbox,
        failure: Failure,
    ) -> Sequence[Hedging]:
        """Return no verdict."""
        return [Hedging(sentence=subject.index, failure=failure)]

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the share of sentences that hedge."""
        known = [one.is_hedged for one in outcome.of(Hedging) if one.is_hedged is not None]
        n_unscored = len(outcome.of(Hedging)) - len(known)
        key = "sentences.hedged"
        return {key: share(key, sum(known), len(known), n_unscored, self.name)}

    def n_most_calls(self, file: CaseFile, tools: Toolbox) -> int:
        """No model is asked."""
        return 0
