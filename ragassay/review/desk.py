"""The desk that people review at: the items, what was said of each, and who is how far."""

from __future__ import annotations

import itertools
import statistics
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ragassay.records import Review, standing
from ragassay.review.items import Item, Source

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
        n: Items in all.
        n_done: Those that the person said something of.
        left_s: Seconds for the others at the person's pace; None before it is known.
    """

    n: int
    n_done: int
    left_s: int | None = None


@dataclass(frozen=True)
class _Said:
    """What stands, by what it is about; made anew when the journal grew."""

    stamp: tuple[int, int]
    reviews: tuple[Review, ...]
    by_item: dict[tuple[str, str, str], tuple[Review, ...]]


class Desk:
    """The items of a source with what people said. Threads may share it.

    Args:
        source: What is reviewed.

    Raises:
        InputError: The journal is damaged.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.items: list[Item] = list(source.items)
        self._numbers = {item.about: n for n, item in enumerate(self.items)}
        self._lock = threading.RLock()
        self._said = _Said((0, 0), (), {})
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
            stamp = self._stamp()
            if stamp != self._said.stamp:
                reviews = self.source.journal.read()
                by_item: dict[tuple[str, str, str], tuple[Review, ...]] = {}
                for review in standing(reviews):
                    about = review.about[:3]
                    by_item[about] = (*by_item.get(about, ()), review)
                    self._take_in(review)
                self._said = _Said(stamp, reviews, by_item)
            return len(self._said.reviews)

    def _stamp(self) -> tuple[int, int]:
        try:
            found = self.source.journal.path.stat()
        except OSError:
            return 0, 0
        return found.st_mtime_ns, found.st_size

    def _take_in(self, review: Review) -> None:
        """Put an item that somebody added behind the others."""
        item = self.source.added(review) if review.about[:3] not in self._numbers else None
        if item is not None:
            self._numbers[item.about] = len(self.items)
            self.items.append(item)

    def said_of(self, item: Item) -> tuple[Review, ...]:
        """Return what stands of what people said of an item, the oldest first."""
        return self._said.by_item.get(item.about, ())

    def said_since(self, n: int) -> set[int]:
        """Return the numbers of the items that reviews after the first `n` are about."""
        known = {review.id: review for review in self._said.reviews}
        new = [known.get(review.undoes, review) for review in self._said.reviews[n:]]
        found = (self._numbers.get(review.about[:3]) for review in new)
        return {number for number in found if number is not None}

    def people_differ(self, item: Item) -> bool:
        """Return whether two people said different things of an item."""
        by_field: dict[str, set[str]] = {}
        for review in self.said_of(item):
            by_field.setdefault(review.field, set()).add(repr(review.value))
        return any(len(values) > 1 for values in by_field.values())

    def is_done(self, item: Item, who: str) -> bool:
        """Return whether a person said something of an item; anybody, without a name."""
        return any(not who or review.who == who for review in self.said_of(item))

    def progress(self, numbers: Sequence[int], who: str) -> Progress:
        """Return how far a person is with some items."""
        n_done = sum(self.is_done(self.items[n], who) for n in numbers)
        pace = pace_s(review.when for review in self._said.reviews if review.who == who)
        left = len(numbers) - n_done
        return Progress(len(numbers), n_done, None if pace is None else round(pace * left))

    def last_of(self, who: str) -> list[tuple[str, int]]:
        """Return a person's last standing reviews with the numbers of their items, newest last."""
        stands = {review.id for some in self._said.by_item.values() for review in some}
        own = [r for r in self._said.reviews if r.who == who and r.id in stands]
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
