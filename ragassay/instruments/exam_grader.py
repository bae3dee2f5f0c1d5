"""The embedded grader: grades a passage by a test bank's items without a language model.

A few similarities and the verifier's opinion are weighed into the odds of each rating (proportional
odds). The few numbers are in `ragassay/models/raters/exam.json`; `ragassay models show
ragassay/exam-grader` says what they were fitted on, and how they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ragassay.errors import SettingsError
from ragassay.instruments.exam_signals import Measured, measure
from ragassay.metrics.risk import bound_of, undecided
from ragassay.metrics.uncertainty import rounded_bits
from ragassay.models.entailment import EntailmentModel
from ragassay.models.exam_rater import NAME, ExamModel, shipped_exam_model
from ragassay.records import (
    DirectGrader,
    ExamGrade,
    ExamGrader,
    ExamItem,
    Failure,
    RelevanceGrade,
)
from ragassay.retrievers.rerank import TextEncoder

EMPTY = Failure(reason="empty_answer", detail="the passage has no text")


class EmbeddedExamGrader:
    """Grades by similarity and verifier; undecided where these cannot tell.

    Args:
        embedder: The packaged one is what the numbers were fitted to.
        verifier: Likewise.
        model: By default the shipped numbers.
    """

    name = NAME
    graders: frozenset[ExamGrader] = frozenset({"rating"})
    direct_graders: frozenset[DirectGrader] = frozenset()

    def __init__(
        self, embedder: TextEncoder, verifier: EntailmentModel, model: ExamModel | None = None
    ) -> None:
        self._embedder, self._verifier = embedder, verifier
        self._model = model or shipped_exam_model()
        self.digest = self._model.digest

    @property
    def identity(self) -> tuple[str, ...]:
        """Name and digests of the numbers, the embedder and the verifier."""
        embedder = str(getattr(self._embedder, "digest", ""))
        return (self.name, self.digest, embedder, self._verifier.digest)

    def grade(
        self,
        items: Sequence[ExamItem],
        passage: str,
        query: str = "",
        grader: ExamGrader = "rating",
    ) -> list[ExamGrade]:
        """See `ExamInstrument`; the answer is the sentence closest to a covered item.

        The query is not used. The items of a bank are measured together: how close the passage is
        to the bank counts for each of them.
        """
        if grader not in self.graders:
            _refuse(f"{grader}: it rates")
        if not passage.strip():
            return [ExamGrade(exam_item=item.id, failure=EMPTY) for item in items]
        found = measure(items, passage, self._embedder, self._verifier)
        return [self._grade(item, one) for item, one in zip(items, found, strict=True)]

    def relevance(self, query: str, passage: str, grader: DirectGrader) -> RelevanceGrade:
        """It grades by items only.

        Raises:
            SettingsError: Always.
        """
        _refuse(f"{grader}: it needs a test bank")

    def _grade(self, item: ExamItem, measured: Measured) -> ExamGrade:
        weights = self._model.kinds[item.kind]
        reached = weights.reached(measured.signals)
        is_covered = reached[0] >= 0.5
        leaning = "yes" if is_covered else "no"
        confidence = round(max(reached[0], 1 - reached[0]), 4)
        bits = rounded_bits((reached[0], 1 - reached[0]))
        bound = bound_of(weights.bounds, leaning, "verdict")
        doubt = undecided(bound, leaning, confidence) if bound else None
        rating = sum(share >= 0.5 for share in reached)
        if doubt:
            return ExamGrade(
                exam_item=item.id,
                leaning=leaning,
                leaning_rating=rating,
                confidence=confidence,
                entropy_bits=bits,
                failure=doubt,
            )
        return ExamGrade(
            exam_item=item.id,
            rating=rating,
            score=round(sum(reached), 4),
            answer=measured.sentence if is_covered else "",
            is_correct=is_covered,
            confidence=confidence,
            entropy_bits=bits,
        )


def _refuse(why: str) -> NoReturn:
    raise SettingsError(
        f"{NAME} cannot grade by {why}; name a model with --model, or a local grader"
    )
