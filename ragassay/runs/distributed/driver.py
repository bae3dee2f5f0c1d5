"""Work in a Ray cluster: send out shards of records, keep what comes back."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ragassay.errors import RagassayError, SettingsError, StorageError
from ragassay.evaluators.base import Run
from ragassay.records import Record
from ragassay.runs.distributed.cluster import Cluster, Kind, Work, opened_cluster, work_settings
from ragassay.runs.distributed.hub import Parcel
from ragassay.runs.progress import Event, Listener
from ragassay.store import opened_store

N_MOST = 500
"""Most records of a shard: a worker is idle for about one call at the end of each."""

N_A_WORKER = 2
"""Shards that a worker gets at least, where there are records enough: so none waits for long."""

N_LOSSES = 3
"""Workers that a record by itself may cost before it counts as failed."""


@dataclass(frozen=True)
class Shard:
    """Records that one worker judges in a row.

    Attributes:
        groups: Its records; those of a group have the same question and answer, so that their
            verdicts may be the same, and one worker judges them.
        n_lost: Workers that were lost with it alone.
        is_repeated: Whether a worker was lost with it, alone or among others.
    """

    groups: tuple[tuple[Record, ...], ...]
    n_lost: int = 0
    is_repeated: bool = False

    @property
    def records(self) -> list[Record]:
        """Its records."""
        return [record for group in self.groups for record in group]

    def without(self, done: set[str]) -> Shard:
        """Return the shard without the records of some ids."""
        left = (tuple(one for one in group if one.id not in done) for group in self.groups)
        return replace(self, groups=tuple(group for group in left if group))

    def after_loss(self) -> list[Shard]:
        """Return what to send out again: two halves, so that one record cannot cost all others."""
        middle = len(self.groups) // 2
        halves = [self.groups[:middle], self.groups[middle:]] if middle else [self.groups]
        n_lost = self.n_lost + 1 if len(self.groups) == 1 else 0
        return [Shard(half, n_lost, is_repeated=True) for half in halves]

    @property
    def is_given_up(self) -> bool:
        """Return whether too many workers were lost with it."""
        return self.n_lost >= N_LOSSES


def shards_of(records: Sequence[Record], n_workers: int) -> list[Shard]:
    """Cut records into shards, in order.

    Args:
        records: The records.
        n_workers: Workers that judge at the same time.
    """
    groups: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        groups.setdefault((record.question, record.answer), []).append(record)
    size = max(1, min(N_MOST, math.ceil(len(records) / (n_workers * N_A_WORKER))))
    shards: list[Shard] = []
    taken: list[tuple[Record, ...]] = []
    for group in groups.values():
        taken.append(tuple(group))
        if sum(map(len, taken)) >= size:
            shards.append(Shard(tuple(taken)))
            taken = []
    return [*shards, Shard(tuple(taken))] if taken else shards


COLLECT_S = 1.0
"""Longest wait for news of the workers."""

N_ROWS = 500
"""Rows that are sent to a hub at once."""


async def work_in_cluster(
    records: Sequence[Record],
    tools: Run,
    kind: Kind,
    path: Path | None,
    keep: Callable[[Any], None],
    listen: Listener,
) -> None:
    """Have the workers of a cluster work on records, with the results of a local run.

    A worker that is lost costs what it had under way: what it had finished is in the hub, and its
    records go to the others.

    Args:
        records: Records with distinct ids.
        tools: The run; workers build the same.
        kind: What is done with the records.
        path: The file of finished work; None where there is none.
        keep: Receives each result.
        listen: Receives progress events.

    Raises:
        ExtraError: Ray is not installed.
        SettingsError: There is no such cluster, or a worker has another ragassay.
        FatalModelError: A model is unavailable, or the money is spent.
        StorageError: What is finished cannot be stored, or the hub or the cluster was lost.
    """
    if not records:
        return
    settings = tools.settings
    with opened_cluster(settings.limits.address, settings.limits.workers) as cluster:
        run = _Run(cluster, tools, kind, path and path.resolve(), keep, listen)
        try:
            await run.start(records)
            await run.work_on()
        except ConnectionError as error:  # Ray's client: a machine of the cluster has none
            raise _lost_cluster() from error
        finally:
            run.stop()


@dataclass
class _Run:
    """A run in a cluster.

    Attributes:
        path: The file of finished rows; None where there is none.
        running: The shards that workers have, by the future of their end.
    """

    cluster: Cluster
    tools: Run
    kind: Kind
    path: Path | None
    keep: Callable[[Any], None]
    listen: Listener
    waiting: deque[Shard] = field(default_factory=deque)
    running: dict[asyncio.Future[None], tuple[Shard, Any]] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    actors: list[Any] = field(default_factory=list)
    hub: Any = None
    work: Any = None

    async def start(self, records: Sequence[Record]) -> None:
        """Start the hub and the models, and send the rows of an earlier start to the hub."""
        import ray

        self.listen(Event(phase="starting workers"))
        self.hub = self.cluster.start_hub(self.path, self.tools.limiter)
        models = self.cluster.start_models()
        self.actors = [self.hub, *models.by_node.values()]
        self.waiting.extend(shards_of(records, self.cluster.n_workers))
        if self.cluster.is_remote and self.path and self.path.exists():
            await self._send_rows(self.path)
        settings = self.tools.settings
        work = Work(
            kind=self.kind,
            given=given_of(self.tools),
            settings=settings,
            corpus=self.tools.retrieval.corpus,
            identity=self.kind.identity(self.tools),
            is_bounded=bool(
                settings.limits.max_rpm or settings.limits.max_usd or self.kind.max_tokens
            ),
            has_rows=await self.hub.has_rows.remote(),
            host=models,
        )
        self.work = ray.put(work_settings(work, self.cluster.n_workers))

    async def _send_rows(self, path: Path) -> None:
        with opened_store(path) as store:
            rows = store.all_rows()
            while some := list(itertools.islice(rows, N_ROWS)):
                await self.hub.add_rows.remote(some)

    async def work_on(self) -> None:
        """Have all shards worked on; what was delivered is kept, also where that breaks off."""
        news = self._collecting()
        try:
            while self.waiting or self.running:
                while self.waiting and len(self.running) < self.cluster.n_workers:
                    self._send(self.waiting.popleft())
                await asyncio.wait([news, *self.running], return_when=asyncio.FIRST_COMPLETED)
                if news.done():
                    self._take(_result_of_hub(news))
                    news = self._collecting()
                for ended in [future for future in self.running if future.done()]:
                    await self._end(ended)
        finally:
            self._take(_result_of_hub(await _ended(news)))  # it may have parcels that came last
            self._take(await self.hub.collect.remote(0.0))

    def _collecting(self) -> asyncio.Future[list[Parcel]]:
        return _future(self.hub.collect.remote(COLLECT_S))

    def _send(self, shard: Shard) -> None:
        left = shard.without(self.done)
        if left.groups:
            reference = self.cluster.send(
                self.work, left.records, self.hub, is_repeated=shard.is_repeated
            )
            self.running[_future(reference)] = (left, reference)

    def _take(self, parcels: Sequence[Parcel]) -> None:
        """Keep what the workers have delivered."""
        for parcel in parcels:
            if parcel.rows and self.path is not None:
                with opened_store(self.path) as store:
                    store.add_rows(parcel.rows)
            for result in parcel.results:
                if result.record_id not in self.done:
                    self.done.add(result.record_id)
                    self.keep(result)
            self.listen(parcel.event)
            self.tools.limiter.count(parcel.event.usage.cost_usd)

    async def _end(self, ended: asyncio.Future[None]) -> None:
        """Take the end of a shard: its records are done, or its worker was lost."""
        from ray.exceptions import RayError, RayTaskError

        shard, _ = self.running.pop(ended)
        try:
            ended.result()
        except RayTaskError as error:
            raise _cause(error) from error
        except RayError as error:
            self._take(await self.hub.collect.remote(0.0))
            for left in shard.without(self.done).after_loss():
                if left.is_given_up:
                    self._give_up(left, error)
                elif left.groups:
                    self.waiting.appendleft(left)

    def _give_up(self, shard: Shard, error: Exception) -> None:
        detail = f"its worker was lost {shard.n_lost} times: {type(error).__name__}"
        failed = tuple(self.kind.lost(record, detail) for record in shard.records)
        self._take([Parcel(results=failed, event=Event(n_records=len(failed)))])

    def stop(self) -> None:
        """Stop the workers and the actors; what was delivered is kept."""
        self.cluster.stop([reference for _, reference in self.running.values()], self.actors)


def given_of(tools: Run) -> Any:
    """Return what workers build the run from.

    Raises:
        SettingsError: Somebody put it together by hand.
    """
    if tools.arguments is None:
        raise SettingsError("engine: a run that was not built by `build_run` stays local")
    return tools.arguments


def _future(reference: Any) -> asyncio.Future[Any]:
    """Return the future of a reference, whose error is nobody's once nobody waits for it."""
    future = asyncio.wrap_future(reference.future())
    future.add_done_callback(lambda one: one.cancelled() or one.exception())
    return future


async def _ended(future: asyncio.Future[Any]) -> asyncio.Future[Any]:
    await asyncio.wait([future])
    return future


def _result_of_hub(news: asyncio.Future[list[Parcel]]) -> list[Parcel]:
    from ray.exceptions import RayActorError

    try:
        return news.result()
    except RayActorError as error:
        raise _lost_hub() from error


def _cause(error: Any) -> BaseException:
    """Return the error of ours that a worker ended with; else what Ray says of it."""
    from ray.exceptions import RayActorError, RayTaskError

    found = error
    while isinstance(found, RayTaskError):
        found: Any = found.cause
    if isinstance(found, RayActorError):
        return _lost_hub()
    return found if isinstance(found, RagassayError) else error


def _lost_cluster() -> StorageError:
    return StorageError(
        "the connection to the cluster was lost: what had arrived here is kept, and the same "
        "command goes on from there"
    )


def _lost_hub() -> StorageError:
    return StorageError(
        "the process that the workers' results go to was lost: what is on disk is kept, and the "
        "same command goes on from there"
    )
