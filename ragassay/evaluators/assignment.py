"""Assignment: whether the answer states a gold nugget (arXiv 2504.15068)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ragassay.evaluators.base import Evaluator, Outcome, Run
from ragassay.evaluators.cases import CaseFile
from ragassay.evaluators.words import Wording, Words
from ragassay.metrics.nuggetizer import assignment_scores
from ragassay.records import Failure, Nugget, NuggetAssignment, Score

NO_JUDGE = Failure(reason="undecided", detail="only a judge can tell, and none is named")


class GoldNugget(NamedTuple):
    """A gold nugget, and its position."""

    gold: int
    nugget: Nugget


class AssignmentEvaluator(Evaluator[GoldNugget]):
    """Hold each gold nugget against the answer: stated, in part, or not.

    Only given ones: those of a reference are unknown before they are written.
    """

    name = "assignment"
    part = "nuggets"
    record = NuggetAssignment
    is_weighed = True
    words = Words(
        verdict="nugget assignment",
        question="Gold nuggets against the answer",
        kind="gold_nugget",
        scores={
            "nuggets.strict_vital": Wording("Vital nuggets, in full", "higher"),
            "nuggets.strict_all": Wording("All nuggets, in full", "higher"),
            "nuggets.vital": Wording("Vital nuggets, half credit", "higher"),
            "nuggets.all": Wording("All nuggets, half credit", "higher"),
        },
    )

    def is_wanted(self, run: Run) -> bool:
        """Return whether nuggets are wanted, and somebody can assign them."""
        known = (run.judge.lm, run.second)
        return super().is_wanted(run) and any(one is not None for one in known)

    def is_reported(self, run: Run) -> bool:
        """Return whether nuggets were assigned."""
        return self.is_wanted(run)

    def items(self, file: CaseFile, run: Run) -> Mapping[str, GoldNugget]:
        """Return the gold nuggets with their positions; none for an answer without a sentence."""
        gold = file.case.gold if file.case.sentences else ()
        return {str(position): GoldNugget(position, nugget) for position, nugget in enumerate(gold)}

    async def ask(
        self, subject: GoldNugget, file: CaseFile, run: Run
    ) -> Sequence[NuggetAssignment]:
        """Hold one gold nugget against the answer."""
        position, nugget = subject
        if run.judge.lm is None:
            return [NuggetAssignment(gold=position, failure=NO_JUDGE)]
        found: Any = await run.judge.ask(
            run.agents.assigner, case=file.case, gold=position, nugget=nugget
        )
        return [found]

    def depends_on(self, subject: GoldNugget, file: CaseFile, run: Run) -> Sequence[str]:
        """Return the nugget."""
        return [subject.nugget.text]

    def settled(self, file: CaseFile, run: Run) -> Sequence[NuggetAssignment]:
        """Return one a gold nugget; an empty answer states none."""
        if file.case.sentences:
            return super().settled(file, run)
        gold = range(len(file.case.gold))
        return [NuggetAssignment(gold=n, assignment="not_support") for n in gold]

    def judged_by(self, run: Run) -> str:
        """Name what assigns."""
        return run.or_second(run.judge.answered_by)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the nuggetizer's four scores."""
        return assignment_scores(
            [one.assignment for one in outcome.of(NuggetAssignment)],
            [nugget.importance for nugget in outcome.file.case.gold],
            self.judged_by(outcome.run),
        )
