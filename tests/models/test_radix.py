"""The radix tree against a plain dict from prefixes to slots."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ragassay.models.local.passes import Visibility, ancestor_mask, cut_into_passes
from ragassay.models.local.radix import Node, RadixTree, common_prefix_length

sequences = st.lists(st.lists(st.integers(0, 2), max_size=8), min_size=1, max_size=8)


def spelled(leaf: Node) -> list[int]:
    return [token for node in leaf.path() for token in node.tokens]


@given(sequences, sequences, st.integers(1, 5), st.booleans())
def test_each_prefix_has_one_slot(
    first: list[list[int]], second: list[list[int]], n_most: int, evict: bool
) -> None:
    tree, slots, next_slot = RadixTree(), {}, 0
    for batch in (first, second):
        for tokens in batch:
            tree.insert(tokens)
        leaves = [tree.insert(tokens) for tokens in batch]
        if evict:
            tree.keep(leaves)
            kept = {tuple(t[:i]) for t in batch for i in range(1, len(t) + 1)}
            slots = {prefix: slot for prefix, slot in slots.items() if prefix in kept}
        for parts in cut_into_passes(tree.missing(leaves), n_most):
            assert sum(len(part.tokens) for part in parts) <= n_most
            seen, mask = ancestor_mask(parts)
            assert mask.shape == (
                sum(len(p.tokens) for p in parts),
                len(seen) + next_slot_of(parts),
            )
            n_before = next_slot
            for part in parts:
                new = range(next_slot, next_slot + len(part.tokens))
                next_slot += len(part.tokens)
                part.node.slots = (*part.node.slots, *new)
                for slot, position in zip(new, part.positions, strict=True):
                    prefix = tuple(spelled(part.node)[: position + 1])
                    assert prefix not in slots, "computed twice"
                    slots[prefix] = slot
                    columns = np.flatnonzero(mask[slot - n_before])
                    visible = [
                        seen[c] if c < len(seen) else n_before + c - len(seen) for c in columns
                    ]
                    ancestors = [slots[prefix[: i + 1]] for i in range(len(prefix))]
                    assert sorted(visible) == sorted(ancestors)
        for tokens, leaf in zip(batch, leaves, strict=True):
            assert spelled(leaf) == tokens
            got = [slot for node in leaf.path() for slot in node.slots]
            assert got == [slots[tuple(tokens[: i + 1])] for i in range(len(tokens))]
            assert [n.start for n in leaf.path()] == starts(leaf)
        assert tree.missing(leaves) == []


def next_slot_of(parts) -> int:
    return sum(len(part.tokens) for part in parts)


def starts(leaf: Node) -> list[int]:
    lengths = [len(node.tokens) for node in leaf.path()]
    return [sum(lengths[:i]) for i in range(len(lengths))]


def test_an_empty_sequence_is_the_root() -> None:
    tree = RadixTree()
    assert tree.insert([]) is tree.root
    assert tree.missing([tree.root]) == []
    assert list(tree) == []


def test_missing_nodes_come_parents_first_and_once() -> None:
    tree = RadixTree()
    for tokens in ([1, 2, 3], [1, 2, 4], [1, 2]):
        tree.insert(tokens)
    leaves = [tree.insert(tokens) for tokens in ([1, 2, 3], [1, 2, 4], [1, 2])]
    assert [node.tokens for node in tree.missing(leaves)] == [(1, 2), (3,), (4,)]


def test_common_prefix_length() -> None:
    assert common_prefix_length([], [1]) == 0
    assert common_prefix_length([1, 2, 3], [1, 2]) == 2
    assert common_prefix_length([1, 2, 3], [1, 4, 3]) == 1


def test_a_branch_sees_what_it_started_with_and_what_it_was_given() -> None:
    sight = Visibility([[4, 7], [4]])
    assert sight.slots == [4, 7]
    mask = sight.extend([0, 1], [1, 2])
    assert mask.astype(int).tolist() == [[1, 1, 1, 0, 0], [1, 0, 0, 1, 0], [1, 0, 0, 1, 1]]
    assert sight.useful([1]).tolist() == [0, 3, 4]
    sight.keep(sight.useful([1]))
    assert sight.extend([1], [1]).astype(int).tolist() == [[1, 1, 1, 1]]
    assert sight.useful([]).tolist() == []
