"""Intent: how far each two questions on a paper ask for the same (Wan et al. 2024, 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, groupby
from typing import Any

from ragassay.evaluators.base import Outcome, Run
from ragassay.evaluators.batches import Batch, BatchEvaluator, batches
from ragassay.evaluators.cases import CaseFile
from ragassay.evaluators.words import Wording, Words
from ragassay.metrics.qa.racar import intent_scores
from ragassay.records import Failure, IntentSimilarity, QAPair, Score

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

    def items(self, file: CaseFile, run: Run) -> Mapping[str, Batch[Two]]:
        """Return each two questions; none without a judge that can tell."""
        if run.judge.lm is None or run.models.pair_rater is not None:
            return {}
        found: dict[str, Batch[Two]] = {}
        for _, same in groupby(combinations(file.case.pairs, 2), key=lambda two: two[0].id):
            found |= batches(list(same), run.settings.grading.pairs_per_call, _key)
        return found

    async def ask(
        self, subject: Batch[Two], file: CaseFile, run: Run
    ) -> Sequence[IntentSimilarity]:
        """Compare one question with those that share its call."""
        two = subject.things
        found: Any = await run.judge.ask(
            run.agents.intent_comparer, pair=two[0][0], others=[other for _, other in two]
        )
        return found

    def unscored(
        self, subject: Batch[Two], file: CaseFile, run: Run, failure: Failure
    ) -> Sequence[IntentSimilarity]:
        """Return no similarity, for each two of the call."""
        return [
            IntentSimilarity(first=first.id, second=second.id, failure=failure)
            for first, second in subject.things
        ]

    def depends_on(self, subject: Batch[Two], file: CaseFile, run: Run) -> Iterable[str]:
        """Return the questions that are compared in the call."""
        for first, second in subject.things:
            yield from (first.question, second.question)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the mean similarity."""
        return intent_scores(outcome.of(IntentSimilarity), self.judged_by(outcome.run))

    def n_most_calls(self, file: CaseFile, run: Run) -> int:
        """Count the calls."""
        return sum(one.is_sent for one in self.known_items(file, run).values())


def _key(two: Two) -> str:
    return IntentSimilarity(first=two[0].id, second=two[1].id).item
