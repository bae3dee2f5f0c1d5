"""Cut records into shards, and a shard whose worker was lost into smaller ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragassay.records import Record

N_MOST = 500
"""Most records of a shard: a worker is idle for about one call at the end of each."""

N_A_WORKER = 2
"""Shards that a worker gets at least, where there are records enough: so none waits for long."""

N_LOSSES = 3
"""Workers that a record by itself may cost before it counts as failed."""


@dataclass(frozen=True)
class Shard:
    """Records that one worker judges in a row.

    Attributes:
        groups: Its records; those of a group have the same question and answer, so that their
            verdicts may be the same, and one worker judges them.
        n_lost: Workers that were lost with it alone.
        is_repeated: Whether a worker was lost with it, alone or among others.
    """

    groups: tuple[tuple[Record, ...], ...]
    n_lost: int = 0
    is_repeated: bool = False

    @property
    def records(self) -> list[Record]:
        """Its records."""
        return [record for group in self.groups for record in group]

    def without(self, done: set[str]) -> Shard:
        """Return the shard without the records of some ids."""
        left = (tuple(one for one in group if one.id not in done) for group in self.groups)
        return replace(self, groups=tuple(group for group in left if group))

    def after_loss(self) -> list[Shard]:
        """Return what to send out again: two halves, so that one record cannot cost all others."""
        middle = len(self.groups) // 2
        halves = [self.groups[:middle], self.groups[middle:]] if middle else [self.groups]
        n_lost = self.n_lost + 1 if len(self.groups) == 1 else 0
        return [Shard(half, n_lost, is_repeated=True) for half in halves]

    @property
    def is_given_up(self) -> bool:
        """Return whether too many workers were lost with it."""
        return self.n_lost >= N_LOSSES


def shards_of(records: Sequence[Record], n_workers: int) -> list[Shard]:
    """Cut records into shards, in order.

    Args:
        records: The records.
        n_workers: Workers that judge at the same time.
    """
    groups: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        groups.setdefault((record.question, record.answer), []).append(record)
    size = max(1, min(N_MOST, math.ceil(len(records) / (n_workers * N_A_WORKER))))
    shards: list[Shard] = []
    taken: list[tuple[Record, ...]] = []
    for group in groups.values():
        taken.append(tuple(group))
        if sum(map(len, taken)) >= size:
            shards.append(Shard(tuple(taken)))
            taken = []
    return [*shards, Shard(tuple(taken))] if taken else shards
