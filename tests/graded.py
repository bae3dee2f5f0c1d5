"""Synthetic graded passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragassay.formats import (
    DirectGrade,
    GradedParagraph,
    ParagraphData,
    ParagraphExamGrade,
    ParagraphJudgment,
    ParagraphRanking,
    QueryParagraphs,
    SelfRating,
)

RATED = "QuestionSelfRatedPrompt"
EXTRACTED = "QuestionExtractionPrompt"


def rated(
    ratings: Mapping[str, int],
    failed: Sequence[str] = (),
    *,
    model: str = "m",
    prompt: str = RATED,
    kind: str = "question",
) -> ParagraphExamGrade:
    """Return a self-rated grade. A rating of 1 or more is correct."""
    key = f"{kind}_id"
    return ParagraphExamGrade(
        correct_answered=tuple(item for item, rating in ratings.items() if rating >= 1),
        wrong_answered=tuple(item for item, rating in ratings.items() if rating < 1),
        self_ratings=tuple(
            SelfRating.model_validate({key: item, "self_rating": rating})
            for item, rating in ratings.items()
        ),
        answers=tuple((item, str(rating)) for item, rating in ratings.items()),
        llm=model,
        llm_response_errors=dict.fromkeys(failed, "unparsable") or None,
        prompt_info={"prompt_class": prompt, "is_self_rated": True},
        prompt_type=kind,
    )


def extracted(
    answers: Mapping[str, str], wrong: Sequence[str] = (), *, model: str = "m"
) -> ParagraphExamGrade:
    """Return a grade by extraction. Answers are correct unless listed in `wrong`."""
    return ParagraphExamGrade(
        correct_answered=tuple(item for item in answers if item not in wrong),
        wrong_answered=tuple(wrong),
        answers=tuple(answers.items()),
        llm=model,
        prompt_info={"prompt_class": EXTRACTED, "is_self_rated": False},
        prompt_type="question",
    )


def direct(rating: int, *, error: str | None = None, model: str = "m") -> DirectGrade:
    """Return a direct grade on a scale from 0 to 3."""
    return DirectGrade(
        correct_answered=rating > 0,
        self_ratings=rating,
        answer=str(rating),
        llm=model,
        llm_response_error=error,
        prompt_info={"prompt_class": "Thomas", "is_self_rated": True},
    )


def passage(
    name: str,
    *grades: ParagraphExamGrade | DirectGrade,
    judged: int | None = None,
    ranks: Mapping[str, int] | None = None,
    query: str = "q",
) -> GradedParagraph:
    """Return a passage with grades, judgment and rank by system."""
    judgments = [] if judged is None else [judged]
    return GradedParagraph(
        paragraph_id=name,
        text=f"The text of {name}.",
        paragraph_data=ParagraphData(
            judgments=tuple(
                ParagraphJudgment(paragraph_id=name, query=query, relevance=level)
                for level in judgments
            ),
            rankings=tuple(
                ParagraphRanking(
                    method=system, paragraph_id=name, query_id=query, rank=rank, score=1 / rank
                )
                for system, rank in (ranks or {}).items()
            ),
        ),
        exam_grades=tuple(g for g in grades if isinstance(g, ParagraphExamGrade)) or None,
        grades=tuple(g for g in grades if isinstance(g, DirectGrade)) or None,
    )


def query(name: str, *passages: GradedParagraph) -> QueryParagraphs:
    return QueryParagraphs(name, passages)
