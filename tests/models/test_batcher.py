"""Calls from many threads: all are answered, each with its own reply."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from ragassay.errors import ModelError, PromptTooLongError
from ragassay.models.local import batcher as batcher_module
from ragassay.models.local.batcher import Batcher
from ragassay.models.local.replies import GeneratedReply, Prompt

WAIT_S = 20


@dataclass
class EchoEngine:
    """Answers a prompt with its own text; notes the batches."""

    batches: list[list[str]] = field(default_factory=list)
    trouble: dict[str, BaseException] = field(default_factory=dict)
    started: threading.Event = field(default_factory=threading.Event)
    gate: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    def check(self, prompt: Prompt) -> None:
        if "long" in prompt.text:
            raise PromptTooLongError(prompt.text)

    def answer(
        self, prompts: Sequence[Prompt], on_done: Callable[[int, GeneratedReply], None]
    ) -> None:
        self.batches.append([prompt.text for prompt in prompts])
        self.started.set()
        self.gate.wait(WAIT_S)
        for position in reversed(range(len(prompts))):
            text = prompts[position].text
            if text in self.trouble:
                raise self.trouble.pop(text)
            on_done(position, GeneratedReply(text, (), 1, 1, False))


def submit(batcher: Batcher, *texts: str) -> list[Future[GeneratedReply]]:
    return [batcher.submit(Prompt((("user", text),))) for text in texts]


def texts(futures: Sequence[Future[GeneratedReply]]) -> list[str]:
    return [future.result(WAIT_S).text for future in futures]


@pytest.fixture
def engine() -> EchoEngine:
    return EchoEngine()


@pytest.fixture
def batcher(engine) -> Batcher:
    return Batcher(lambda: engine)


def test_many_threads_get_their_own_replies(engine, batcher, monkeypatch):
    monkeypatch.setattr(batcher_module, "QUIET_S", 0.01)
    wanted = [f"{'abc'[i % 3] * 20} {i}" for i in range(300)]
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda text: texts(submit(batcher, text)), wanted))
    assert replies == [[text] for text in wanted]
    assert sorted(text for batch in engine.batches for text in batch) == sorted(wanted)
    assert all(len({text[0] for text in batch}) == 1 for batch in engine.batches)


def test_calls_that_come_while_the_engine_loads_are_one_batch(engine):
    loaded = threading.Event()

    def build() -> EchoEngine:
        loaded.wait(WAIT_S)
        return engine

    wanted = [f"the same context {i}" for i in range(30)]
    futures = submit(Batcher(build), *wanted)
    loaded.set()
    assert texts(futures) == wanted
    assert [len(batch) for batch in engine.batches] == [30]


def test_a_trickle_is_gathered_but_not_for_ever(engine, batcher, monkeypatch):
    monkeypatch.setattr(batcher_module, "QUIET_S", 0.4)
    monkeypatch.setattr(batcher_module, "MOST_WAIT_S", 0.8)
    futures, end = [], time.monotonic() + WAIT_S
    while not engine.started.wait(0.02) and time.monotonic() < end:
        futures += submit(batcher, f"the same context {len(futures)}")
    texts(futures)
    assert len(engine.batches[0]) > 2


def test_a_batch_is_bounded_in_calls_and_in_text(engine, batcher, monkeypatch):
    monkeypatch.setattr(batcher_module, "N_MOST", 5)
    monkeypatch.setattr(batcher_module, "N_CHARS_MOST", 1_000)
    wanted = [f"{'c' * 400}{i % 10}{'d' * (390 if i < 6 else 3)}" for i in range(20)]
    assert texts(submit(batcher, *wanted)) == wanted
    assert max(len(batch) for batch in engine.batches) <= 5
    assert all(sum(len(t) - 400 for t in batch) <= 600 for batch in engine.batches)


def test_a_prompt_beyond_the_bound_is_answered_alone(batcher, monkeypatch):
    monkeypatch.setattr(batcher_module, "N_CHARS_MOST", 10)
    wanted = ["e" * 50 + str(i) for i in range(3)]
    assert texts(submit(batcher, *wanted)) == wanted


def test_two_answers_interleaved_are_two_batches(engine, batcher):
    wanted = [f"{'ab'[i % 2] * 30} {i}" for i in range(20)]
    assert texts(submit(batcher, *wanted)) == wanted
    assert sorted(len(batch) for batch in engine.batches) == [10, 10]


def test_only_the_prompt_that_is_too_long_fails(batcher):
    first, failed, last = submit(batcher, "same a", "same long", "same b")
    assert texts([first, last]) == ["same a", "same b"]
    with pytest.raises(PromptTooLongError):
        failed.result(WAIT_S)


def test_a_cancelled_call_is_not_computed(engine, batcher):
    engine.gate.clear()
    (first,) = submit(batcher, "zero")
    assert engine.started.wait(WAIT_S)
    waiting = submit(batcher, *(f"same {i}" for i in range(6)))
    assert all(future.cancel() for future in waiting[::2])
    engine.gate.set()
    assert texts([first, *waiting[1::2]]) == ["zero", "same 1", "same 3", "same 5"]
    assert sorted(engine.batches[1]) == ["same 1", "same 3", "same 5"]


def test_a_failing_build_reaches_each_waiter_and_is_tried_again():
    builds: list[int] = []
    go = threading.Event()

    def build() -> EchoEngine:
        go.wait(WAIT_S)
        builds.append(1)
        if len(builds) == 1:
            raise OSError("no weights")
        return EchoEngine()

    batcher = Batcher(build)
    futures = submit(batcher, *(f"same {i}" for i in range(4)))
    futures[3].cancel()
    go.set()
    with pytest.raises(OSError, match="no weights"):
        futures[0].result(WAIT_S)
    outcomes = [f.exception(WAIT_S) for f in futures[1:3]]
    # Those that the failed attempt had not taken yet are answered by the next one.
    assert all(error is None or isinstance(error, OSError) for error in outcomes)
    assert texts(submit(batcher, "same again")) == ["same again"]


@pytest.mark.parametrize("error", [RuntimeError("boom"), SystemExit(3), KeyboardInterrupt()])
def test_an_error_in_a_batch_reaches_its_callers_and_the_next_batch_works(engine, batcher, error):
    engine.trouble = {"same 1": error}
    engine.gate.clear()
    futures = submit(batcher, *(f"same {i}" for i in range(3)))
    engine.gate.set()
    # The last is done before the error comes; its reply stays.
    assert futures[2].result(WAIT_S).text == "same 2"
    expected = RuntimeError if isinstance(error, RuntimeError) else ModelError
    for future in futures[:2]:
        raised = future.exception(WAIT_S)
        assert isinstance(raised, expected)
        assert error in (raised, raised.__cause__)
    assert texts(submit(batcher, "same 1")) == ["same 1"]


def test_the_load_tells_batches_and_who_waits(engine, batcher):
    engine.gate.clear()
    futures = submit(batcher, *(f"{'a' * 20} {n}" for n in range(5)))
    assert engine.started.wait(WAIT_S)
    assert (batcher.load.n_submitted, batcher.load.n_waiting) == (5, 5)
    assert batcher.load in batcher_module.list_batcher_loads()
    engine.gate.set()
    assert len(texts(futures)) == 5
    engine.started.clear()
    engine.gate.clear()
    last = submit(batcher, "b")
    assert engine.started.wait(WAIT_S), "the next batch comes after the first is counted"
    load = batcher.load
    assert (load.n_ended, load.n_batches, load.n_batched, load.n_largest) == (5, 2, 6, 5)
    assert load.n_waiting == 1
    engine.gate.set()
    assert texts(last) == ["b"]
