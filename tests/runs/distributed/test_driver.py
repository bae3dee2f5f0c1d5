"""The driver: every record in one shard, equal ones together; a cluster that cannot be joined."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.errors import SettingsError
from ragassay.records import Record
from ragassay.runs.distributed.driver import N_MOST, connect, split_shards


def record(number: int, text: str = "") -> Record:
    return Record(id=f"r{number}", question=text or f"Does {number} help?", answer="It does.")


@given(st.integers(0, 60), st.integers(1, 8), st.integers(1, 5))
def test_every_record_is_in_one_shard_and_equal_ones_are_together(n, n_workers, n_distinct):
    records = [record(i, f"Question {i % n_distinct}?") for i in range(n)]
    shards = split_shards(records, n_workers)
    assert all(shards)
    told = [one for shard in shards for group in shard for one in group]
    assert sorted(one.id for one in told) == sorted(one.id for one in records)
    groups = [{one.question for one in group} for shard in shards for group in shard]
    assert all(len(group) == 1 for group in groups)
    assert len(groups) == len(set().union(*groups)), "a question is in one group"


@pytest.mark.parametrize(("n", "sizes"), [(0, []), (8, [2] * 4), (10_000, [N_MOST] * 20)])
def test_few_records_keep_all_workers_busy_and_many_are_cut_into_hundreds(n, sizes):
    shards = split_shards([record(i) for i in range(n)], 2)
    assert [sum(map(len, shard)) for shard in shards] == sizes


class Unreachable:
    """Ray, where nothing answers at the address."""

    def init(self, address: str, **given: object) -> None:
        warnings.warn("Ray Client connection timed out.", UserWarning, stacklevel=2)
        raise ConnectionError("ray client connection timeout")


def test_a_cluster_that_does_not_answer_is_named_with_what_may_be_wrong():
    with pytest.raises(SettingsError, match=r"ray://head:10001.* RAY_AUTH_MODE=token.* timeout"):
        connect(Unreachable(), "ray://head:10001", 2)
