"""Human labels of answers, and human reviews of verdicts and test bank items."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal
from uuid import uuid4

from pydantic import Field, JsonValue

from ragassay.records.base import Frozen

OwnTask = Literal["evidence", "correctness", "exam_grade", "relevance_grade"]
"""Annotation task named after an evaluator, in which annotators label single verdicts."""

LabelTask = Literal["accuracy", "relevance", "citation", "nugget", "rubric", "racar", OwnTask]
"""Annotation task.

- accuracy: whether the whole answer is accurate ("yes", "no")
- relevance: whether the answer needs a sentence (`RelevanceLabel`)
- citation: whether a cited document supports the citing sentence (`CitationLabel`)
- nugget: whether the answer states a gold nugget (`Assignment`)
- rubric: rating of the answer on a rubric ("1" to "5")
- racar: rating of a question-answer pair in a RACAR dimension ("1" to "3")
- evidence: whether a retrieved passage supports a sentence (`Verdict`)
- correctness: whether the evidence supports a sentence ("correct", "not_supported")
- exam_grade: how well a passage covers a test bank item ("0" to "5", or "yes"/"no" if extracted)
- relevance_grade: whether a passage is relevant to its query ("yes", "no")"""


class HumanLabel(Frozen):
    """Label from a human annotator.

    The label names its answer by `record_id`, or by `topic` and `system`.

    Attributes:
        record_id: Id of the answer, or id of the question-answer pair for RACAR.
        sentence: 1-based sentence number, for the tasks relevance and citation.
        item: Id of the cited document, text of the nugget, name of the rubric or dimension or, for
            an `OwnTask`, item of the verdict, such as "2/for/1" or "rating/q1/4f2a".
    """

    task: LabelTask
    label: str = Field(min_length=1)
    record_id: str | None = None
    topic: str | None = None
    system: str | None = None
    sentence: int | None = Field(default=None, ge=1)
    item: str = ""
    annotator: str = ""
    reason: str = ""


BANK = "testbank"
"""Value of `Review.evaluator` for a review of a test bank item."""


MATCH = "nugget_match"
"""Value of `Review.evaluator` for a review of a nugget match. The item is the position of the gold
nugget, and the value is the position of the matching answer nugget, or -1 if there is none."""


class Review(Frozen):
    """A person's review of one field.

    Reviews are only added, never changed (see `runs/journal.py`).

    Attributes:
        id: Unique id. Adding the same id again has no effect.
        when: UTC time in ISO 8601 format.
        record: Id of the record, or the query id for a test bank item.
        item: Item of the verdict, or id of the test bank item.
        field: Reviewed field, such as "label", "rating", "match", "text", "removed" or "note".
        was: Value before the review, from the model or the test bank.
        value: Value that the reviewer gives, or None if the reviewer has no opinion.
        undoes: Id of the review that this review revokes. If set, `value` is ignored.
    """

    id: str = Field(default_factory=lambda: uuid4().hex, min_length=1)
    who: str = Field(min_length=1)
    when: str = Field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    why: str = ""
    evaluator: str = Field(min_length=1)
    record: str = ""
    item: str
    field: str = "label"
    was: JsonValue = None
    value: JsonValue = None
    undoes: str = ""

    @property
    def about(self) -> tuple[str, str, str, str]:
        """Key of the reviewed field: evaluator, record id, item and field name."""
        return self.evaluator, self.record, self.item, self.field


def select_final_reviews(reviews: Iterable[Review]) -> tuple[Review, ...]:
    """Return each reviewer's latest review of each field, without revoked reviews."""
    revoked = set[str]()
    reviews = tuple(reviews)
    for review in reversed(reviews):
        if review.undoes and review.id not in revoked:
            revoked.add(review.undoes)
    latest: dict[tuple[str, ...], Review] = {}
    for review in reviews:
        if not review.undoes and review.id not in revoked:
            latest.pop((review.who, *review.about), None)  # Keep the order of the latest reviews.
            latest[(review.who, *review.about)] = review
    return tuple(latest.values())
