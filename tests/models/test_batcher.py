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


def ask(text: str) -> Prompt:
    return Prompt((("user", text),))


def texts(futures: Sequence[Future[GeneratedReply]]) -> list[str]:
    return [future.result(WAIT_S).text for future in futures]


def test_many_threads_get_their_own_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batcher_module, "QUIET_S", 0.01)
    engine = EchoEngine()
    batcher = Batcher(lambda: engine)  # type: ignore[arg-type, return-value]
    wanted = [f"{'abc'[i % 3] * 20} {i}" for i in range(300)]
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda t: batcher.submit(ask(t)).result(WAIT_S).text, wanted))
    assert replies == wanted
    assert sorted(text for batch in engine.batches for text in batch) == sorted(wanted)
    assert all(len({text[0] for text in batch}) == 1 for batch in engine.batches)


def test_calls_that_come_while_the_engine_loads_are_one_batch() -> None:
    engine, loaded = EchoEngine(), threading.Event()

    def build() -> EchoEngine:
        loaded.wait(WAIT_S)
        return engine

    batcher = Batcher(build)  # type: ignore[arg-type]
    wanted = [f"the same context {i}" for i in range(30)]
    futures = [batcher.submit(ask(text)) for text in wanted]
    loaded.set()
    assert texts(futures) == wanted
    assert [len(batch) for batch in engine.batches] == [30]


def test_a_trickle_is_gathered_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batcher_module, "QUIET_S", 0.4)
    monkeypatch.setattr(batcher_module, "MOST_WAIT_S", 0.8)
    engine = EchoEngine()
    batcher = Batcher(lambda: engine)  # type: ignore[arg-type, return-value]
    futures = []
    end = time.monotonic() + WAIT_S
    while not engine.started.wait(0.02) and time.monotonic() < end:
        futures.append(batcher.submit(ask(f"the same context {len(futures)}")))
    texts(futures)
    assert len(engine.batches[0]) > 2


def test_a_batch_is_bounded_in_calls_and_in_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batcher_module, "N_MOST", 5)
    monkeypatch.setattr(batcher_module, "N_CHARS_MOST", 1_000)
    engine = EchoEngine()
    batcher = Batcher(lambda: engine)  # type: ignore[arg-type, return-value]
    wanted = [f"{'c' * 400}{i % 10}{'d' * (390 if i < 6 else 3)}" for i in range(20)]
    assert texts([batcher.submit(ask(text)) for text in wanted]) == wanted
    assert max(len(batch) for batch in engine.batches) <= 5
    assert all(sum(len(t) - 400 for t in batch) <= 600 for batch in engine.batches)


def test_a_prompt_beyond_the_bound_is_answered_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batcher_module, "N_CHARS_MOST", 10)
    batcher = Batcher(EchoEngine)  # type: ignore[arg-type]
    wanted = ["e" * 50 + str(i) for i in range(3)]
    assert texts([batcher.submit(ask(text)) for text in wanted]) == wanted


def test_two_answers_interleaved_are_two_batches() -> None:
    engine = EchoEngine()
    batcher = Batcher(lambda: engine)  # type: ignore[arg-type, return-value]
    wanted = [f"{'ab'[i % 2] * 30} {i}" for i in range(20)]
    assert texts([batcher.submit(ask(text)) for text in wanted]) == wanted
    assert sorted(len(batch) for batch in engine.batches) == [10, 10]


def test_only_the_prompt_that_is_too_long_fails() -> None:
    batcher = Batcher(EchoEngine)  # type: ignore[arg-type]
    futures = [batcher.submit(ask(text)) for text in ("same a", "same long", "same b")]
    assert [futures[0].result(WAIT_S).text, futures[2].result(WAIT_S).text] == ["same a", "same b"]
    with pytest.raises(PromptTooLongError):
        futures[1].result(WAIT_S)


def test_a_cancelled_call_is_not_computed() -> None:
    engine = EchoEngine()
    engine.gate.clear()
    batcher = Batcher(lambda: engine)  # type: ignore[arg-type, return-value]
    first = batcher.submit(ask("zero"))
    assert engine.started.wait(WAIT_S)
    waiting = [batcher.submit(ask(f"same {i}")) for i in range(6)]
    assert all(future.cancel() for future in waiting[::2])
    engine.gate.set()
    assert texts([first, *waiting[1::2]]) == ["zero", "same 1", "same 3", "same 5"]
    assert sorted(engine.batches[1]) == ["same 1", "same 3", "same 5"]


def test_a_failing_build_reaches_each_waiter_and_is_tried_again() -> None:
    builds: list[int] = []
    go = threading.Event()

    def build() -> EchoEngine:
        go.wait(WAIT_S)
        builds.append(1)
        if len(builds) == 1:
            raise OSError("no weights")
        return EchoEngine()

    batcher = Batcher(build)  # type: ignore[arg-type]
    futures = [batcher.submit(ask(f"same {i}")) for i in range(4)]
    futures[3].cancel()
    go.set()
    with pytest.raises(OSError, match="no weights"):
        futures[0].result(WAIT_S)
    outcomes = [f.exception(WAIT_S) for f in futures[1:3]]
    # Those that the failed attempt had not taken yet are answered by the next one.
    assert all(error is None or isinstance(error, OSError) for error in outcomes)
    assert batcher.submit(ask("same again")).result(WAIT_S).text == "same again"


@pytest.mark.parametrize("error", [RuntimeError("boom"), SystemExit(3), KeyboardInterrupt()])
def test_an_error_in_a_batch_reaches_its_callers_and_the_next_batch_works(
    error: BaseException,
) -> None:
    engine = EchoEngine(trouble={"same 1": error})
    engine.gate.clear()
    batcher = Batcher(lambda: engine)  # type: ignore[arg-type, return-value]
    futures = [batcher.submit(ask(f"same {i}")) for i in range(3)]
    engine.gate.set()
    # The last is done before the error comes; its reply stays.
    assert futures[2].result(WAIT_S).text == "same 2"
    expected = RuntimeError if isinstance(error, RuntimeError) else ModelError
    for future in futures[:2]:
        raised = future.exception(WAIT_S)
        assert isinstance(raised, expected)
        assert error in (raised, raised.__cause__)
    assert texts([batcher.submit(ask("same 1"))]) == ["same 1"]


def test_the_load_tells_batches_and_who_waits() -> None:
    engine = EchoEngine()
    engine.gate.clear()
    batcher = Batcher(lambda: engine)  # type: ignore[arg-type, return-value]
    futures = [batcher.submit(ask(f"{'a' * 20} {n}")) for n in range(5)]
    assert engine.started.wait(WAIT_S)
    assert (batcher.load.n_submitted, batcher.load.n_waiting) == (5, 5)
    assert batcher.load in batcher_module.list_batcher_loads()
    engine.gate.set()
    assert len(texts(futures)) == 5
    engine.started.clear()
    engine.gate.clear()
    last = batcher.submit(ask("b"))
    assert engine.started.wait(WAIT_S), "the next batch comes after the first is counted"
    load = batcher.load
    assert (load.n_ended, load.n_batches, load.n_batched, load.n_largest) == (5, 2, 6, 5)
    assert load.n_waiting == 1
    engine.gate.set()
    assert texts([last]) == ["b"]
