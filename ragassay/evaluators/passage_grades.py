"""Grade the answer as a passage, by test bank items or by relevance (Dietz 2024)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragassay.evaluators.base import Batch, BatchEvaluator, Evaluator, Outcome, Run
from ragassay.evaluators.cases import OpenCase
from ragassay.evaluators.display import EvaluatorDisplay, ScoreDisplay
from ragassay.metrics.papers.retrieval import score_exam_grades, score_relevance_grades
from ragassay.process import run_in_thread
from ragassay.records import (
    Case,
    DirectGrader,
    ExamGrade,
    ExamGrader,
    ExamItem,
    RelevanceGrade,
    Score,
)
from ragassay.text.answer_match import is_known_answer

if TYPE_CHECKING:
    from ragassay.instruments.exam_grader import ExamInstrument

Graded = tuple[ExamGrader, ExamItem]


class ExamGradeEvaluator(BatchEvaluator[Graded]):
    """Grade the answer on each item in the test bank of its query."""

    name = "exam_grade"
    part = "grades"
    record = ExamGrade
    is_weighed = True
    display = EvaluatorDisplay(
        verdict="exam grade",
        question="Items of the test bank",
        kind="exam_item",
        group="exam",
        title="Test bank",
        direction="higher",
        scores={
            "exam.cover": ScoreDisplay("Items covered (4 or 5)", "higher"),
            "exam.rating": ScoreDisplay("Mean rating of the items", "higher"),
            "exam.answered": ScoreDisplay("Items answered", "higher"),
        },
    )

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, Batch[Graded]]:
        """Return the items for each grading method, or nothing for an empty answer."""
        items = open_case.case.exam if open_case.case.sentences else ()
        by_key: dict[str, Batch[Graded]] = {}
        for grader in run.grading.item_ways:
            for kind in dict.fromkeys(item.kind for item in items):
                same_kind: list[Graded] = [(grader, item) for item in items if item.kind == kind]
                by_key |= self.build_batches(same_kind, run.grading.choose_batch_size(grader))
        return {
            key: by_key[key]
            for key in (
                self.build_item_key((w, item)) for w in run.grading.item_ways for item in items
            )
        }

    async def ask(self, item: Batch[Graded], open_case: OpenCase, run: Run) -> Sequence[ExamGrade]:
        """Grade the answer on the items of a batch."""
        grader, _ = item.things[0]
        items = [exam_item for _, exam_item in item.things]
        instrument = run.grading.instrument
        if instrument is not None:
            case = open_case.case
            return await run_in_thread(instrument.grade, items, case.judged_answer, grader)
        if grader == "rating":
            rater = run.agents.choose_rater(items[0].kind)
            ratings: Any = await run.judge.ask(rater, case=open_case.case, items=items)
            return ratings
        return [await _grade_by_extraction(items[0], open_case.case, run)]

    def build_item_fields(self, thing: Graded) -> dict[str, Any]:
        """Return the fields that identify a grade: the item's id and the grading method."""
        return {"exam_item": thing[1].id, "grader": thing[0]}

    def list_dependencies(
        self, item: Batch[Graded], open_case: OpenCase, run: Run
    ) -> Iterable[str]:
        """Return what a grade depends on: the items of its batch, the passage and the grader."""
        yield open_case.case.judged_answer
        yield from (exam_item.model_dump_json() for _, exam_item in item.things)
        yield from run.grading.identity

    def find_instrument(self, run: Run) -> ExamInstrument | None:
        """Return the local passage grader, or None if the judge grades."""
        return run.grading.instrument

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the shares of covered and answered items, and the mean rating."""
        return score_exam_grades(outcome.select_verdicts(ExamGrade), self.name_judge(outcome.run))

    def count_max_calls(self, open_case: OpenCase, run: Run) -> int:
        """Count a second call for each extraction whose answer the judge may have to check."""
        n_sent = super().count_max_calls(open_case, run)
        sent = (
            one.things[0] for one in self.get_cached_items(open_case, run).values() if one.is_sent
        )
        n_checked = sum(way == "extraction" and bool(item.answers) for way, item in sent)
        return n_sent + n_checked if n_sent else 0


async def _grade_by_extraction(item: ExamItem, case: Case, run: Run) -> ExamGrade:
    """Extract an answer from the passage and compare it with the known answers, if any.

    If the rules find no match, the judge is asked, because equivalent answers may be worded
    differently.
    """
    grade: Any = await run.judge.ask(run.agents.choose_extractor(item.kind), case=case, item=item)
    is_open = grade.is_correct and bool(item.answers)
    if not is_open or is_known_answer(grade.answer, item.answers, item.text):
        return grade
    is_same, usage = await run.judge.ask(
        run.agents.answer_checker, case=case, item=item, answer=grade.answer
    )
    return grade.model_copy(update={"is_correct": is_same, "usage": grade.usage + usage})


TITLES: dict[DirectGrader, str] = {
    "fagb": "Relevant (Faggioli)",
    "fagb_few": "Relevant (Faggioli, with examples)",
    "sun": "Relevant (Sun)",
    "sun_few": "Relevant (Sun, with examples)",
    "helm": "Relevant (HELM)",
    "thomas": "Relevant (Thomas)",
}


class RelevanceGradeEvaluator(Evaluator[DirectGrader]):
    """Grade the answer's relevance to its question with each direct grader."""

    name = "relevance_grade"
    part = "grades"
    record = RelevanceGrade
    is_weighed = True
    display = EvaluatorDisplay(
        verdict="relevance grade",
        question="Relevance to the query",
        kind="relevance",
        group="relevance",
        title="Relevance",
        direction="higher",
        scores={
            f"relevance.{name}": ScoreDisplay(title, "higher") for name, title in TITLES.items()
        },
    )

    def items(self, open_case: OpenCase, run: Run) -> Mapping[str, DirectGrader]:
        """Return the direct graders of the run, or nothing for an empty answer."""
        chosen = run.grading.direct_ways if open_case.case.sentences else ()
        return {name: name for name in chosen}

    async def ask(
        self, item: DirectGrader, open_case: OpenCase, run: Run
    ) -> Sequence[RelevanceGrade]:
        """Grade the relevance of the passage with one direct grader."""
        instrument, case = run.grading.instrument, open_case.case
        if instrument is not None:
            return [
                await run_in_thread(
                    instrument.grade_relevance, case.question, case.judged_answer, item
                )
            ]

        grade: Any = await run.judge.ask(run.agents.relevance_grader, case=case, grader=item)
        return [grade]

    def build_verdict_fields(self, item: DirectGrader) -> dict[str, Any]:
        """Return the grader."""
        return {"grader": item}

    def list_dependencies(self, item: DirectGrader, open_case: OpenCase, run: Run) -> Iterable[str]:
        """Return what a grade depends on: the query, the passage and the grader."""
        return (open_case.case.question, open_case.case.judged_answer, *run.grading.identity)

    def find_instrument(self, run: Run) -> ExamInstrument | None:
        """Return the local passage grader, or None if the judge grades."""
        return run.grading.instrument

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return one score for each direct grader."""
        return score_relevance_grades(
            outcome.select_verdicts(RelevanceGrade), self.name_judge(outcome.run)
        )
