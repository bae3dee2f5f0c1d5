"""Human review of nugget lists, while a run waits for the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from pydantic import JsonValue

from ragassay.formats.workbench.bank_items import build_bank_item_id
from ragassay.records import BANK, Review
from ragassay.review.items import Choice, RelatedItem, ReviewItem, ReviewSource, Section, View
from ragassay.review.session import ReviewSession
from ragassay.runs.journal import REASONS, EditRequest, Journal
from ragassay.runs.nuggets import Rows

IMPORTANCE = (Choice("vital", "vital", "good"), Choice("okay", "okay"))
LEFT_OUT = "left out"


def open_lists(asked: Sequence[EditRequest], journal: Journal) -> ListSource:
    """Open nugget lists for review.

    Args:
        asked: Nugget lists to review, each with a different topic.
        journal: File in which the reviews are stored.
    """
    items = tuple(item for request in asked for item in _build_items(request))
    return ListSource("nuggets", "nugget", items, journal, {r.topic: r for r in asked})


def _build_items(request: EditRequest) -> Iterator[ReviewItem]:
    seen = set[str]()
    listed = [(text, mark, "") for mark, text in request.nuggets]
    excluded = [(text, None, why) for why, text in request.left_out if why != "duplicate"]
    for text, mark, reason in (*listed, *excluded):
        name = build_bank_item_id(request.topic, text)
        if name not in seen:
            seen.add(name)
            yield _build_item(request, name, text, mark, reason)


def _build_item(
    request: EditRequest, name: str, text: str, mark: str | None, reason: str
) -> ReviewItem:
    return ReviewItem(
        evaluator=BANK,
        record=request.topic,
        item=name,
        field="importance",
        kind="Nugget",
        place=request.question,
        item_text=text,
        model_choice=mark,
        word=LEFT_OUT if reason else (mark or "not rated"),
        tone="weak" if reason else ("good" if mark == "vital" else "plain"),
        choices=IMPORTANCE,
        edits=("importance", "text"),
        why=REASONS.get(reason, reason),
        priority=0.0 if reason else 1.0,
    )


@dataclass(frozen=True)
class ListSource(ReviewSource):
    """Nugget lists to review while a run waits, where `lists` is keyed by topic."""

    lists: Mapping[str, EditRequest]

    finish: ClassVar[str] = "Finish"

    def view(self, item: ReviewItem) -> View:
        """Return the question of a nugget, and all nuggets of the same list."""
        request = self.lists[item.record]
        rows = tuple(
            RelatedItem(
                text=other.item_text,
                word=other.word,
                tone=other.tone,
                why=other.why,
                about=other.about,
                is_asked=other.item == item.item,
            )
            for other in _build_items(request)
        )
        title = f"Nuggets of {request.topic}"
        return View(question=request.question, sections=(Section(title, rows, is_open=True),))

    def build_addition(self, item: ReviewItem, text: str) -> tuple[str, JsonValue]:
        """Return the id and value of a nugget that a reviewer adds to a list."""
        return build_bank_item_id(item.record, text), {"text": text, "kind": "nuggets"}

    def find_added(self, review: Review) -> ReviewItem | None:
        """Return the nugget that a review adds to a list, or None if it adds no nugget."""
        value, request = review.value, self.lists.get(review.record)
        if review.field != "added" or not isinstance(value, dict) or request is None:
            return None
        item = _build_item(request, review.item, str(value.get("text") or ""), None, "")
        return replace(item, word="")


def collect_edited_rows(asked: EditRequest, session: ReviewSession) -> Rows:
    """Return the rows of a nugget list after all edits, where the last edit of a field applies."""
    rows: dict[str, dict[str, str | None]] = {}
    for item in session.items:
        if item.record != asked.topic:
            continue
        edits = {review.field: review.value for review in session.find_reviews(item)}
        # A removed nugget that gets an importance later is included again.
        last = [r for r in session.find_reviews(item) if r.field in ("removed", "importance")][-1:]
        is_included = item.word != LEFT_OUT or bool({"importance", "text"} & edits.keys())
        if is_included and not any(r.field == "removed" and r.value for r in last):
            text = str(edits.get("text") or item.item_text)
            mark = edits.get("importance", item.model_choice)
            row = {"text": text, "importance": None if mark is None else str(mark)}
            rows.setdefault(text.casefold(), row)
    return list(rows.values())
