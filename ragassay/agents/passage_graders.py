"""Grade a passage by the items of a test bank, or by its query (Dietz 2024, 3.2 and 3.5)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import dspy
from pydantic import StringConstraints

from ragassay.agents.base import Agent, AgentRequest
from ragassay.agents.context import fence_text, mark_of, passage_context
from ragassay.agents.sampling import SampledChoice
from ragassay.prompts import load_prompts
from ragassay.records import (
    MOST_EXAM_RATING,
    Case,
    DirectGrader,
    ExamGrade,
    ExamItem,
    ItemKind,
    RelevanceGrade,
    Usage,
)

RATINGS = tuple(range(MOST_EXAM_RATING + 1))

Rating = Literal[0, 1, 2, 3, 4, 5]
YesNo = Literal["yes", "no"]

RATERS: dict[ItemKind, str] = {"question": "question_rater", "nugget": "nugget_rater"}
EXTRACTORS: dict[ItemKind, str] = {"question": "answer_extractor", "nugget": "nugget_extractor"}
"""Names of the prompts by kind of item."""


@functools.lru_cache(maxsize=64)
def _rating_signature(kind: ItemKind, n: int, instruction: str) -> type[dspy.Signature]:
    fields: dict[str, Any] = {"context": (str, dspy.InputField())}
    fields |= {name: (str, dspy.InputField()) for name in _names(kind, n)}
    fields |= {name: (Rating, dspy.OutputField()) for name in _names("rating", n)}
    return dspy.make_signature(fields, instruction, signature_name="RateItems")


def _names(stem: str, n: int) -> list[str]:
    return [stem] if n == 1 else [f"{stem}_{place}" for place in range(1, n + 1)]


class ItemRater(Agent):
    """An agent that rates how well a passage covers items of one kind, 0 to 5."""

    name = "question_rater"

    def __init__(self, kind: ItemKind) -> None:
        self.kind: ItemKind = kind
        super().__init__(_rating_signature(kind, 1, ""), RATERS[kind])

    def request(self, case: Case, items: Sequence[ExamItem]) -> AgentRequest:
        """Return the request to rate a case's answer by several items at once; mostly by one.

        Args:
            case: The case; its answer is the passage.
            items: At least one, all of the agent's kind.

        Returns:
            The request; its reply is read as one grade an item. The call's usage counts with the
            first.
        """
        predictor: Any = self.predict
        n = len(items)
        names = _names("rating", n)
        signature = _rating_signature(self.kind, n, self.instructions)
        mark = mark_of(case)
        shown = [fence_text(item.text, mark) for item in items]

        def read(found: dspy.Prediction, usage: Usage) -> list[ExamGrade]:
            return [
                _read_grade(item, found, name, usage.unpaid if place else usage)
                for place, (item, name) in enumerate(zip(items, names, strict=True))
            ]

        inputs = {"context": passage_context(case)}
        inputs |= dict(zip(_names(self.kind, n), shown, strict=True))
        return AgentRequest(signature, inputs, tuple(predictor.demos) if n == 1 else (), read)


def _read_grade(item: ExamItem, found: dspy.Prediction, name: str, usage: Usage) -> ExamGrade:
    rating: int = found[name]
    chosen = SampledChoice.of(found, name, RATINGS)
    return ExamGrade(
        exam_item=item.id,
        rating=rating,
        score=round(chosen.mean, 4),
        is_correct=rating > 0,
        usage=usage,
        **chosen.sureness,
    )


Extract = Annotated[
    str, StringConstraints(max_length=load_prompts().agents["answer_extractor"].answer_chars)
]


class ExtractAnswer(dspy.Signature):
    """Take from a passage what it says on an item."""

    context: str = dspy.InputField()
    item: str = dspy.InputField()
    answered: YesNo = dspy.OutputField()
    answer: Extract = dspy.OutputField()


class ItemExtractor(Agent):
    """An agent that takes the answer to a question, or the mention of a nugget, from a passage."""

    name = "answer_extractor"

    def __init__(self, kind: ItemKind) -> None:
        super().__init__(ExtractAnswer, EXTRACTORS[kind])

    def request(self, case: Case, item: ExamItem) -> AgentRequest:
        """Return the request to take what a case's answer says on one item.

        Returns:
            The request; its reply is read as a grade that is correct where something was found.
        """

        def read(found: dspy.Prediction, usage: Usage) -> ExamGrade:
            chosen = SampledChoice.of(found, "answered", ("yes", "no"))
            has_answer = found.answered == "yes" and bool(found.answer.strip())
            return ExamGrade(
                exam_item=item.id,
                grader="extraction",
                answer=found.answer.strip() if has_answer else "",
                is_correct=has_answer,
                usage=usage,
                **chosen.sureness,
            )

        shown = fence_text(item.text, mark_of(case))
        return self.asking(read, context=passage_context(case), item=shown)


class CheckAnswer(dspy.Signature):
    """Say whether an answer means the same as a known one."""

    context: str = dspy.InputField()
    question: str = dspy.InputField()
    known: str = dspy.InputField()
    answer: str = dspy.InputField()
    same: YesNo = dspy.OutputField()


class AnswerChecker(Agent):
    """An agent that compares the answer that was taken from a passage with the known ones."""

    name = "answer_checker"
    signature = CheckAnswer

    def request(self, case: Case, item: ExamItem, answer: str) -> AgentRequest:
        """Return the request; its reply is read as whether they mean the same, and the usage."""
        mark = mark_of(case)

        def read(found: dspy.Prediction, usage: Usage) -> tuple[bool, Usage]:
            return found.same == "yes", usage

        return self.asking(
            read,
            context=passage_context(case),
            question=fence_text(item.text, mark),
            known=fence_text("\n".join(item.answers), mark),
            answer=fence_text(answer, mark),
        )


_WORDS = load_prompts().agents["relevance_grader"]

THOMAS = (0, 1, 2)
"""Ratings of Thomas et al.; the other graders say yes or no."""


@functools.lru_cache(maxsize=16)
def _signature(grader: DirectGrader, instruction: str) -> type[dspy.Signature]:
    possible: Any = Literal[THOMAS] if grader == "thomas" else Literal["yes", "no"]
    fields: dict[str, Any] = {
        "context": (str, dspy.InputField()),
        "query": (str, dspy.InputField()),
        "relevance": (possible, dspy.OutputField()),
    }
    return dspy.make_signature(fields, instruction, signature_name="GradeRelevance")


class RelevanceGrader(Agent):
    """An agent that says how relevant a passage is to its query, in the manner of a direct grader.

    The manners are those of Faggioli et al. 2023 (fagb), Sun et al. 2023 (sun), each also with
    examples, HELM (Liang et al. 2022) and Thomas et al. 2023; the wording is ours.
    """

    name = "relevance_grader"
    signature = _signature("fagb", "")

    def request(self, case: Case, grader: DirectGrader) -> AgentRequest:
        """Return the request to grade the relevance of a case's answer to its question."""
        task = f"{self.instructions} {_WORDS.additions[grader]}"
        labels = THOMAS if grader == "thomas" else ("yes", "no")

        def read(found: dspy.Prediction, usage: Usage) -> RelevanceGrade:
            chosen = SampledChoice.of(found, "relevance", labels)
            rating = int(chosen.label) if grader == "thomas" else int(chosen.label == "yes")
            return RelevanceGrade(
                grader=grader,
                rating=rating,
                is_relevant=rating > 0,
                usage=usage,
                **chosen.sureness,
            )

        shown = fence_text(case.question, mark_of(case))
        return self.asking(
            read, _signature(grader, task), context=passage_context(case), query=shown
        )
