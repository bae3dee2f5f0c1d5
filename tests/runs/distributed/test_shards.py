"""Shards: every record once, equal ones together, smaller ones after a loss."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragassay.records import Record
from ragassay.runs.distributed.driver import N_LOSSES, N_MOST, Shard, shards_of


def record(number: int, text: str = "") -> Record:
    return Record(id=f"r{number}", question=text or f"Does {number} help?", answer="It does.")


@given(st.integers(1, 60), st.integers(1, 8), st.integers(1, 5))
def test_every_record_is_in_one_shard_and_equal_ones_are_together(n, n_workers, n_distinct):
    records = [record(i, f"Question {i % n_distinct}?") for i in range(n)]
    shards = shards_of(records, n_workers)
    assert sorted(r.id for s in shards for r in s.records) == sorted(r.id for r in records)
    homes: dict[str, set[int]] = {}
    for number, shard in enumerate(shards):
        for one in shard.records:
            homes.setdefault(one.question, set()).add(number)
    assert all(len(home) == 1 for home in homes.values())


def test_few_records_still_keep_all_workers_busy():
    assert [len(s.records) for s in shards_of([record(i) for i in range(8)], 2)] == [2, 2, 2, 2]


def test_many_records_are_cut_into_shards_of_a_few_hundred():
    sizes = [len(s.records) for s in shards_of([record(i) for i in range(10_000)], 2)]
    assert max(sizes) == N_MOST and sum(sizes) == 10_000


def test_no_record_makes_no_shard():
    assert shards_of([], 4) == []


def test_what_is_done_leaves_a_shard():
    (shard,) = shards_of([record(0, "Same?"), record(1, "Same?")], 1)
    assert [r.id for r in shard.without({"r0"}).records] == ["r1"]
    assert shard.without({"r0", "r1"}).groups == ()


def test_a_record_that_costs_every_worker_its_life_is_found_and_given_up():
    lost, n_losses = [Shard(tuple((record(i),) for i in range(16)))], 0
    judged: set[str] = set()
    while lost:
        shard = lost.pop()
        if "r5" not in {r.id for r in shard.records}:
            judged |= {r.id for r in shard.records}
            continue
        n_losses += 1
        left = shard.after_loss()
        assert all(half.is_repeated for half in left)
        lost += [half for half in left if not half.is_given_up]
    assert judged == {f"r{i}" for i in range(16)} - {"r5"}
    assert n_losses == 4 + N_LOSSES, "four halvings of 16, then alone"
