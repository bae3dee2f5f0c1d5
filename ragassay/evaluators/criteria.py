"""Weighted criteria of a user's own, each held against the answer by the judge."""

from __future__ import annotations

from collections.abc import Mapping

from ragassay.evaluators.base import Outcome, Run
from ragassay.evaluators.cases import CaseFile
from ragassay.evaluators.own import Judge, OwnEvaluator, Subject
from ragassay.prompts import Criteria
from ragassay.records import OwnVerdict, Said, Score

CREDITS = {"met": 1.0, "partly_met": 0.5, "not_met": 0.0}


class CriteriaEvaluator(OwnEvaluator):
    """Hold the answer against each criterion; its score is the weighted share that is met.

    score = sum of w_i * credit_i / sum of w_i, with credit 1 for met, 0.5 for partly met.

    Args:
        criteria: The criteria.

    Raises:
        SettingsError: The name is no name.
    """

    def __init__(self, criteria: Criteria) -> None:
        async def judged(judge: Judge) -> Said:
            """Stand for `says_of`, which asks about one criterion."""
            return await self.says_of(Subject(), judge)

        super().__init__(
            judged,
            name=criteria.name,
            labels=tuple(CREDITS),
            version=criteria.model_dump_json(),
        )
        self.criteria = criteria

    def items(self, file: CaseFile, run: Run) -> Mapping[str, Subject]:
        """Return the criteria; none for an empty answer."""
        chosen = self.criteria.criteria if file.case.sentences else ()
        return {one.text: Subject(criterion=one.text) for one in chosen}

    async def says_of(self, subject: Subject, judge: Judge) -> Said:
        """Ask whether the answer meets a criterion."""
        parts = [
            self.criteria.question,
            self.criteria.reference and f"A good answer says: {self.criteria.reference}",
            f"Does the answer meet this criterion? {subject.criterion}",
        ]
        return await judge.choose(" ".join(part for part in parts if part), self.labels)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the weighted share of the criteria that are met, with its bounds."""
        weights = {one.text: one.weight for one in self.criteria.criteria}
        verdicts = [v for v in outcome.verdicts[self.name] if isinstance(v, OwnVerdict)]
        known = [(weights[v.criterion], CREDITS[v.label]) for v in verdicts if v.label]
        total, known_total = sum(weights[v.criterion] for v in verdicts), sum(w for w, _ in known)
        gained = sum(weight * credit for weight, credit in known)
        score = Score(
            value=round(gained / known_total, 4) if known else None,
            n=len(known),
            n_unscored=len(verdicts) - len(known),
            worst=round(gained / total, 4) if total else None,
            best=round((gained + total - known_total) / total, 4) if total else None,
            judge=self.judged_by(outcome.run),
        )
        return {f"{self.name}.score": score}
