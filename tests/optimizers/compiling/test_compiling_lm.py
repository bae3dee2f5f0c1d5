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
from ragassay.optimizers.compiling.memory import Memory
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


def ask(lm: CompilingLM, text: str, **options: object) -> list[str]:
    found = lm(messages=[{"role": "user", "content": text}], **options)
    return [one["text"] for one in found]


def test_threads_that_ask_the_same_at_once_ask_once(tmp_path):
    with ScriptedModel(latency_s=0.1) as model, opened(model, tmp_path) as lm:
        with ThreadPoolExecutor(8) as pool:
            said = list(pool.map(lambda n: ask(lm, f"Say {n % 2}."), range(8)))
        assert len(model.requests) == 2
        assert said[0] == said[2] != said[1]
        assert lm.shared.memory.usage.n_calls == 2


def test_a_later_start_asks_nothing_that_is_on_disk(tmp_path):
    with ScriptedModel() as model:
        with opened(model, tmp_path) as lm:
            first = ask(lm, "Say one.")
        with opened(model, tmp_path) as lm:
            assert ask(lm, "Say one.") == first
            assert (len(model.requests), lm.shared.memory.usage.n_calls) == (1, 1)
            assert lm.shared.memory.n_asked == 0


def test_several_draws_are_several_requests_and_another_temperature_another_one(tmp_path):
    with ScriptedModel() as model, opened(model, tmp_path) as lm:
        assert len(ask(lm, "Say one.", n=3, temperature=1.0)) == 3
        assert len(model.requests) == 3
        ask(lm, "Say one.", n=2, temperature=1.0)
        assert len(model.requests) == 3
        ask(lm, "Say one.")
        lm.copy(rollout_id=7, temperature=1.0)(messages=[{"role": "user", "content": "Say one."}])
        assert [request.body["temperature"] for request in model.requests] == [1, 1, 1, 0, 1]


def test_log_probabilities_come_back_from_disk(tmp_path):
    with ScriptedModel() as model:
        for _ in range(2):
            with opened(model, tmp_path) as lm:
                found = lm(messages=[{"role": "user", "content": "Say one."}])[0]
                assert found["logprobs"].content[0].top_logprobs
        assert len(model.requests) == 1


def test_money_that_is_spent_stops_the_job_and_a_larger_budget_goes_on(tmp_path):
    with ScriptedModel() as model:
        with opened(model, tmp_path) as lm:
            ask(lm, "Say 0.")
            price = lm.shared.memory.usage.cost_usd
        assert price
        with opened(model, tmp_path, max_usd=2.5 * price) as lm:
            ask(lm, "Say 0.")
            ask(lm, "Say 1.")
            with pytest.raises(JobStopped) as stopped:
                ask(lm, "Say 2.")
            assert isinstance(stopped.value.reason, BudgetError)
            assert "nothing is lost" in str(stopped.value.reason)
            assert len(model.requests) == 2
            assert ask(lm, "Say 1.")
        with opened(model, tmp_path, max_usd=9 * price) as lm:
            for n in range(3):
                ask(lm, f"Say {n}.")
        assert len(model.requests) == 3


def test_a_limit_on_money_wants_a_known_price(tmp_path):
    with ScriptedModel() as model, opened(model, tmp_path, "openai/scripted", 1.0) as lm:
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
        with pytest.raises(JobStopped) as stopped:
            ask(lm, "Fail for ever.")
        assert isinstance(stopped.value.reason, TransientModelError)
        with pytest.raises(JobStopped):
            ask(lm, "Anything else.")


def test_a_disk_that_takes_no_reply_stops_the_job(tmp_path, monkeypatch):
    def fail(reply):
        raise StorageError("no space left on device")

    with ScriptedModel() as model, opened(model, tmp_path) as lm:
        monkeypatch.setattr(lm.shared.memory, "keep", fail)
        for words in ("Say one.", "Say two."):
            with pytest.raises(JobStopped) as stopped:
                ask(lm, words)
            assert isinstance(stopped.value.reason, StorageError)
        assert len(model.requests) == 1


def test_a_wrong_key_stops_the_job_at_once(tmp_path):
    with ScriptedModel(faults=[Fault("unauthorized")]) as model, opened(model, tmp_path) as lm:
        with pytest.raises(JobStopped) as stopped:
            ask(lm, "Say one.")
        assert isinstance(stopped.value.reason, FatalModelError)
        assert len(model.requests) == 1


def test_a_refusal_is_remembered_and_stops_nothing(tmp_path):
    with ScriptedModel(faults=[Fault("refusal", contains="bad")]) as model:
        for _ in range(2):
            with opened(model, tmp_path) as lm:
                with pytest.raises(RefusedError):
                    ask(lm, "Say something bad.")
                assert ask(lm, "Say something good.")
        assert len(model.requests) == 2


def test_a_thread_that_still_asks_when_the_job_has_ended_is_stopped(tmp_path):
    with ScriptedModel() as model:
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
