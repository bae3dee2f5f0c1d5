"""Intent: how far each two questions on a paper ask for the same (Wan et al. 2024, 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, groupby
from typing import TYPE_CHECKING, Any

from ragassay.evaluators.base import CaseFile, Wording, Words
from ragassay.evaluators.batches import Batch, BatchEvaluator, batches
from ragassay.metrics.qa.racar import intent_scores
from ragassay.records import Failure, IntentSimilarity, QAPair, Score

if TYPE_CHECKING:
    from ragassay.evaluators.outcome import Outcome
    from ragassay.evaluators.toolbox import Toolbox

Two = tuple[QAPair, QAPair]


class IntentEvaluator(BatchEvaluator[Two]):
    """Compare the questions of a paper two by two; those with the same first one share a call."""

    name = "intent"
    part = "intents"
    record = IntentSimilarity
    words = Words(
        verdict="intent similarity",
        verdicts="intent similarities",
        question="Questions that ask for the same",
        kind="intent",
        group="intent",
        title="Diversity of questions",
        direction="lower",
        scores={"intent.similarity": Wording("Similarity by intent", "lower")},
    )

    def items(self, file: CaseFile, tools: Toolbox) -> Mapping[str, Batch[Two]]:
        """Return each two questions; none without a judge that can tell."""
        if tools.judge.lm is None or tools.models.pair_rater is not None:
            return {}
        found: dict[str, Batch[Two]] = {}
        for _, same in groupby(combinations(file.case.pairs, 2), key=lambda two: two[0].id):
            found |= batches(list(same), tools.settings.grading.pairs_per_call, _key)
        return found

    async def ask(
        self, subject: Batch[Two], file: CaseFile, tools: Toolbox
    ) -> Sequence[IntentSimilarity]:
        """Compare one question with those that share its call."""
        two = subject.things
        found: Any = await tools.judge.ask(
            tools.agents.intent_comparer, pair=two[0][0], others=[other for _, other in two]
        )
        return found

    def unscored(
        self, subject: Batch[Two], file: CaseFile, tools: Toolbox, failure: Failure
    ) -> Sequence[IntentSimilarity]:
        """Return no similarity, for each two of the call."""
        return [
            IntentSimilarity(first=first.id, second=second.id, failure=failure)
            for first, second in subject.things
        ]

    def depends_on(self, subject: Batch[Two], file: CaseFile, tools: Toolbox) -> Iterable[str]:
        """Return the questions that are compared in the call."""
        for first, second in subject.things:
            yield from (first.question, second.question)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the mean similarity."""
        return intent_scores(outcome.of(IntentSimilarity), outcome.judged_by(self))

    def n_most_calls(self, file: CaseFile, tools: Toolbox) -> int:
        """Count the calls."""
        return sum(one.is_sent for one in file.items(self, tools).values())


def _key(two: Two) -> str:
    return IntentSimilarity(first=two[0].id, second=two[1].id).item
