"""People's labels of answers, and their reviews of verdicts and of items of test banks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal
from uuid import uuid4

from pydantic import Field, JsonValue

from ragassay.records.base import Frozen

OwnTask = Literal["evidence", "correctness", "exam_grade", "relevance_grade"]
"""An evaluator's name: its verdicts are what people are asked about, one by one."""

LabelTask = Literal["accuracy", "relevance", "citation", "nugget", "rubric", "racar", OwnTask]
"""An annotator's task.

- accuracy: whether the answer as a whole is accurate ("yes", "no")
- relevance: whether the answer needs a sentence (`RelevanceLabel`)
- citation: whether a cited document supports the sentence that cites it (`CitationLabel`)
- nugget: whether the answer states a gold nugget (`Assignment`)
- rubric: the rating on a rubric ("1" to "5")
- racar: the rating of a question-answer pair in a dimension of RACAR ("1" to "3")
- evidence: whether a passage that was found supports a sentence (`Verdict`)
- correctness: whether what was found supports a sentence ("correct", "not_supported")
- exam_grade: how well a passage covers an item of a test bank ("0" to "5"; extracted, "yes", "no")
- relevance_grade: whether a passage is relevant to its query ("yes", "no")"""


class HumanLabel(Frozen):
    """One label that a person gave.

    `record_id`, or else topic and system, identify the answer.

    Attributes:
        record_id: The answer's id, where the file gives it; for RACAR the pair's.
        sentence: 1-based, for relevance and citation.
        item: The cited document's id, the nugget's text, the name of the rubric or dimension; of an
            evaluator's own task the item of its verdict, such as "2/for/1" or "rating/q1/4f2a".
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
"""In place of an evaluator's name: the review is about an item of a test bank."""


MATCH = "nugget_match"
"""In place of an evaluator's name: the review is about a gold nugget, by its position; its value is
the position of the nugget of the answer that states it, or -1 where none does."""


class Review(Frozen):
    """A person's word on one thing. Reviews are added, never changed: see `runs/journal.py`.

    Attributes:
        id: Unique; adding the same again changes nothing.
        when: UTC, ISO 8601.
        evaluator: Name of the verdict's evaluator, or "testbank".
        record: The evaluation's record; of an item, its query.
        item: The verdict's item, or the id of the bank's item.
        field: What is said: "label", "rating", "match", "text", "answers", "removed", "note", ...
        was: What the model or the bank said.
        value: What the person says; None takes nothing for granted: no opinion.
        undoes: Id of the review that this one takes back; then `value` counts for nothing.
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
        """The thing it is about: evaluator, record, item, field."""
        return self.evaluator, self.record, self.item, self.field


def final_reviews(reviews: Iterable[Review]) -> tuple[Review, ...]:
    """Return what stands: each person's last word on each thing that was not taken back."""
    taken_back = set[str]()
    known = tuple(reviews)
    for review in reversed(known):
        if review.undoes and review.id not in taken_back:
            taken_back.add(review.undoes)
    last: dict[tuple[str, ...], Review] = {}
    for review in known:
        if not review.undoes and review.id not in taken_back:
            last.pop((review.who, *review.about), None)
            last[(review.who, *review.about)] = review
    return tuple(last.values())
