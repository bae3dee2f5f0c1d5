"""RACAR: five ratings of each question-answer pair against its paper (Wan et al. 2024, 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragassay.evaluators.base import CaseFile, Wording, Words
from ragassay.evaluators.batches import Batch, BatchEvaluator, batches
from ragassay.metrics.qa.racar import racar_scores
from ragassay.records import RACAR, Failure, QAPair, RacarDimension, RacarRating, Score
from ragassay.threads import in_thread

if TYPE_CHECKING:
    from ragassay.evaluators.outcome import Outcome
    from ragassay.evaluators.toolbox import Toolbox

Rated = tuple[RacarDimension, QAPair]


class RacarEvaluator(BatchEvaluator[Rated]):
    """Rate each pair in each dimension; the pairs of a paper share a call."""

    name = "racar"
    part = "racar"
    record = RacarRating
    is_weighed = True
    words = Words(
        verdict="RACAR rating",
        question="Question-answer pairs (RACAR)",
        kind="racar",
        group="racar",
        title="RACAR",
        direction="higher",
        scores={f"racar.{name}": Wording(name.capitalize(), "higher") for name in RACAR},
    )

    def items(self, file: CaseFile, tools: Toolbox) -> Mapping[str, Batch[Rated]]:
        """Return the pairs by dimension."""
        found: dict[str, Batch[Rated]] = {}
        n = tools.settings.grading.pairs_per_call if tools.models.pair_rater is None else 0
        for dimension in _dimensions(tools):
            rated: list[Rated] = [(dimension, pair) for pair in file.case.pairs]
            found |= batches(rated, n, _key)
        return found

    async def ask(
        self, subject: Batch[Rated], file: CaseFile, tools: Toolbox
    ) -> Sequence[RacarRating]:
        """Rate the pairs that share a call."""
        dimension, _ = subject.things[0]
        pairs = [pair for _, pair in subject.things]
        instrument = tools.models.pair_rater
        if instrument is not None:
            return await in_thread(instrument.rate, dimension, pairs, file.case)

        rated: Any = await tools.judge.ask(
            tools.agents.racar_rater(dimension), case=file.case, pairs=pairs
        )
        return rated

    def unscored(
        self, subject: Batch[Rated], file: CaseFile, tools: Toolbox, failure: Failure
    ) -> Sequence[RacarRating]:
        """Return no rating, for each pair of the call."""
        return [
            RacarRating(pair=pair.id, dimension=dimension, failure=failure)
            for dimension, pair in subject.things
        ]

    def depends_on(self, subject: Batch[Rated], file: CaseFile, tools: Toolbox) -> Iterable[str]:
        """Return the pairs that are rated together, and what rates them."""
        yield from (pair.model_dump_json() for _, pair in subject.things)
        if tools.models.pair_rater is not None:
            yield from tools.models.pair_rater.identity

    def judged_by(self, tools: Toolbox) -> str:
        """Name what rates."""
        instrument = tools.models.pair_rater
        return tools.or_second(instrument.name if instrument else tools.judge.answered_by)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the mean rating in each dimension."""
        return racar_scores(outcome.of(RacarRating), outcome.judged_by(self))

    def n_most_calls(self, file: CaseFile, tools: Toolbox) -> int:
        """Count the calls; an instrument takes none."""
        if tools.models.pair_rater is not None:
            return 0
        return sum(one.is_sent for one in file.items(self, tools).values())


def _dimensions(tools: Toolbox) -> Sequence[RacarDimension]:
    """Return what is rated.

    An instrument is asked for what it cannot tell only where a second judge decides that.
    """
    instrument = tools.models.pair_rater
    if instrument is None:
        return RACAR if tools.judge.lm is not None else ()
    can_pass_on = bool(tools.settings.judge.escalate)
    return [name for name in RACAR if can_pass_on or name in instrument.dimensions]


def _key(rated: Rated) -> str:
    dimension, pair = rated
    return RacarRating(pair=pair.id, dimension=dimension).item
