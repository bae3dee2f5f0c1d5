"""Replies on disk: what a kill leaves, what a job used, who holds the folder."""

from __future__ import annotations

import pytest

from ragassay.errors import InputError
from ragassay.optimizers.compiling.memory import Memory, StoredReply, hash_request
from ragassay.records import Usage


def reply(key: str, cost_usd: float | None = 0.5) -> StoredReply:
    return StoredReply(key=key, text=key, usage=Usage(n_calls=1, cost_usd=cost_usd))


def test_what_was_kept_is_there_after_a_restart(tmp_path):
    with Memory(tmp_path) as memory:
        memory.keep(reply("a"))
        assert (memory.n_asked, memory.usage.cost_usd) == (1, 0.5)
    with Memory(tmp_path) as memory:
        assert memory.find_reply("b") is None
        assert memory.usage.n_calls == 0
        assert memory.find_reply("a") == reply("a")
        memory.find_reply("a")
        assert (memory.n_asked, memory.usage.n_calls) == (0, 1)


@pytest.mark.parametrize("n_bytes", [1, 5, 20])
def test_a_line_that_a_kill_cut_off_is_asked_again_and_harms_no_other(tmp_path, n_bytes):
    with Memory(tmp_path) as memory:
        memory.keep(reply("a"))
        memory.keep(reply("b"))
    path = tmp_path / "replies.jsonl"
    path.write_bytes(path.read_bytes()[:-n_bytes])
    with Memory(tmp_path) as memory:
        assert memory.find_reply("a") is not None
        assert memory.find_reply("b") is None
        memory.keep(reply("b"))
    with Memory(tmp_path) as memory:
        assert memory.find_reply("b") == reply("b")


def test_an_unknown_price_makes_the_sum_unknown(tmp_path):
    with Memory(tmp_path) as memory:
        memory.keep(reply("a"))
        memory.keep(reply("b", None))
        assert memory.usage.cost_usd is None


def test_only_one_job_at_a_time_holds_the_folder(tmp_path):
    with (
        Memory(tmp_path / "w"),
        pytest.raises(InputError, match="another job"),
        Memory(tmp_path / "w"),
    ):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file"):
        Memory(tmp_path / "file")


def test_the_key_is_of_all_that_a_reply_depends_on():
    messages = [{"role": "user", "content": "x"}]
    base = hash_request("m", messages, {"temperature": 0, "draw": 0})
    assert base == hash_request("m", messages, {"draw": 0, "temperature": 0})
    others = [
        hash_request("n", messages, {"temperature": 0, "draw": 0}),
        hash_request("m", [{"role": "user", "content": "y"}], {"temperature": 0, "draw": 0}),
        hash_request("m", messages, {"temperature": 1, "draw": 0}),
        hash_request("m", messages, {"temperature": 0, "draw": 1}),
    ]
    assert len({base, *others}) == 5
