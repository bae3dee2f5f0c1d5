"""Relevance grade: how relevant the answer, as a passage, is to its query (Dietz 2024, 3.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragassay.evaluators.base import Evaluator, Outcome, Run
from ragassay.evaluators.cases import CaseFile
from ragassay.evaluators.words import Wording, Words
from ragassay.metrics.exam import relevance_scores
from ragassay.records import DirectGrader, Failure, RelevanceGrade, Score
from ragassay.threads import in_thread

TITLES: dict[DirectGrader, str] = {
    "fagb": "Relevant (Faggioli)",
    "fagb_few": "Relevant (Faggioli, with examples)",
    "sun": "Relevant (Sun)",
    "sun_few": "Relevant (Sun, with examples)",
    "helm": "Relevant (HELM)",
    "thomas": "Relevant (Thomas)",
}


class RelevanceGradeEvaluator(Evaluator[DirectGrader]):
    """Grade the answer's relevance to its question, in the manner of each direct grader."""

    name = "relevance_grade"
    part = "grades"
    record = RelevanceGrade
    is_weighed = True
    words = Words(
        verdict="relevance grade",
        question="Relevance to the query",
        kind="relevance",
        group="relevance",
        title="Relevance",
        direction="higher",
        scores={f"relevance.{name}": Wording(title, "higher") for name, title in TITLES.items()},
    )

    def items(self, file: CaseFile, run: Run) -> Mapping[str, DirectGrader]:
        """Return the direct graders of the run; none for an answer without a sentence."""
        chosen = run.grading.direct_ways if file.case.sentences else ()
        return {name: name for name in chosen}

    async def ask(
        self, subject: DirectGrader, file: CaseFile, run: Run
    ) -> Sequence[RelevanceGrade]:
        """Grade once."""
        instrument, case = run.grading.instrument, file.case
        if instrument is not None:
            return [
                await in_thread(instrument.relevance, case.question, case.judged_answer, subject)
            ]

        found: Any = await run.judge.ask(run.agents.relevance_grader, case=case, grader=subject)
        return [found]

    def unscored(
        self, subject: DirectGrader, file: CaseFile, run: Run, failure: Failure
    ) -> Sequence[RelevanceGrade]:
        """Return no grade."""
        return [RelevanceGrade(grader=subject, failure=failure)]

    def depends_on(self, subject: DirectGrader, file: CaseFile, run: Run) -> Iterable[str]:
        """Return query, passage, and what grades."""
        return (file.case.question, file.case.judged_answer, *run.grading.identity)

    def judged_by(self, run: Run) -> str:
        """Name what grades."""
        return run.or_second(run.grading.name)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return one score a grader."""
        return relevance_scores(outcome.of(RelevanceGrade), self.judged_by(outcome.run))

    def n_most_calls(self, file: CaseFile, run: Run) -> int:
        """Count one call a grader; an instrument takes none."""
        return 0 if run.grading.instrument is not None else len(self.known_items(file, run))
