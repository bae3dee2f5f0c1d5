"""The hub keeps what workers deliver, and says what they must know."""

from __future__ import annotations

import asyncio

from ragassay.models.limiter import RunLimiter
from ragassay.records import Failure, RecordFailure
from ragassay.runs.distributed.hub import EventBatch, Hub
from ragassay.runs.distributed.worker import Outbox
from ragassay.runs.progress import Event

ROW = ("key", b"[]")
FAILED = RecordFailure(record_id="r1", stage="evaluate", failure=Failure(reason="error"))


async def test_a_delivered_verdict_is_found_and_goes_to_the_driver():
    hub = Hub(RunLimiter())
    await hub.deliver(EventBatch(rows=[ROW]))
    assert await hub.find("key") == b"[]"
    assert await hub.find("none") is None
    (batch,) = await hub.collect(60.0)
    assert batch.rows == [ROW]
    assert await hub.find("key") == b"[]"


async def test_results_and_events_are_collected_once():
    hub = Hub(RunLimiter())
    delivered = EventBatch(results=[FAILED], rows=[ROW], event=Event(n_records=1))
    await hub.deliver(delivered)
    assert await hub.collect(60.0) == [delivered]
    assert await hub.collect(0.0) == []


async def test_a_hub_leaves_no_file_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("SQLITE_TMPDIR", str(tmp_path))
    hub = Hub(RunLimiter())
    for i in range(100):
        await hub.add_rows([(f"key {i}", bytes(100_000))])
    assert await hub.find("key 0") == bytes(100_000)
    assert not list(tmp_path.iterdir()), "a killed hub cannot delete a file"


async def test_what_has_come_is_collected_without_a_wait(tmp_path):
    hub = Hub(RunLimiter())
    await hub.deliver(EventBatch(results=[FAILED]))
    assert await hub.collect(0.0) == [EventBatch(results=[FAILED])]


class SlowHub:
    """A hub's actor that takes a while for each batch."""

    def __init__(self) -> None:
        self.begun, self.taken = asyncio.Event(), []
        self.deliver = self

    async def remote(self, batch: EventBatch) -> None:
        """Take a batch."""
        self.begun.set()
        for _ in range(20):
            await asyncio.sleep(0)
        self.taken.append(batch)


async def test_a_worker_ends_when_all_of_its_batches_have_arrived():
    hub = SlowHub()
    outbox = Outbox(hub)
    async with outbox.deliver_while_open():
        outbox.keep(FAILED)
        await hub.begun.wait()
    assert hub.taken == [EventBatch(results=[FAILED])]


async def test_the_verdicts_of_an_earlier_start_are_known():
    hub = Hub(RunLimiter())
    await hub.add_rows([ROW])
    assert await hub.find("key") == b"[]"
    assert await hub.collect(0.0) == [], "the driver has sent them"


async def test_tokens_of_all_workers_are_counted():
    hub = Hub(RunLimiter())
    for n_tokens in (7, 5):
        await hub.admit("openai")
        await hub.settle(0.0, n_tokens)
    assert await hub.count_spent_tokens() == 12
