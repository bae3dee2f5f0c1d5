"""Grade passages by test bank items or by relevance to their query (Dietz 2024, 3.2 and 3.5)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import dspy
from pydantic import StringConstraints

from ragassay.agents.base import Agent, AgentRequest
from ragassay.agents.context import build_passage_context, fence_text, find_fence_mark
from ragassay.agents.pair_raters import build_field_names
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
"""Prompt names, keyed by item kind."""


@functools.lru_cache(maxsize=64)
def _build_rating_signature(kind: ItemKind, n: int, instruction: str) -> type[dspy.Signature]:
    fields: dict[str, Any] = {"context": (str, dspy.InputField())}
    fields |= {name: (str, dspy.InputField()) for name in build_field_names(kind, n)}
    fields |= {name: (Rating, dspy.OutputField()) for name in build_field_names("rating", n)}
    return dspy.make_signature(fields, instruction, signature_name="RateItems")


class ItemRater(Agent):
    """Rates how well a passage covers items of one kind, from 0 to 5."""

    name = "question_rater"

    def __init__(self, kind: ItemKind) -> None:
        self.kind: ItemKind = kind
        super().__init__(_build_rating_signature(kind, 1, ""), RATERS[kind])

    def request(self, case: Case, items: Sequence[ExamItem]) -> AgentRequest:
        """Request the ratings of one or more items at once.

        The result is a list with one grade per item. The usage of the call is stored in the first
        grade.

        Args:
            case: Case with the passage as its answer.
            items: Items of the kind that the agent grades, at least one.
        """
        predictor: Any = self.predict
        n = len(items)
        signature = _build_rating_signature(self.kind, n, self.instructions)
        mark = find_fence_mark(case)
        shown = [fence_text(item.text, mark) for item in items]

        def read(reply: dspy.Prediction, usage: Usage) -> list[ExamGrade]:
            return [
                _read_grade(item, reply, name, usage.unpaid if i else usage)
                for i, (item, name) in enumerate(
                    zip(items, build_field_names("rating", n), strict=True)
                )
            ]

        inputs = {"context": build_passage_context(case)}
        inputs |= dict(zip(build_field_names(self.kind, n), shown, strict=True))
        return AgentRequest(signature, inputs, tuple(predictor.demos) if n == 1 else (), read)


def _read_grade(item: ExamItem, reply: dspy.Prediction, name: str, usage: Usage) -> ExamGrade:
    rating: int = reply[name]
    choice = SampledChoice.from_reply(reply, name, RATINGS)
    return ExamGrade(
        exam_item=item.id,
        rating=rating,
        score=round(choice.mean, 4),
        is_correct=rating > 0,
        usage=usage,
        **choice.sureness,
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
    """Extracts the answer to a question, or the mention of a nugget, from a passage."""

    name = "answer_extractor"

    def __init__(self, kind: ItemKind) -> None:
        super().__init__(ExtractAnswer, EXTRACTORS[kind])

    def request(self, case: Case, item: ExamItem) -> AgentRequest:
        """Request the answer to one item.

        The grade counts as correct if the model extracts any text.
        """

        def read(reply: dspy.Prediction, usage: Usage) -> ExamGrade:
            choice = SampledChoice.from_reply(reply, "answered", ("yes", "no"))
            has_answer = reply.answered == "yes" and bool(reply.answer.strip())
            return ExamGrade(
                exam_item=item.id,
                grader="extraction",
                answer=reply.answer.strip() if has_answer else "",
                is_correct=has_answer,
                usage=usage,
                **choice.sureness,
            )

        shown = fence_text(item.text, find_fence_mark(case))
        return self.build_request(read, context=build_passage_context(case), item=shown)


class CheckAnswer(dspy.Signature):
    """Say whether an answer means the same as a known one."""

    context: str = dspy.InputField()
    question: str = dspy.InputField()
    known: str = dspy.InputField()
    answer: str = dspy.InputField()
    same: YesNo = dspy.OutputField()


class AnswerChecker(Agent):
    """Compares an extracted answer with the known answers of an item."""

    name = "answer_checker"
    signature = CheckAnswer

    def request(self, case: Case, item: ExamItem, answer: str) -> AgentRequest:
        """Ask whether an answer matches a known one.

        The result is a boolean, and the usage of the call.
        """
        mark = find_fence_mark(case)

        def read(reply: dspy.Prediction, usage: Usage) -> tuple[bool, Usage]:
            return reply.same == "yes", usage

        return self.build_request(
            read,
            context=build_passage_context(case),
            question=fence_text(item.text, mark),
            known=fence_text("\n".join(item.answers), mark),
            answer=fence_text(answer, mark),
        )


_WORDS = load_prompts().agents["relevance_grader"]

THOMAS = (0, 1, 2)
"""Ratings that the prompt `thomas` asks for. The other prompts ask for yes or no."""


@functools.lru_cache(maxsize=16)
def _build_signature(grader: DirectGrader, instruction: str) -> type[dspy.Signature]:
    possible: Any = Literal[THOMAS] if grader == "thomas" else Literal["yes", "no"]
    fields: dict[str, Any] = {
        "context": (str, dspy.InputField()),
        "query": (str, dspy.InputField()),
        "relevance": (possible, dspy.OutputField()),
    }
    return dspy.make_signature(fields, instruction, signature_name="GradeRelevance")


class RelevanceGrader(Agent):
    """Grades the relevance of a passage to its query with a direct grader.

    The graders follow Faggioli et al. 2023 (fagb) and Sun et al. 2023 (sun), both with and without
    examples, HELM (Liang et al. 2022), and Thomas et al. 2023. The prompts are worded differently
    from the originals.
    """

    name = "relevance_grader"
    signature = _build_signature("fagb", "")

    def request(self, case: Case, grader: DirectGrader) -> AgentRequest:
        """Request the relevance of the answer (the passage) to the question (the query)."""
        task = f"{self.instructions} {_WORDS.additions[grader]}"
        labels = THOMAS if grader == "thomas" else ("yes", "no")

        def read(reply: dspy.Prediction, usage: Usage) -> RelevanceGrade:
            choice = SampledChoice.from_reply(reply, "relevance", labels)
            rating = int(choice.label) if grader == "thomas" else int(choice.label == "yes")
            return RelevanceGrade(
                grader=grader,
                rating=rating,
                is_relevant=rating > 0,
                usage=usage,
                **choice.sureness,
            )

        shown = fence_text(case.question, find_fence_mark(case))
        return self.build_request(
            read, _build_signature(grader, task), context=build_passage_context(case), query=shown
        )
