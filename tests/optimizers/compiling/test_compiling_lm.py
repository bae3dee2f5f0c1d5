"""The model of a compile job: called from threads, asked nothing twice, kept to a budget."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from ragassay.errors import (
    BudgetError,
    FatalModelError,
    InputError,
    RefusedError,
    StorageError,
    TransientModelError,
)
from ragassay.models.gateway import JudgeLM
from ragassay.optimizers.compiling.compiling_lm import (
    Budget,
    CompilingLM,
    JobStopped,
    Shared,
    open_loop,
)
from ragassay.optimizers.compiling.memory import Memory, StoredReply, hash_request
from ragassay.records import Usage
from ragassay.settings import load_settings
from ragassay.testing import Fault, ScriptedModel

pytestmark = pytest.mark.integration

PRICED = "openai/gpt-4.1-mini"
"""LiteLLM knows what it costs: 0.4 and 1.6 USD for a million tokens."""


@contextmanager
def opened(
    model: ScriptedModel, folder: Path, name: str = PRICED, max_usd: float | None = None
) -> Iterator[CompilingLM]:
    settings = load_settings(model=name, api_base=model.base_url, concurrency=4)
    with Memory(folder) as memory, open_loop() as loop:
        yield CompilingLM(JudgeLM(settings), Shared(loop, memory, Budget(max_usd), 2))


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as started:
        yield started


def ask(lm: CompilingLM, text: str, **options: object) -> list[str]:
    found = lm(messages=[{"role": "user", "content": text}], **options)
    return [one["text"] for one in found]


def check_stopped(lm: CompilingLM, text: str, reason: type[Exception]) -> JobStopped:
    with pytest.raises(JobStopped) as stopped:
        ask(lm, text)
    assert isinstance(stopped.value.reason, reason)
    return stopped.value


def test_threads_that_ask_the_same_at_once_ask_once(tmp_path):
    with ScriptedModel(latency_s=0.1) as model, opened(model, tmp_path) as lm:
        with ThreadPoolExecutor(8) as pool:
            said = list(pool.map(lambda n: ask(lm, f"Say {n % 2}."), range(8)))
        assert len(model.requests) == 2
        assert said[0] == said[2] != said[1]
        assert lm.shared.memory.usage.n_calls == 2


def test_a_later_start_asks_nothing_that_is_on_disk(model, tmp_path):
    with opened(model, tmp_path) as lm:
        (first,) = lm(messages=[{"role": "user", "content": "Say one."}])
    with opened(model, tmp_path) as lm:
        (again,) = lm(messages=[{"role": "user", "content": "Say one."}])
        assert again["text"] == first["text"] and again["logprobs"].content[0].top_logprobs
        assert (len(model.requests), lm.shared.memory.usage.n_calls) == (1, 1)
        assert lm.shared.memory.n_asked == 0


def test_several_draws_are_several_requests_and_another_temperature_another_one(model, tmp_path):
    with opened(model, tmp_path) as lm:
        assert len(ask(lm, "Say one.", n=3, temperature=1.0)) == 3
        assert len(model.requests) == 3
        ask(lm, "Say one.", n=2, temperature=1.0)
        assert len(model.requests) == 3
        ask(lm, "Say one.")
        lm.copy(rollout_id=7, temperature=1.0)(messages=[{"role": "user", "content": "Say one."}])
        assert [request.body["temperature"] for request in model.requests] == [1, 1, 1, 0, 1]


def test_money_that_is_spent_stops_the_job_and_a_larger_budget_goes_on(model, tmp_path):
    with opened(model, tmp_path) as lm:
        ask(lm, "Say 0.")
        price = lm.shared.memory.usage.cost_usd
    with opened(model, tmp_path, max_usd=2.5 * price) as lm:
        ask(lm, "Say 0.")
        ask(lm, "Say 1.")
        stopped = check_stopped(lm, "Say 2.", BudgetError)
        assert "nothing is lost" in str(stopped.reason)
        assert len(model.requests) == 2
        assert ask(lm, "Say 1.")
    with opened(model, tmp_path, max_usd=9 * price) as lm:
        for n in range(3):
            ask(lm, f"Say {n}.")
    assert len(model.requests) == 3


def test_a_limit_on_money_wants_a_known_price(model, tmp_path):
    with opened(model, tmp_path, "openai/scripted", 1.0) as lm:
        ask(lm, "Say 0.")
        with pytest.raises(JobStopped, match=r"price of openai/scripted is unknown"):
            ask(lm, "Say 1.")


def test_trouble_that_passes_is_tried_again_and_what_does_not_pass_stops_the_job(tmp_path):
    faults = [
        Fault("server_error", attempts=1, contains="once"),
        Fault("server_error", contains="ever"),
    ]
    with ScriptedModel(faults=faults) as model, opened(model, tmp_path) as lm:
        assert ask(lm, "Fail once.")
        check_stopped(lm, "Fail for ever.", TransientModelError)
        check_stopped(lm, "Anything else.", TransientModelError)


def test_a_disk_that_takes_no_reply_stops_the_job(model, tmp_path, monkeypatch):
    def fail(reply):
        raise StorageError("no space left on device")

    with opened(model, tmp_path) as lm:
        monkeypatch.setattr(lm.shared.memory, "keep", fail)
        for words in ("Say one.", "Say two."):
            check_stopped(lm, words, StorageError)
        assert len(model.requests) == 1


def test_a_wrong_key_stops_the_job_at_once(tmp_path):
    with ScriptedModel(faults=[Fault("unauthorized")]) as model, opened(model, tmp_path) as lm:
        check_stopped(lm, "Say one.", FatalModelError)
        assert len(model.requests) == 1


def test_a_refusal_is_remembered_and_stops_nothing(tmp_path):
    with ScriptedModel(faults=[Fault("refusal", contains="bad")]) as model:
        for _ in range(2):
            with opened(model, tmp_path) as lm:
                with pytest.raises(RefusedError):
                    ask(lm, "Say something bad.")
                assert ask(lm, "Say something good.")
        assert len(model.requests) == 2


def test_a_thread_that_still_asks_when_the_job_has_ended_is_stopped(model, tmp_path):
    with opened(model, tmp_path) as lm:
        assert ask(lm, "Say one.")
    with pytest.raises(JobStopped, match="has ended"):
        ask(lm, "Say two.")
    assert len(model.requests) == 1


def test_a_thread_that_waits_when_the_job_fails_is_stopped(tmp_path):
    pause = threading.Event()
    with ScriptedModel(latency_s=5) as model, ThreadPoolExecutor(1) as pool:
        with pytest.raises(ZeroDivisionError), opened(model, tmp_path) as lm:
            waiting = pool.submit(ask, lm, "Say one.")
            while not lm.shared.in_flight:
                pause.wait(0.01)
            raise ZeroDivisionError
        with pytest.raises(JobStopped, match="has ended"):
            waiting.result(timeout=3)


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
    with Memory(tmp_path / "w"), pytest.raises(InputError, match="another job"):
        Memory(tmp_path / "w").__enter__()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file"):
        Memory(tmp_path / "file")


def test_the_key_is_of_all_that_a_reply_depends_on():
    def key(model: str = "m", text: str = "x", **options: int) -> str:
        messages = [{"role": "user", "content": text}]
        return hash_request(model, messages, {"temperature": 0, "draw": 0, **options})

    reordered = {"draw": 0, "temperature": 0}
    assert key() == hash_request("m", [{"role": "user", "content": "x"}], reordered)
    assert len({key(), key("n"), key(text="y"), key(temperature=1), key(draw=1)}) == 5
