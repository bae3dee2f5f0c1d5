"""Review lists of nuggets that a run wrote, while it waits to go on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from pydantic import JsonValue

from ragassay.formats.workbench.bank_items import bank_item_id
from ragassay.records import BANK, Review
from ragassay.review.items import Choice, RelatedItem, ReviewItem, ReviewSource, Section, View
from ragassay.review.session import ReviewSession
from ragassay.runs.journal import REASONS, EditRequest, Journal
from ragassay.runs.nuggets import Rows

IMPORTANCE = (Choice("vital", "vital", "good"), Choice("okay", "okay"))
LEFT_OUT = "left out"


def open_lists(asked: Sequence[EditRequest], journal: Journal) -> ListSource:
    """Open lists that wait.

    Args:
        asked: The lists, each of a topic of its own.
        journal: Keeps what people say; the same lists find it again.
    """
    items = tuple(item for one in asked for item in _items(one))
    return ListSource("nuggets", "nugget", items, journal, {one.topic: one for one in asked})


def _items(asked: EditRequest) -> Iterator[ReviewItem]:
    known = set[str]()
    listed = [(text, mark, "") for mark, text in asked.nuggets]
    out = [(text, None, reason) for reason, text in asked.left_out if reason != "duplicate"]
    for text, mark, reason in (*listed, *out):
        name = bank_item_id(asked.topic, text)
        if name not in known:
            known.add(name)
            yield _item(asked, name, text, mark, reason)


def _item(asked: EditRequest, name: str, text: str, mark: str | None, reason: str) -> ReviewItem:
    return ReviewItem(
        evaluator=BANK,
        record=asked.topic,
        item=name,
        field="importance",
        kind="Nugget",
        place=asked.question,
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
    """Nuggets of lists that wait; `lists` by topic."""

    lists: Mapping[str, EditRequest]

    finish: ClassVar[str] = "Finish"

    def view(self, item: ReviewItem) -> View:
        """Return the question, and the other nuggets of the list."""
        asked = self.lists[item.record]
        rows = tuple(
            RelatedItem(
                one.item_text, "", one.word, one.tone, one.why, one.about, one.item == item.item
            )
            for one in _items(asked)
        )
        title = f"The list of {asked.topic}"
        return View(question=asked.question, sections=(Section(title, rows, is_open=True),))

    def addition(self, item: ReviewItem, text: str) -> tuple[str, JsonValue]:
        """Return id and value of a nugget that a person adds to the list of another one."""
        return bank_item_id(item.record, text), {"text": text, "kind": "nuggets"}

    def find_added(self, review: Review) -> ReviewItem | None:
        """Return the nugget that a person added to a list."""
        told, asked = review.value, self.lists.get(review.record)
        if review.field != "added" or not isinstance(told, dict) or asked is None:
            return None
        item = _item(asked, review.item, str(told.get("text") or ""), None, "")
        return replace(item, word="")


def rows_of(asked: EditRequest, session: ReviewSession) -> Rows:
    """Return a list as people left it; of several, the last word counts."""
    found: dict[str, dict[str, str | None]] = {}
    for item in session.items:
        if item.record != asked.topic:
            continue
        edits = {review.field: review.value for review in session.reviews_of(item)}
        # Removed, then given an importance, is taken in again.
        last = [r for r in session.reviews_of(item) if r.field in ("removed", "importance")][-1:]
        is_in = item.word != LEFT_OUT or bool({"importance", "text"} & edits.keys())
        if is_in and not any(r.field == "removed" and r.value for r in last):
            text = str(edits.get("text") or item.item_text)
            mark = edits.get("importance", item.model_choice)
            row = {"text": text, "importance": None if mark is None else str(mark)}
            found.setdefault(text.casefold(), row)
    return list(found.values())
