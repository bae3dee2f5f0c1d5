"""Review sessions: items and their reviews, the queue of items, and the progress of reviewers."""

from __future__ import annotations

import itertools
import statistics
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from ragassay.records import Review, select_final_reviews
from ragassay.reports.display import UNDECIDED, UNSCORED, format_label
from ragassay.review.items import ReviewItem, ReviewSource

PAUSE_S = 300
"""Minimum time between two reviews, in seconds, that counts as a pause."""

N_PACE = 40
"""Number of recent reviews from which the pace of a reviewer is estimated."""

N_UNDO = 50
"""Number of recent reviews that a reviewer can undo after reloading the page."""


@dataclass(frozen=True)
class Progress:
    """Progress of a reviewer.

    Attributes:
        n: Number of items to review.
        n_done: Number of items that the reviewer has reviewed.
        left_s: Estimated remaining time in seconds, or None after too few reviews.
    """

    n: int
    n_done: int
    left_s: int | None = None


@dataclass(frozen=True)
class _Reviews:
    """Reviews that were not undone or replaced, grouped by item."""

    fingerprint: tuple[int, int]
    reviews: tuple[Review, ...]
    by_item: dict[tuple[str, str, str], tuple[Review, ...]]


class ReviewSession:
    """Items of a run, graded file or test bank, with their reviews. Thread-safe.

    Raises:
        InputError: The journal is damaged.
    """

    def __init__(self, source: ReviewSource) -> None:
        self.source = source
        self.items: list[ReviewItem] = list(source.items)
        self._numbers = {item.about: n for n, item in enumerate(self.items)}
        self._lock = threading.RLock()
        self._reviews = _Reviews((0, 0), (), {})
        self.refresh()

    def find_number(self, about: tuple[str, str, str] | None) -> int | None:
        """Return the number of an item, or None if there is no such item."""
        return self._numbers.get(about) if about else None

    def add(self, review: Review) -> None:
        """Write a review to disk, unless a review with the same id was written before.

        Raises:
            InputError: The journal is damaged.
        """
        with self._lock:
            self.source.journal.add(review)
            self.refresh()

    def refresh(self) -> int:
        """Read new reviews from the journal, and return the total number of reviews.

        Raises:
            InputError: The journal is damaged.
        """
        with self._lock:
            fingerprint = self._read_fingerprint()
            if fingerprint != self._reviews.fingerprint:
                reviews = self.source.journal.read()
                by_item: dict[tuple[str, str, str], tuple[Review, ...]] = {}
                for review in select_final_reviews(reviews):
                    about = review.about[:3]
                    by_item[about] = (*by_item.get(about, ()), review)
                    self._append_added(review)
                self._reviews = _Reviews(fingerprint, reviews, by_item)
            return len(self._reviews.reviews)

    def _read_fingerprint(self) -> tuple[int, int]:
        try:
            stat = self.source.journal.path.stat()
        except OSError:
            return 0, 0
        return stat.st_mtime_ns, stat.st_size

    def _append_added(self, review: Review) -> None:
        """Append the item that a review adds, unless the review adds no new item."""
        item = self.source.find_added(review) if review.about[:3] not in self._numbers else None
        if item is not None:
            self._numbers[item.about] = len(self.items)
            self.items.append(item)

    def find_reviews(self, item: ReviewItem) -> tuple[Review, ...]:
        """Return the reviews of an item that were not undone or replaced, oldest first."""
        return self._reviews.by_item.get(item.about, ())

    def find_changed_items(self, n: int) -> set[int]:
        """Return the numbers of the items with new reviews, ignoring the first `n` reviews."""
        by_id = {review.id: review for review in self._reviews.reviews}
        new = [by_id.get(review.undoes, review) for review in self._reviews.reviews[n:]]
        numbers = (self._numbers.get(review.about[:3]) for review in new)
        return {number for number in numbers if number is not None}

    def has_disagreement(self, item: ReviewItem) -> bool:
        """Return whether two reviews of an item set a field to different values."""
        by_field: dict[str, set[str]] = {}
        for review in self.find_reviews(item):
            by_field.setdefault(review.field, set()).add(repr(review.value))
        return any(len(values) > 1 for values in by_field.values())

    def is_done(self, item: ReviewItem, who: str) -> bool:
        """Return whether a reviewer, or any reviewer if `who` is empty, has reviewed an item."""
        return any(not who or review.who == who for review in self.find_reviews(item))

    def measure_progress(self, numbers: Sequence[int], who: str) -> Progress:
        """Return the progress of a reviewer on the given items."""
        n_done = sum(self.is_done(self.items[n], who) for n in numbers)
        pace = estimate_pace_s(review.when for review in self._reviews.reviews if review.who == who)
        n_left = len(numbers) - n_done
        return Progress(len(numbers), n_done, None if pace is None else round(pace * n_left))

    def list_undoable_reviews(self, who: str) -> list[tuple[str, int]]:
        """Return ids and item numbers of the reviews that a reviewer can undo, newest last."""
        current = {review.id for some in self._reviews.by_item.values() for review in some}
        numbered = (
            (r.id, self._numbers.get(r.about[:3]))
            for r in self._reviews.reviews
            if r.who == who and r.id in current
        )
        return [(name, n) for name, n in numbered if n is not None][-N_UNDO:]


def estimate_pace_s(times: Iterable[str]) -> float | None:
    """Return the median seconds between reviews without pauses, or None for fewer than 3 reviews.

    Example:
        >>> estimate_pace_s(f"2026-01-01T10:00:{s:02}+00:00" for s in (0, 4, 10, 16))
        6.0
    """
    moments = [datetime.fromisoformat(time).timestamp() for time in times][-N_PACE:]
    gaps = [later - earlier for earlier, later in itertools.pairwise(moments)]
    gaps = [gap for gap in gaps if 0 <= gap <= PAUSE_S]
    return statistics.median(gaps) if len(gaps) > 1 else None


LONGEST = 200
"""Maximum length of a filter value in the URL, in characters."""

States = Callable[[ReviewSession, ReviewItem, str], bool]

STATES: Mapping[str, tuple[str, States]] = {
    "todo": ("not yet reviewed by me", lambda session, item, who: not session.is_done(item, who)),
    "done": ("reviewed by me", lambda session, item, who: session.is_done(item, who)),
    "open": (
        f"{UNDECIDED} or {UNSCORED}",
        lambda session, item, who: not {UNDECIDED, UNSCORED}.isdisjoint(item.states),
    ),
    "judges": ("judges differ", lambda session, item, who: "judges" in item.states),
    "people": ("reviewers differ", lambda session, item, who: session.has_disagreement(item)),
    "leads": ("main finding", lambda session, item, who: "leads" in item.states),
}
"""States by which the queue can be filtered, each with its text on the page and a function that
tests an item."""

ORDERS = {"priority": "highest priority first", "file": "file order"}


@dataclass(frozen=True)
class Filter:
    """Filter and order of the queue, where an empty field matches all items.

    Attributes:
        state: State that items must have, a key of `STATES`.
        text: Words that must occur in the text or the metadata of an item.
        order: Order of the queue, a key of `ORDERS`.
    """

    system: str = ""
    evaluator: str = ""
    verdict: str = ""
    state: str = ""
    text: str = ""
    order: str = "priority"

    @classmethod
    def from_query(cls, asked: Mapping[str, str]) -> Filter:
        """Read a filter from query parameters, ignoring unknown states and orders."""
        query = {field.name: asked.get(field.name, "")[:LONGEST] for field in fields(cls)}
        query["state"] = query["state"] if query["state"] in STATES else ""
        query["order"] = query["order"] if query["order"] in ORDERS else "priority"
        return cls(**query)

    def matches_item(self, item: ReviewItem, session: ReviewSession, who: str) -> bool:
        """Return whether an item matches the filter."""
        exact = (
            (self.system, item.system),
            (self.evaluator, item.evaluator),
            (self.verdict, item.word),
        )
        if any(wanted and wanted != own for wanted, own in exact):
            return False
        if self.state and not STATES[self.state][1](session, item, who):
            return False
        metadata = f"{item.record} {item.item} {item.system} {item.kind} {item.place}"
        text = f"{metadata} {item.item_text} {item.why}".casefold()
        return all(word in text for word in self.text.casefold().split())


def build_queue(session: ReviewSession, wanted: Filter, who: str) -> list[int]:
    """Return the numbers of the items that match a filter, in the order that the filter sets."""
    numbers = [n for n, item in enumerate(session.items) if wanted.matches_item(item, session, who)]
    if wanted.order == "priority":
        numbers.sort(key=lambda n: -session.items[n].priority)
    return numbers


@dataclass(frozen=True)
class FilterOption:
    """A value to filter by, and the number of items that have the value."""

    value: str
    word: str
    n: int


def list_filter_options(session: ReviewSession) -> dict[str, list[FilterOption]]:
    """Return the values to filter by for each field, without fields that have a single value."""
    kinds = {item.evaluator: item.kind for item in session.items}
    counts_by_field = {
        "evaluator": Counter(item.evaluator for item in session.items),
        "verdict": Counter(item.word for item in session.items if item.word),
        "system": Counter(item.system for item in session.items if item.system),
    }
    return {
        name: [
            FilterOption(
                value, kinds.get(value, format_label(value)) if name == "evaluator" else value, n
            )
            for value, n in counts.most_common()
        ]
        for name, counts in counts_by_field.items()
        if len(counts) > 1
    }
