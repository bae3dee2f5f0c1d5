"""Splitting and limiting what an agent is compiled on."""

from __future__ import annotations

import pytest

from ragassay.optimizers.compiling.items import (
    CompileItem,
    draw_items,
    hash_items,
    split_by_group,
)


def items(*keys: str) -> list[CompileItem]:
    """`group:key` each, or `group:key<whole` for a perturbed form."""
    found = []
    for text in keys:
        group, _, rest = text.partition(":")
        key, _, whole = rest.partition("<")
        found.append(CompileItem(key, group, (), right="x", unperturbed=whole))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_no_group_is_on_both_sides(seed):
    some = items("a:1", "a:2", "b:3", "c:4", "c:5", "d:6")
    first, second = split_by_group(some, 0.5, seed)
    assert {i.group for i in first}.isdisjoint(i.group for i in second)
    assert sorted(i.key for i in [*first, *second]) == ["1", "2", "3", "4", "5", "6"]
    assert len({i.group for i in second}) == 2
    assert split_by_group(some[::-1], 0.5, seed)[1] == second[::-1]


def test_each_side_has_a_group_where_there_are_two():
    assert [len(side) for side in split_by_group(items("a:1", "b:2"), 0.0, 0)] == [1, 1]
    assert [len(side) for side in split_by_group(items("a:1", "b:2"), 1.0, 0)] == [1, 1]
    assert split_by_group(items("a:1", "a:2"), 0.5, 0)[1] == []
    assert split_by_group([], 0.5, 0) == ([], [])


def test_a_limit_spreads_over_groups_and_keeps_pairs_together():
    some = items("a:1", "a:2", "a:3", "a:4", "b:5", "c:6", "c:7<6")
    found = draw_items(some, 4, seed=1)
    assert {item.group for item in found} == {"a", "b", "c"}
    assert {"6", "7"} <= {item.key for item in found}
    assert len(draw_items(some, 0, 1)) == len(some)
    assert draw_items([], 3, 1) == []


def test_a_pair_is_not_torn_apart_by_a_limit():
    found = draw_items(items("a:1", "a:2<1"), 1, seed=0)
    assert found == []


def test_the_hash_is_of_what_is_asked_in_any_order():
    one, two = items("a:1", "b:2")
    shown = [{"claim": "x"}, {"claim": "y"}]
    assert hash_items([one, two], shown) == hash_items([two, one], shown[::-1])
    assert hash_items([one, two], shown) != hash_items([one, two], shown[:1] * 2)
