"""Passes through the model: the tokens of each, and the mask of which sees which.

A pass is one packed row: runs of tokens of many prompts side by side. Its mask has a row for each
new token and a column for each slot that the pass attends to, the new tokens' own slots last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ragassay.models.local.radix import Node

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Part:
    """A run of a node's tokens, from `start` up to `end`."""

    node: Node
    start: int
    end: int

    @property
    def tokens(self) -> tuple[int, ...]:
        """Return the tokens."""
        return self.node.tokens[self.start : self.end]

    @property
    def positions(self) -> range:
        """Return their positions in the prompt."""
        return range(self.node.start + self.start, self.node.start + self.end)


def cut_into_passes(nodes: Sequence[Node], n_most: int) -> list[list[Part]]:
    """Cut nodes, parents first, into passes of at most `n_most` tokens."""
    passes: list[list[Part]] = []
    room = 0
    for node in nodes:
        start = 0
        while start < len(node.tokens):
            if room == 0:
                passes.append([])
                room = n_most
            end = min(len(node.tokens), start + room)
            passes[-1].append(Part(node, start, end))
            room -= end - start
            start = end
    return passes


def ancestor_mask(parts: Sequence[Part]) -> tuple[list[int], NDArray[np.bool_]]:
    """Return the computed slots that a pass sees, and the mask of which token sees which.

    Returns:
        The slots, ascending, and a mask of shape (n_new, n_slots + n_new), true where visible.
    """
    paths = [part.node.path() for part in parts]
    seen = sorted({slot for path in paths for node in path for slot in node.slots})
    column = {slot: number for number, slot in enumerate(seen)}
    n_new = sum(part.end - part.start for part in parts)
    mask = np.zeros((n_new, len(seen) + n_new), dtype=bool)
    own: dict[int, slice] = {}
    offset = 0
    for part, path in zip(parts, paths, strict=True):
        n = part.end - part.start
        rows, here = slice(offset, offset + n), slice(len(seen) + offset, len(seen) + offset + n)
        mask[rows, [column[slot] for node in path for slot in node.slots]] = True
        for node in path:
            if id(node) in own:
                mask[rows, own[id(node)]] = True
        mask[rows, here] = np.tri(n, dtype=bool)
        own[id(part.node)] = here
        offset += n
    return seen, mask


class Visibility:
    """The slots that each branch of a decoding batch sees.

    Attributes:
        owned: shape (n_branches, n_slots), true where the branch sees the slot.
        slots: The slots of the tree that the store starts with.
    """

    def __init__(self, paths: Sequence[Sequence[int]]) -> None:
        self.slots = sorted({slot for path in paths for slot in path})
        column = {slot: number for number, slot in enumerate(self.slots)}
        self.owned = np.zeros((len(paths), len(self.slots)), dtype=bool)
        for row, path in enumerate(paths):
            self.owned[row, [column[slot] for slot in path]] = True

    def extend(self, rows: Sequence[int], lengths: Sequence[int]) -> NDArray[np.bool_]:
        """Give each of these branches so many new slots, one branch after the other.

        Returns:
            The mask of a pass over the new tokens: shape (sum of lengths, n_slots).
        """
        n_old, n_new = self.owned.shape[1], sum(lengths)
        new = np.zeros((len(self.owned), n_new), dtype=bool)
        mask = np.zeros((n_new, n_old + n_new), dtype=bool)
        offset = 0
        for row, n in zip(rows, lengths, strict=True):
            own = slice(offset, offset + n)
            new[row, own] = True
            mask[own, :n_old] = self.owned[row]
            mask[own, n_old + offset : n_old + offset + n] = np.tri(n, dtype=bool)
            offset += n
        self.owned = np.concatenate([self.owned, new], axis=1)
        return mask

    def useful(self, rows: Sequence[int]) -> NDArray[np.intp]:
        """Return the slots that any of these branches sees."""
        return np.flatnonzero(self.owned[list(rows)].any(axis=0))

    def keep(self, slots: NDArray[np.intp]) -> None:
        """Forget all other slots."""
        self.owned = self.owned[:, slots]
