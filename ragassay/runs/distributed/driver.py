"""The driver of a run in a Ray cluster, which sends shards of records to workers."""

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
from ragassay.runs.distributed.hub import EventBatch, Hub
from ragassay.runs.distributed.worker import WorkerTask, WorkKind, work_on_shard
from ragassay.runs.progress import Event, Listener
from ragassay.store import Store, open_store

N_HUB_CALLS = 10_000
"""Maximum number of concurrent calls to the hub, many of which wait for a free endpoint."""

N_MODEL_CALLS = 128
"""Maximum number of concurrent calls to the models of a node, enough to fill the judge's
batches."""

N_MOST = 500
"""Maximum number of records per shard."""

N_A_WORKER = 2
"""Number of shards per worker, more than one so that all workers finish at about the same time."""

N_LOSSES = 3
"""Number of workers lost on the same record after which the record counts as failed."""

COLLECT_S = 0.2
"""Maximum time to wait for new results, in seconds."""

N_ROWS = 500
"""Number of stored results sent to the hub in one call."""

LOST_CLUSTER = (
    "the connection to the cluster was lost; finished work is kept, and the same command resumes "
    "the run"
)
LOST_HUB = (
    "the process that collects the workers' results was lost; finished work on disk is kept, and "
    "the same command resumes the run"
)


@contextmanager
def open_cluster(address: str, n_workers: int) -> Iterator[int]:
    """Join or start a cluster, and leave or stop it at the end.

    Args:
        address: `local` to start a cluster, `auto`, or the address of a cluster. The address is
            ignored if the process has already joined a cluster.
        n_workers: Number of concurrent workers, or 0 for one per core.

    Yields:
        The number of concurrent workers.

    Raises:
        ExtraError: Ray or its client is not installed.
        SettingsError: There is no cluster at the address.
    """
    need(*EXTRAS["ray"] if address.startswith("ray://") else ["ray"])
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    is_new = not ray.is_initialized()
    if is_new:
        connect(ray, address, n_workers)
    try:
        yield n_workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        if is_new:
            ray.shutdown()


def connect(ray: Any, address: str, n_workers: int) -> None:
    """Join or start a cluster. See `open_cluster`.

    Raises:
        SettingsError: There is no cluster at the address.
    """
    own = {"num_cpus": n_workers or None, "include_dashboard": False} if address == "local" else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # duplicates the error
            ray.init(address, log_to_driver=False, logging_level="error", **own)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise SettingsError(
            f"address: there is no Ray cluster at {address}, or it requires a token (set "
            f"RAY_AUTH_MODE=token): {error}"
        ) from error


Group = tuple[Record, ...]
"""Records with the same question and answer; one worker processes all of them, to share
verdicts."""


def split_shards(records: Sequence[Record], n_workers: int) -> list[list[Group]]:
    """Split records into shards for the workers, in order."""
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
    run: Run,
    kind: WorkKind,
    path: Path | None,
    keep: Callable[[Any], None],
    listen: Listener,
) -> None:
    """Process records in a cluster. The results are the same as in a local run.

    If a worker is lost, its finished work is kept in the hub and its other records are sent to
    other workers.

    Args:
        records: Records with distinct ids.
        run: Configuration and services of the run, which each worker builds again.
        path: File of finished work, or None to keep no finished work.

    Raises:
        ExtraError: Ray is not installed.
        SettingsError: There is no cluster, or a worker has another version of ragassay, models or
            files.
        FatalModelError: A model is unavailable, or the cost limit is reached.
        StorageError: Finished work cannot be stored, or the hub or the cluster was lost.
    """
    if not records:
        return
    if run.arguments is None:
        raise SettingsError("engine: only runs built by `build_run` can use a cluster")
    limits = run.settings.limits
    cluster = open_cluster(limits.address, limits.workers)
    with cluster as n_workers, open_store(path) as store:
        from ray.exceptions import RayActorError

        driver = _Driver(n_workers, run, kind, store, keep, listen)
        try:
            await driver.start()
            await driver.work_on(records)
        except ConnectionError as error:  # raised only by Ray's client
            raise StorageError(LOST_CLUSTER) from error
        except RayActorError as error:
            raise StorageError(LOST_HUB) from error
        finally:
            driver.stop()


@dataclass
class _Driver:
    n_workers: int
    run: Run
    kind: WorkKind
    store: Store
    keep: Callable[[Any], None]
    listen: Listener
    done: set[str] = field(default_factory=set)
    actors: list[Any] = field(default_factory=list)
    hub: Any = None
    work: Any = None

    async def start(self) -> None:
        """Start the hub and the models of each node, and send earlier results to the hub."""
        import ray

        self.listen(Event(phase="starting workers"))
        new_hub: Any = ray.remote(Hub).options(num_cpus=0, max_concurrency=N_HUB_CALLS)
        self.hub = new_hub.remote(self.run.limiter)
        models = {node["NodeID"]: _start_models(node) for node in ray.nodes() if node["Alive"]}
        self.actors += [self.hub, *models.values()]
        rows = self.store.read_all_rows()
        while chunk := list(itertools.islice(rows, N_ROWS)):
            await self.hub.add_rows.remote(chunk)
        run_arguments: Any = self.run.arguments
        work = WorkerTask(
            kind=self.kind,
            run_arguments=replace(
                run_arguments, settings=self._share_calls(run_arguments.settings)
            ),
            settings=self._share_calls(self.run.settings),
            corpus=self.run.retrieval.corpus,
            identity=self.kind.compute_identity(self.run),
            has_rows=not self.store.is_empty,
            hub=self.hub,
            models=models,
        )
        self.work = ray.put(work)

    def _share_calls(self, settings: Any) -> Any:
        if is_local(settings.judge.model):
            return settings
        return settings.model_copy(update={"concurrency": -(-settings.n_slots // self.n_workers)})

    async def work_on(self, records: Sequence[Record]) -> None:
        """Process records.

        Results that reached the hub are kept even if the work is interrupted.
        """
        self.slots, is_over = asyncio.Semaphore(self.n_workers), asyncio.Event()
        collecting = asyncio.create_task(self._collect_until(is_over))
        working = asyncio.create_task(self._run_shards(split_shards(records, self.n_workers)))
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
        for batch in await self.hub.collect.remote(wait_s):
            self.store.add_rows(batch.rows)
            self._take(batch)

    def _take(self, batch: EventBatch) -> None:
        for result in batch.results:
            if result.record_id not in self.done:
                self.done.add(result.record_id)
                self.keep(result)
        self.listen(batch.event)
        self.run.limiter.count(batch.event.usage.cost_usd)

    async def _run_shards(
        self, shards: Sequence[list[Group]], *, is_repeated: bool = False
    ) -> None:
        from ray.exceptions import RayError

        with raise_ungrouped(RagassayError, ConnectionError, RayError):
            async with asyncio.TaskGroup() as group:
                for shard in shards:
                    group.create_task(self._run_shard(shard, is_repeated=is_repeated))

    async def _run_shard(self, shard: list[Group], *, n_lost: int = 0, is_repeated: bool) -> None:
        from ray.exceptions import RayError, RayTaskError

        async with self.slots:
            unfinished = self._list_unfinished(shard)
            try:
                await self._run_task(unfinished, is_repeated)
                return
            except RayTaskError as error:
                raise _find_cause(error) from error
            except RayError as error:
                loss = error
        await asyncio.shield(self._collect(0.0))
        unfinished = self._list_unfinished(unfinished)
        middle = len(unfinished) // 2
        if middle:
            await self._run_shards([unfinished[:middle], unfinished[middle:]], is_repeated=True)
        elif n_lost + 1 < N_LOSSES:
            await self._run_shard(unfinished, n_lost=n_lost + 1, is_repeated=True)
        else:
            kind = type(loss).__name__
            detail = f"the worker that processed it was lost {N_LOSSES} times: {kind}"
            failed = [
                self.kind.fail_record(record, detail) for group in unfinished for record in group
            ]
            self._take(EventBatch(results=failed, event=Event(n_records=len(failed))))

    async def _run_task(self, groups: list[Group], is_repeated: bool) -> None:
        import ray

        if not groups:
            return
        records = [record for group in groups for record in group]
        remote: Any = ray.remote
        task = (
            remote(work_on_shard)
            .options(num_cpus=1, max_retries=0)
            .remote(self.work, records, is_repeated=is_repeated)
        )
        future = asyncio.wrap_future(task.future())
        # Retrieve the exception, because the future may fail after it was abandoned.
        future.add_done_callback(lambda f: f.cancelled() or f.exception())
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            _stop(ray.cancel, task, force=True)
            raise
        future.result()

    def _list_unfinished(self, shard: list[Group]) -> list[Group]:
        groups = (tuple(r for r in group if r.id not in self.done) for group in shard)
        return [group for group in groups if group]

    def stop(self) -> None:
        """Stop the actors."""
        import ray

        for actor in self.actors:
            _stop(ray.kill, actor)


def _stop(stop: Callable[..., None], target: Any, **options: bool) -> None:
    import ray

    if ray.is_initialized():  # otherwise the call would start a local cluster
        with suppress(ConnectionError):
            stop(target, **options)


def _find_cause(error: Any) -> BaseException:
    """Return the ragassay error that a worker raised, or Ray's error if there is none."""
    from ray.exceptions import RayActorError, RayTaskError

    cause = error
    while isinstance(cause, RayTaskError):
        cause: Any = cause.cause
    return cause if isinstance(cause, RagassayError | RayActorError) else error


def _start_models(node: dict[str, Any]) -> Any:
    """Start the actor that serves models to the workers of a node.

    Like a local run, the actor uses all cores of the node; by default, Ray would assign it only
    one.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    n_cores = max(1, int(node["Resources"].get("CPU", 1)))
    new_models = ray.remote(OwnModels).options(
        scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
        num_cpus=0,
        max_concurrency=N_MODEL_CALLS,
        max_restarts=-1,
        max_task_retries=-1,
        runtime_env={"env_vars": {"OMP_NUM_THREADS": str(n_cores)}},
    )
    return new_models.remote()
