"""Work in a Ray cluster: join or start it, send out shards of records, keep what comes back."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ragassay.errors import RagassayError, SettingsError, StorageError, raise_ungrouped
from ragassay.evaluators.base import Run
from ragassay.extras import EXTRAS, need
from ragassay.model_names import is_local
from ragassay.models.hosting import OwnModels
from ragassay.records import Record
from ragassay.runs.distributed.hub import EventBatch, Hub, WorkerTask, WorkKind, work_on_shard
from ragassay.runs.progress import Event, Listener
from ragassay.store import opened_store

N_HUB_CALLS = 10_000
"""Calls that may wait in the hub at a time: each waits for its turn at an endpoint."""

N_MODEL_CALLS = 128
"""Calls of a node's models at a time: the prompts of one batch of the local judge and more."""

N_MOST = 500
"""Most records of a shard: a worker is idle for about one call at the end of each."""

N_A_WORKER = 2
"""Shards that a worker gets at least, where there are records enough: so none waits for long."""

N_LOSSES = 3
"""Workers that a record by itself may cost before it counts as failed."""

COLLECT_S = 0.2
"""Longest wait for news of the workers."""

N_ROWS = 500
"""Rows that are sent to a hub at once."""

LOST_CLUSTER = (
    "the connection to the cluster was lost: what had arrived here is kept, and the same command "
    "continues from there"
)
LOST_HUB = (
    "the process that the workers' results go to was lost: what is on disk is kept, and the same "
    "command continues from there"
)


@contextmanager
def opened_cluster(address: str, n_workers: int) -> Iterator[int]:
    """Join a cluster or start one, and leave it or stop it at the end.

    Args:
        address: `local` to start one, `auto`, or an address; one that the process has joined
            already is used as it is.
        n_workers: Workers at a time; 0 for one a core.

    Yields:
        The number of workers at a time.

    Raises:
        ExtraError: Ray is not installed, or what its client needs.
        SettingsError: There is no cluster at the address.
    """
    need(*EXTRAS["ray"] if address.startswith("ray://") else ["ray"])
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    is_ours = not ray.is_initialized()
    if is_ours:
        connect(ray, address, n_workers)
    try:
        yield n_workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        if is_ours:
            ray.shutdown()


def connect(ray: Any, address: str, n_workers: int) -> None:
    """Have Ray join a cluster or start one; see `opened_cluster`.

    Raises:
        SettingsError: There is no cluster at the address.
    """
    init_arguments: dict[str, Any] = {
        "address": address,
        "log_to_driver": False,
        "logging_level": "error",
    }
    if address == "local":
        init_arguments |= {"num_cpus": n_workers or None, "include_dashboard": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the error says the same
            ray.init(**init_arguments)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise SettingsError(
            f"address: there is no Ray cluster at {address}, or it asks for a token (set "
            f"RAY_AUTH_MODE=token): {error}"
        ) from error


Group = tuple[Record, ...]
"""Records of the same question and answer: their verdicts may be the same, so one worker judges."""


def shards_of(records: Sequence[Record], n_workers: int) -> list[list[Group]]:
    """Cut records into shards, in order."""
    groups: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        groups.setdefault((record.question, record.answer), []).append(record)
    size = max(1, min(N_MOST, math.ceil(len(records) / (n_workers * N_A_WORKER))))
    shards: list[list[Group]] = [[]]
    for group in groups.values():
        if sum(map(len, shards[-1])) >= size:
            shards.append([])
        shards[-1].append(tuple(group))
    return [shard for shard in shards if shard]


async def work_in_cluster(
    records: Sequence[Record],
    tools: Run,
    kind: WorkKind,
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
    if tools.arguments is None:
        raise SettingsError("engine: a run that was not built by `build_run` stays local")
    limits = tools.settings.limits
    with opened_cluster(limits.address, limits.workers) as n_workers:
        from ray.exceptions import RayActorError

        driver = _Driver(n_workers, tools, kind, path and path.resolve(), keep, listen)
        try:
            await driver.start()
            await driver.work_on(records)
        except ConnectionError as error:  # Ray's client: a machine of the cluster has none
            raise StorageError(LOST_CLUSTER) from error
        except RayActorError as error:
            raise StorageError(LOST_HUB) from error
        finally:
            driver.stop()


@dataclass
class _Driver:
    """A run in a cluster; `done` has the ids of the records that came to their ends."""

    n_workers: int
    tools: Run
    kind: WorkKind
    path: Path | None
    keep: Callable[[Any], None]
    listen: Listener
    done: set[str] = field(default_factory=set)
    actors: list[Any] = field(default_factory=list)
    hub: Any = None
    work: Any = None

    async def start(self) -> None:
        """Start the hub and each node's models, and send the rows of an earlier start."""
        import ray
        from ray.util import client

        self.listen(Event(phase="starting workers"))
        is_remote = client.ray.is_connected()  # The driver is no machine of the cluster.
        options: dict[str, Any] = {"num_cpus": 0, "max_concurrency": N_HUB_CALLS}
        if not is_remote:
            options |= _on_node(ray.get_runtime_context().get_node_id())
        new_hub: Any = ray.remote(Hub).options(**options)
        self.hub = new_hub.remote(None if is_remote else self.path, self.tools.limiter)
        models = {node["NodeID"]: _start_models(node) for node in ray.nodes() if node["Alive"]}
        self.actors += [self.hub, *models.values()]
        if is_remote and self.path and self.path.exists():
            with opened_store(self.path) as store:
                rows = store.all_rows()
                while some := list(itertools.islice(rows, N_ROWS)):
                    await self.hub.add_rows.remote(some)
        run_arguments: Any = self.tools.arguments
        work = WorkerTask(
            kind=self.kind,
            run_arguments=replace(
                run_arguments, settings=self._share_calls(run_arguments.settings)
            ),
            settings=self._share_calls(self.tools.settings),
            corpus=self.tools.retrieval.corpus,
            identity=self.kind.identity(self.tools),
            has_rows=await self.hub.has_rows.remote(),
            hub=self.hub,
            models=models,
        )
        self.work = ray.put(work)

    def _share_calls(self, settings: Any) -> Any:
        """Share the calls that a judge may have under way among the workers."""
        if is_local(settings.judge.model):
            return settings
        return settings.model_copy(update={"concurrency": -(-settings.n_slots // self.n_workers)})

    async def work_on(self, records: Sequence[Record]) -> None:
        """Have records worked on; what was delivered is kept, also where that breaks off."""
        self.slots, is_over = asyncio.Semaphore(self.n_workers), asyncio.Event()
        collecting = asyncio.create_task(self._collect_until(is_over))
        working = asyncio.create_task(self._work_on(shards_of(records, self.n_workers)))
        try:
            await asyncio.wait([collecting, working], return_when=asyncio.FIRST_COMPLETED)
        finally:
            working.cancel()
            await asyncio.wait([working])
            is_over.set()
            await collecting
        await working

    async def _collect_until(self, is_over: asyncio.Event) -> None:
        while not is_over.is_set():
            await self._collect(COLLECT_S)
        await self._collect(0.0)

    async def _collect(self, wait_s: float) -> None:
        """Keep what the workers have delivered."""
        for batch in await self.hub.collect.remote(wait_s):
            if batch.rows and self.path is not None:
                with opened_store(self.path) as store:
                    store.add_rows(batch.rows)
            self._take(batch)

    def _take(self, batch: EventBatch) -> None:
        for result in batch.results:
            if result.record_id not in self.done:
                self.done.add(result.record_id)
                self.keep(result)
        self.listen(batch.event)
        self.tools.limiter.count(batch.event.usage.cost_usd)

    async def _work_on(self, shards: Sequence[list[Group]], *, is_repeated: bool = False) -> None:
        from ray.exceptions import RayError

        with raise_ungrouped(RagassayError, ConnectionError, RayError):
            async with asyncio.TaskGroup() as group:
                for shard in shards:
                    group.create_task(self._bring(shard, is_repeated=is_repeated))

    async def _bring(self, shard: list[Group], *, n_lost: int = 0, is_repeated: bool) -> None:
        """Bring a shard to its end; halve it where its worker is lost: no record costs all others.

        Args:
            n_lost: Workers that were lost with it, when it was one group already.
            is_repeated: Whether a worker was lost with it, alone or among others.
        """
        from ray.exceptions import RayError, RayTaskError

        async with self.slots:
            left = self._list_unfinished(shard)
            try:
                await self._run_task(left, is_repeated)
                return
            except RayTaskError as error:
                raise _cause(error) from error
            except RayError as error:
                lost = error
        await asyncio.shield(self._collect(0.0))
        left = self._list_unfinished(left)
        middle = len(left) // 2
        if middle:
            await self._work_on([left[:middle], left[middle:]], is_repeated=True)
        elif n_lost + 1 < N_LOSSES:
            await self._bring(left, n_lost=n_lost + 1, is_repeated=True)
        else:
            detail = f"its worker was lost {N_LOSSES} times: {type(lost).__name__}"
            failed = tuple(
                self.kind.fail_record(record, detail) for group in left for record in group
            )
            self._take(EventBatch(results=failed, event=Event(n_records=len(failed))))

    async def _run_task(self, groups: list[Group], is_repeated: bool) -> None:
        import ray

        if not groups:
            return
        records = [record for group in groups for record in group]
        remote: Any = ray.remote
        running = (
            remote(work_on_shard)
            .options(num_cpus=1, max_retries=0)
            .remote(self.work, records, is_repeated=is_repeated)
        )
        ended = asyncio.wrap_future(running.future())
        # Nobody may wait for it any more when it ends with an error.
        ended.add_done_callback(lambda one: one.cancelled() or one.exception())
        try:
            await asyncio.wait([ended])
        except asyncio.CancelledError:
            _stop(ray.cancel, running, force=True)
            raise
        ended.result()

    def _list_unfinished(self, shard: list[Group]) -> list[Group]:
        """Return what is not done of a shard."""
        left = (tuple(one for one in group if one.id not in self.done) for group in shard)
        return [group for group in left if group]

    def stop(self) -> None:
        """Stop the actors; what was delivered is kept."""
        import ray

        for actor in self.actors:
            _stop(ray.kill, actor)


def _stop(stop: Callable[..., None], it: Any, **how: bool) -> None:
    """Stop a worker or an actor, where the cluster and the connection to it are still there."""
    import ray

    if ray.is_initialized():  # else the call would start a cluster here
        with suppress(ConnectionError):
            stop(it, **how)


def _cause(error: Any) -> BaseException:
    """Return the error of ours that a worker ended with; else what Ray says of it."""
    from ray.exceptions import RayActorError, RayTaskError

    found = error
    while isinstance(found, RayTaskError):
        found: Any = found.cause
    return found if isinstance(found, RagassayError | RayActorError) else error


def _on_node(node: str) -> dict[str, Any]:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return {"scheduling_strategy": NodeAffinitySchedulingStrategy(node_id=node, soft=False)}


def _start_models(node: dict[str, Any]) -> Any:
    """Start the actor that holds models for a node's workers.

    It computes on all cores, as a local run does: Ray would give it one.
    """
    import ray

    n_cores = max(1, int(node["Resources"].get("CPU", 1)))
    new_models = ray.remote(OwnModels).options(
        **_on_node(node["NodeID"]),
        num_cpus=0,
        max_concurrency=N_MODEL_CALLS,
        max_restarts=-1,
        max_task_retries=-1,
        runtime_env={"env_vars": {"OMP_NUM_THREADS": str(n_cores)}},
    )
    return new_models.remote()
