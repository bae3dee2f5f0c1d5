"""Subjects that are asked about together in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ragassay.evaluators.base import Evaluator, Run
from ragassay.evaluators.cases import CaseFile, Task

T = TypeVar("T")


@dataclass(frozen=True)
class Batch(Generic[T]):
    """Things that are asked about in one call; the first names it.

    Attributes:
        things: At least one.
        is_sent: Whether the call is made; else another one answers for its thing too.
    """

    things: tuple[T, ...]
    is_sent: bool


class BatchEvaluator(Evaluator[Batch[T]]):
    """An evaluator that asks about several things in a call."""

    def tasks(self, file: CaseFile, run: Run) -> list[Task]:
        """Return one task a call."""
        asked = self.known_items(file, run)
        return [Task(self.name, key, file.id) for key, one in asked.items() if one.is_sent]

    def alone(self, subject: Batch[T]) -> Batch[T]:
        """Return the first thing: a second judge is asked about one at a time."""
        return replace(subject, things=subject.things[:1])


def batches(things: Sequence[T], n: int, key: Callable[[T], str]) -> dict[str, Batch[T]]:
    """Cut things into calls of n, each thing under its key, in order.

    Args:
        things: In order; their keys differ.
        n: Most things of a call; 0 for all.
        key: Returns the key of a thing.
    """
    found: dict[str, Batch[T]] = {}
    for start in range(0, len(things), n or len(things) or 1):
        batch = tuple(things[start : start + (n or len(things))])
        found[key(batch[0])] = Batch(batch, is_sent=True)
        found |= {key(thing): Batch((thing,), is_sent=False) for thing in batch[1:]}
    return found
