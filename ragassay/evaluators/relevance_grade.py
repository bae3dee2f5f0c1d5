"""Relevance grade: how relevant the answer, as a passage, is to its query (Dietz 2024, 3.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragassay.evaluators.base import CaseFile, Evaluator, Wording, Words
from ragassay.metrics.exam import relevance_scores
from ragassay.records import DirectGrader, Failure, RelevanceGrade, Score
from ragassay.threads import in_thread

if TYPE_CHECKING:
    from ragassay.evaluators.outcome import Outcome
    from ragassay.evaluators.toolbox import Toolbox

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

    def items(self, file: CaseFile, tools: Toolbox) -> Mapping[str, DirectGrader]:
        """Return the direct graders of the run; none for an answer without a sentence."""
        chosen = tools.grading.direct_ways if file.case.sentences else ()
        return {name: name for name in chosen}

    async def ask(
        self, subject: DirectGrader, file: CaseFile, tools: Toolbox
    ) -> Sequence[RelevanceGrade]:
        """Grade once."""
        instrument, case = tools.grading.instrument, file.case
        if instrument is not None:
            return [
                await in_thread(instrument.relevance, case.question, case.judged_answer, subject)
            ]

        found: Any = await tools.judge.ask(tools.agents.relevance_grader, case=case, grader=subject)
        return [found]

    def unscored(
        self, subject: DirectGrader, file: CaseFile, tools: Toolbox, failure: Failure
    ) -> Sequence[RelevanceGrade]:
        """Return no grade."""
        return [RelevanceGrade(grader=subject, failure=failure)]

    def depends_on(self, subject: DirectGrader, file: CaseFile, tools: Toolbox) -> Iterable[str]:
        """Return query, passage, and what grades."""
        return (file.case.question, file.case.judged_answer, *tools.grading.identity)

    def judged_by(self, tools: Toolbox) -> str:
        """Name what grades."""
        return tools.or_second(tools.grading.name)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return one score a grader."""
        return relevance_scores(outcome.of(RelevanceGrade), outcome.judged_by(self))

    def n_most_calls(self, file: CaseFile, tools: Toolbox) -> int:
        """Count one call a grader; an instrument takes none."""
        return 0 if tools.grading.instrument is not None else len(file.items(self, tools))
