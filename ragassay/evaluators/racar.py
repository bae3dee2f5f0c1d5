"""RACAR: five ratings of each question-answer pair against its paper (Wan et al. 2024, 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragassay.evaluators.base import Outcome, Run
from ragassay.evaluators.batches import Batch, BatchEvaluator, batches
from ragassay.evaluators.cases import CaseFile
from ragassay.evaluators.words import Wording, Words
from ragassay.metrics.qa.racar import racar_scores
from ragassay.records import RACAR, Failure, QAPair, RacarDimension, RacarRating, Score
from ragassay.threads import in_thread

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

    def items(self, file: CaseFile, run: Run) -> Mapping[str, Batch[Rated]]:
        """Return the pairs by dimension."""
        found: dict[str, Batch[Rated]] = {}
        n = run.settings.grading.pairs_per_call if run.models.pair_rater is None else 0
        for dimension in _dimensions(run):
            rated: list[Rated] = [(dimension, pair) for pair in file.case.pairs]
            found |= batches(rated, n, _key)
        return found

    async def ask(self, subject: Batch[Rated], file: CaseFile, run: Run) -> Sequence[RacarRating]:
        """Rate the pairs that share a call."""
        dimension, _ = subject.things[0]
        pairs = [pair for _, pair in subject.things]
        instrument = run.models.pair_rater
        if instrument is not None:
            return await in_thread(instrument.rate, dimension, pairs, file.case)

        rated: Any = await run.judge.ask(
            run.agents.racar_rater(dimension), case=file.case, pairs=pairs
        )
        return rated

    def unscored(
        self, subject: Batch[Rated], file: CaseFile, run: Run, failure: Failure
    ) -> Sequence[RacarRating]:
        """Return no rating, for each pair of the call."""
        return [
            RacarRating(pair=pair.id, dimension=dimension, failure=failure)
            for dimension, pair in subject.things
        ]

    def depends_on(self, subject: Batch[Rated], file: CaseFile, run: Run) -> Iterable[str]:
        """Return the pairs that are rated together, and what rates them."""
        yield from (pair.model_dump_json() for _, pair in subject.things)
        if run.models.pair_rater is not None:
            yield from run.models.pair_rater.identity

    def judged_by(self, run: Run) -> str:
        """Name what rates."""
        instrument = run.models.pair_rater
        return run.or_second(instrument.name if instrument else run.judge.answered_by)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the mean rating in each dimension."""
        return racar_scores(outcome.of(RacarRating), self.judged_by(outcome.run))

    def n_most_calls(self, file: CaseFile, run: Run) -> int:
        """Count the calls; an instrument takes none."""
        if run.models.pair_rater is not None:
            return 0
        return sum(one.is_sent for one in self.known_items(file, run).values())


def _dimensions(run: Run) -> Sequence[RacarDimension]:
    """Return what is rated.

    An instrument is asked for what it cannot tell only where a second judge decides that.
    """
    instrument = run.models.pair_rater
    if instrument is None:
        return RACAR if run.judge.lm is not None else ()
    can_pass_on = bool(run.settings.judge.escalate)
    return [name for name in RACAR if can_pass_on or name in instrument.dimensions]


def _key(rated: Rated) -> str:
    dimension, pair = rated
    return RacarRating(pair=pair.id, dimension=dimension).item
