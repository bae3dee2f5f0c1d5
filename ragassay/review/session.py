"""A review session: review items in the order of the queue, reviews, progress by reviewer."""

from __future__ import annotations

import itertools
import statistics
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from ragassay.records import Review, final_reviews
from ragassay.reports.display import UNDECIDED, UNSCORED, label_text
from ragassay.review.items import ReviewItem, ReviewSource

PAUSE_S = 300
"""A longer time between two reviews is a pause, and says nothing of a person's pace."""

N_PACE = 40
"""So many of the last reviews tell the pace."""

N_UNDO = 50
"""So many of a person's last reviews can be taken back by key after the page was loaded anew."""


@dataclass(frozen=True)
class Progress:
    """A person's progress.

    Attributes:
        n_done: Those that the person said something of.
        left_s: Seconds for the others at the person's pace; None before it is known.
    """

    n: int
    n_done: int
    left_s: int | None = None


@dataclass(frozen=True)
class _Reviews:
    """What stands, by what it is about; made anew when the journal grew."""

    fingerprint: tuple[int, int]
    reviews: tuple[Review, ...]
    by_item: dict[tuple[str, str, str], tuple[Review, ...]]


class ReviewSession:
    """The items of a source with what people said. Threads may share it.

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

    def number_of(self, about: tuple[str, str, str] | None) -> int | None:
        """Return the number of an item; None where there is none."""
        return self._numbers.get(about) if about else None

    def add(self, review: Review) -> None:
        """Keep a review: on disk when this returns. The same id a second time changes nothing.

        Raises:
            InputError: The journal is damaged.
        """
        with self._lock:
            self.source.journal.add(review)
            self.refresh()

    def refresh(self) -> int:
        """Read what others added; return how many reviews there are.

        Raises:
            InputError: The journal is damaged.
        """
        with self._lock:
            fingerprint = self._fingerprint()
            if fingerprint != self._reviews.fingerprint:
                reviews = self.source.journal.read()
                by_item: dict[tuple[str, str, str], tuple[Review, ...]] = {}
                for review in final_reviews(reviews):
                    about = review.about[:3]
                    by_item[about] = (*by_item.get(about, ()), review)
                    self._take_in(review)
                self._reviews = _Reviews(fingerprint, reviews, by_item)
            return len(self._reviews.reviews)

    def _fingerprint(self) -> tuple[int, int]:
        try:
            found = self.source.journal.path.stat()
        except OSError:
            return 0, 0
        return found.st_mtime_ns, found.st_size

    def _take_in(self, review: Review) -> None:
        """Put an item that somebody added behind the others."""
        item = self.source.find_added(review) if review.about[:3] not in self._numbers else None
        if item is not None:
            self._numbers[item.about] = len(self.items)
            self.items.append(item)

    def reviews_of(self, item: ReviewItem) -> tuple[Review, ...]:
        """Return what stands of what people said of an item, the oldest first."""
        return self._reviews.by_item.get(item.about, ())

    def reviews_since(self, n: int) -> set[int]:
        """Return the numbers of the items that reviews after the first `n` are about."""
        known = {review.id: review for review in self._reviews.reviews}
        new = [known.get(review.undoes, review) for review in self._reviews.reviews[n:]]
        found = (self._numbers.get(review.about[:3]) for review in new)
        return {number for number in found if number is not None}

    def people_differ(self, item: ReviewItem) -> bool:
        """Return whether two people said different things of an item."""
        by_field: dict[str, set[str]] = {}
        for review in self.reviews_of(item):
            by_field.setdefault(review.field, set()).add(repr(review.value))
        return any(len(values) > 1 for values in by_field.values())

    def is_done(self, item: ReviewItem, who: str) -> bool:
        """Return whether a person said something of an item; anybody, without a name."""
        return any(not who or review.who == who for review in self.reviews_of(item))

    def progress(self, numbers: Sequence[int], who: str) -> Progress:
        """Return how far a person is with some items."""
        n_done = sum(self.is_done(self.items[n], who) for n in numbers)
        pace = pace_s(review.when for review in self._reviews.reviews if review.who == who)
        left = len(numbers) - n_done
        return Progress(len(numbers), n_done, None if pace is None else round(pace * left))

    def last_of(self, who: str) -> list[tuple[str, int]]:
        """Return a person's last standing reviews with the numbers of their items, newest last."""
        stands = {review.id for some in self._reviews.by_item.values() for review in some}
        own = [r for r in self._reviews.reviews if r.who == who and r.id in stands]
        found = [(r.id, self._numbers.get(r.about[:3])) for r in own]
        return [(name, n) for name, n in found if n is not None][-N_UNDO:]


def pace_s(times: Iterable[str]) -> float | None:
    """Return the median seconds between reviews, without pauses; None for fewer than three.

    Example:
        >>> pace_s(f"2026-01-01T10:00:{s:02}+00:00" for s in (0, 4, 10, 16))
        6.0
    """
    moments = [datetime.fromisoformat(time).timestamp() for time in times][-N_PACE:]
    gaps = [later - one for one, later in itertools.pairwise(moments)]
    known = [gap for gap in gaps if 0 <= gap <= PAUSE_S]
    return statistics.median(known) if len(known) > 1 else None


LONGEST = 200
"""Characters of a filter that are read."""

States = Callable[[ReviewSession, ReviewItem, str], bool]

STATES: Mapping[str, tuple[str, States]] = {
    "todo": ("not yet reviewed by me", lambda session, item, who: not session.is_done(item, who)),
    "done": ("reviewed by me", lambda session, item, who: session.is_done(item, who)),
    "open": (
        f"{UNDECIDED} or {UNSCORED}",
        lambda session, item, who: not {UNDECIDED, UNSCORED}.isdisjoint(item.states),
    ),
    "judges": ("judges differ", lambda session, item, who: "judges" in item.states),
    "people": ("people differ", lambda session, item, who: session.people_differ(item)),
    "leads": ("leads the report", lambda session, item, who: "leads" in item.states),
}
"""What can be asked for beside a system and a verdict, in words."""

ORDERS = {"priority": "most worth a look", "file": "order of the file"}


@dataclass(frozen=True)
class Filter:
    """The part of the queue that a person asked to see; an empty field lets everything pass.

    Attributes:
        state: A key of `STATES`.
        text: Words that the item, its id, its place or its record must have.
        order: A key of `ORDERS`.
    """

    system: str = ""
    evaluator: str = ""
    verdict: str = ""
    state: str = ""
    text: str = ""
    order: str = "priority"

    @classmethod
    def of(cls, asked: Mapping[str, str]) -> Filter:
        """Read a filter from an address; what it does not know, it leaves out."""
        query = {one.name: asked.get(one.name, "")[:LONGEST] for one in fields(cls)}
        query["state"] = query["state"] if query["state"] in STATES else ""
        query["order"] = query["order"] if query["order"] in ORDERS else "priority"
        return cls(**query)

    def passes(self, item: ReviewItem, session: ReviewSession, who: str) -> bool:
        """Return whether an item is wanted."""
        exact = (
            (self.system, item.system),
            (self.evaluator, item.evaluator),
            (self.verdict, item.word),
        )
        if any(wanted and wanted != own for wanted, own in exact):
            return False
        if self.state and not STATES[self.state][1](session, item, who):
            return False
        words = self.text.casefold().split()
        named = f"{item.record} {item.item} {item.system} {item.kind} {item.place}"
        own = f"{named} {item.item_text} {item.why}".casefold()
        return not words or all(word in own for word in words)


def queue(session: ReviewSession, wanted: Filter, who: str) -> list[int]:
    """Return the numbers of the wanted items in their order."""
    found = [n for n, item in enumerate(session.items) if wanted.passes(item, session, who)]
    if wanted.order == "priority":
        found.sort(key=lambda n: -session.items[n].priority)
    return found


@dataclass(frozen=True)
class FilterOption:
    """A value to filter by, and how many items have it."""

    value: str
    word: str
    n: int


def options(session: ReviewSession) -> dict[str, list[FilterOption]]:
    """Return what can be filtered by; fields with a single value are left out."""
    kinds = {item.evaluator: item.kind for item in session.items}
    counted = {
        "evaluator": Counter(item.evaluator for item in session.items),
        "verdict": Counter(item.word for item in session.items if item.word),
        "system": Counter(item.system for item in session.items if item.system),
    }
    return {
        name: [
            FilterOption(
                value, kinds.get(value, label_text(value)) if name == "evaluator" else value, n
            )
            for value, n in counts.most_common()
        ]
        for name, counts in counted.items()
        if len(counts) > 1
    }
