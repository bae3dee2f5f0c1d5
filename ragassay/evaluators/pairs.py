"""Rate question-answer pairs with RACAR, and compare their intents (Wan et al. 2024, 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, groupby
from typing import TYPE_CHECKING, Any

from ragassay.evaluators.base import Batch, BatchEvaluator, Outcome, Run
from ragassay.evaluators.cases import OpenCase
from ragassay.evaluators.display import EvaluatorDisplay, ScoreDisplay
from ragassay.metrics.papers.sciqag import average_intent_scores, score_racar_ratings
from ragassay.process import run_in_thread
from ragassay.records import (
    RACAR,
    IntentSimilarity,
    QAPair,
    RacarDimension,
    RacarRating,
    Score,
)

if TYPE_CHECKING:
    from ragassay.instruments.pair_rater import EmbeddedPairRater

Rated = tuple[RacarDimension, QAPair]


class RacarEvaluator(BatchEvaluator[Rated]):
    """Rate each pair on each dimension. Several pairs from the same paper share a call."""

    name = "racar"
    part = "racar"
    record = RacarRating
    is_weighed = True
    display = EvaluatorDisplay(
        verdict="RACAR rating",
        question="Question-answer pairs (RACAR)",
        kind="racar",
        group="racar",
        title="RACAR",
        direction="higher",
        scores={f"racar.{name}": ScoreDisplay(name.capitalize(), "higher") for name in RACAR},
    )

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, Batch[Rated]]:
        """Return the pairs for each dimension, in batches."""
        items: dict[str, Batch[Rated]] = {}
        n = run.settings.grading.pairs_per_call if run.models.pair_rater is None else 0
        for dimension in _choose_dimensions(run):
            rated: list[Rated] = [(dimension, pair) for pair in open_case.case.pairs]
            items |= self.build_batches(rated, n)
        return items

    async def ask(self, item: Batch[Rated], open_case: OpenCase, run: Run) -> Sequence[RacarRating]:
        """Rate the pairs of a batch."""
        dimension, _ = item.things[0]
        pairs = [pair for _, pair in item.things]
        instrument = run.models.pair_rater
        if instrument is not None:
            return await run_in_thread(instrument.rate, dimension, pairs, open_case.case)

        ratings: Any = await run.judge.ask(
            run.agents.choose_racar_rater(dimension), case=open_case.case, pairs=pairs
        )
        return ratings

    def build_item_fields(self, thing: Rated) -> dict[str, Any]:
        """Return the fields that identify a rating: the pair's id and the dimension."""
        return {"pair": thing[1].id, "dimension": thing[0]}

    def list_dependencies(self, item: Batch[Rated], open_case: OpenCase, run: Run) -> Iterable[str]:
        """Return what a rating depends on: the pairs of its batch and the local rater."""
        yield from (pair.model_dump_json() for _, pair in item.things)
        if run.models.pair_rater is not None:
            yield from run.models.pair_rater.identity

    def find_instrument(self, run: Run) -> EmbeddedPairRater | None:
        """Return the local pair rater, or None if the judge rates."""
        return run.models.pair_rater

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the mean rating of each dimension."""
        return score_racar_ratings(
            outcome.select_verdicts(RacarRating), self.name_judge(outcome.run)
        )


def _choose_dimensions(run: Run) -> Sequence[RacarDimension]:
    """Return the dimensions to rate.

    Dimensions that the local rater does not support are included only if a second judge rates them.
    """
    instrument = run.models.pair_rater
    if instrument is None:
        return RACAR if run.judge.lm is not None else ()
    can_pass_on = bool(run.settings.judge.escalate)
    return [name for name in RACAR if can_pass_on or name in instrument.dimensions]


Two = tuple[QAPair, QAPair]


class IntentEvaluator(BatchEvaluator[Two]):
    """Compare every two questions about a paper. Comparisons of the same question share a call."""

    name = "intent"
    part = "intents"
    record = IntentSimilarity
    display = EvaluatorDisplay(
        verdict="intent similarity",
        verdicts="intent similarities",
        question="Questions with the same intent",
        kind="intent",
        group="intent",
        title="Diversity of questions",
        direction="lower",
        scores={"intent.similarity": ScoreDisplay("Similarity by intent", "lower")},
    )

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, Batch[Two]]:
        """Return all pairs of questions, or nothing if no judge can compare them."""
        if run.judge.lm is None or run.models.pair_rater is not None:
            return {}
        items: dict[str, Batch[Two]] = {}
        for _, same in groupby(combinations(open_case.case.pairs, 2), key=lambda two: two[0].id):
            items |= self.build_batches(list(same), run.settings.grading.pairs_per_call)
        return items

    async def ask(
        self, item: Batch[Two], open_case: OpenCase, run: Run
    ) -> Sequence[IntentSimilarity]:
        """Compare one question with the other questions of its batch."""
        two = item.things
        similarities: Any = await run.judge.ask(
            run.agents.intent_comparer, pair=two[0][0], others=[other for _, other in two]
        )
        return similarities

    def build_item_fields(self, thing: Two) -> dict[str, Any]:
        """Return the fields that identify a comparison: the ids of the two pairs."""
        return {"first": thing[0].id, "second": thing[1].id}

    def list_dependencies(self, item: Batch[Two], open_case: OpenCase, run: Run) -> Iterable[str]:
        """Return what a similarity depends on: the questions of its batch."""
        for first, second in item.things:
            yield from (first.question, second.question)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the mean similarity of the questions."""
        return average_intent_scores(
            outcome.select_verdicts(IntentSimilarity), self.name_judge(outcome.run)
        )
