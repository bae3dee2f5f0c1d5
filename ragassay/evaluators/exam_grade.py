"""Exam grade: how well the answer, as a passage, covers each item of a test bank (Dietz 2024)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragassay.evaluators.base import CaseFile, Evaluator, Task, Wording, Words
from ragassay.metrics.exam import exam_scores
from ragassay.records import (
    Case,
    ExamGrade,
    ExamGrader,
    ExamItem,
    Failure,
    Score,
)
from ragassay.text.answer_match import is_known_answer
from ragassay.threads import in_thread

if TYPE_CHECKING:
    from ragassay.evaluators.outcome import Outcome
    from ragassay.evaluators.toolbox import Toolbox


@dataclass(frozen=True)
class Asked:
    """Items that are graded in one call; the first names it.

    Attributes:
        grader: How they are graded.
        items: All of one kind.
        is_sent: Whether the call is made; else another one grades its item too.
    """

    grader: ExamGrader
    items: tuple[ExamItem, ...]
    is_sent: bool


class ExamGradeEvaluator(Evaluator[Asked]):
    """Grade the answer by each item of its query's test bank."""

    name = "exam_grade"
    part = "grades"
    record = ExamGrade
    is_weighed = True
    words = Words(
        verdict="exam grade",
        question="Items of the test bank",
        kind="exam_item",
        group="exam",
        title="Test bank",
        direction="higher",
        scores={
            "exam.cover": Wording("Items covered (4 or 5)", "higher"),
            "exam.rating": Wording("Mean rating of the items", "higher"),
            "exam.answered": Wording("Items answered", "higher"),
        },
    )

    def subjects(self, file: CaseFile, tools: Toolbox) -> Mapping[str, Asked]:
        """Return the items by each way to grade them; none for an answer without a sentence."""
        items = file.case.exam if file.case.sentences else ()
        found: dict[str, Asked] = {}
        for grader in tools.grading.item_ways:
            for kind in dict.fromkeys(item.kind for item in items):
                alike = [item for item in items if item.kind == kind]
                n = tools.grading.n_items_of(grader) or len(alike)
                for start in range(0, len(alike), n):
                    found |= _asked(grader, alike[start : start + n])
        return {key: found[key] for key in _keys(items, tools.grading.item_ways)}

    def tasks(self, file: CaseFile, tools: Toolbox) -> list[Task]:
        """Return one task a call."""
        asked = file.subjects(self, tools)
        return [Task(self.name, key, file.id) for key, one in asked.items() if one.is_sent]

    async def ask(
        self, subject: Asked, task: Task, file: CaseFile, tools: Toolbox
    ) -> Sequence[ExamGrade]:
        """Grade by one item, or by those that share its call."""
        items = subject.items if task.turn == "first" else subject.items[:1]
        instrument = tools.grading.instrument
        if instrument is not None:
            case = file.case
            return await in_thread(
                instrument.grade, items, case.answer, case.question, subject.grader
            )
        import dspy

        with dspy.context(lm=tools.jury.judge):
            if subject.grader == "rating":
                rated: Any = await tools.agents.rater(items[0].kind).acall(
                    case=file.case, items=items
                )
                return rated
            return [await _extracted(items[0], file.case, tools)]

    def unscored(
        self, subject: Asked, task: Task, file: CaseFile, tools: Toolbox, failure: Failure
    ) -> Sequence[ExamGrade]:
        """Return no grade, for each item of the call."""
        items = subject.items if task.turn == "first" else subject.items[:1]
        return [
            ExamGrade(exam_item=item.id, grader=subject.grader, failure=failure) for item in items
        ]

    def depends_on(
        self, subject: Asked, task: Task, file: CaseFile, tools: Toolbox
    ) -> Iterable[str]:
        """Return the items that are graded together, the passage, and what grades it."""
        items = subject.items if task.turn == "first" else subject.items[:1]
        yield file.case.answer
        yield from (item.model_dump_json() for item in items)
        yield from tools.grading.identity

    def judged_by(self, tools: Toolbox) -> str:
        """Name what grades."""
        return tools.or_second(tools.grading.name)

    def scores(self, outcome: Outcome) -> dict[str, Score]:
        """Return the shares of covered and answered items, and the mean rating."""
        return exam_scores(outcome.of(ExamGrade), outcome.judged_by(self))

    def n_most_questions(self, file: CaseFile, tools: Toolbox) -> int:
        """Count the items; each may go to a second judge."""
        return len(file.subjects(self, tools))

    def n_most_calls(self, file: CaseFile, tools: Toolbox) -> int:
        """Count an extraction twice where its answer may have to be checked."""
        if tools.grading.instrument is not None:
            return 0
        sent = [one for one in file.subjects(self, tools).values() if one.is_sent]
        n_checked = sum(one.grader == "extraction" and bool(one.items[0].answers) for one in sent)
        return len(sent) + n_checked


def _asked(grader: ExamGrader, batch: Sequence[ExamItem]) -> dict[str, Asked]:
    whole = Asked(grader, tuple(batch), is_sent=True)
    rest = {_key(grader, item): Asked(grader, (item,), is_sent=False) for item in batch[1:]}
    return {_key(grader, batch[0]): whole, **rest}


def _key(grader: ExamGrader, item: ExamItem) -> str:
    return ExamGrade(exam_item=item.id, grader=grader).item


def _keys(items: Sequence[ExamItem], graders: Sequence[ExamGrader]) -> list[str]:
    return [_key(grader, item) for grader in graders for item in items]


async def _extracted(item: ExamItem, case: Case, tools: Toolbox) -> ExamGrade:
    """Take an answer from the passage, and hold it against the known ones, if any.

    A rule does; where it sees no match, the judge is asked: other words may mean the same.
    """
    grade: Any = await tools.agents.extractor(item.kind).acall(case=case, item=item)
    is_open = grade.is_correct and bool(item.answers)
    if not is_open or is_known_answer(grade.answer, item.answers, item.text):
        return grade
    checked: Any = await tools.agents.answer_checker.acall(
        case=case, item=item, answer=grade.answer
    )
    is_same, usage = checked
    return grade.model_copy(update={"is_correct": is_same, "usage": grade.usage + usage})
