"""A person's word on a verdict or on an item of a test bank. It stands beside what it is about."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from uuid import uuid4

from pydantic import Field, JsonValue

from ragassay.records.base import Frozen

BANK = "testbank"
"""In place of an evaluator's name: the review is about an item of a test bank."""


MATCH = "nugget_match"
"""In place of an evaluator's name: the review is about a gold nugget, by its position; its value is
the position of the nugget of the answer that states it, or -1 where none does."""


class Review(Frozen):
    """A person's word on one thing. Reviews are added, never changed: see `runs/journal.py`.

    Attributes:
        id: Unique; adding the same again changes nothing.
        who: The person.
        when: UTC, ISO 8601.
        why: The reason; may be empty.
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


def standing(reviews: Iterable[Review]) -> tuple[Review, ...]:
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
