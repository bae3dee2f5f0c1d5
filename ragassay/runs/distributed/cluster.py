"""A Ray cluster, joined or started, and the work of its workers."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from ragassay.errors import SettingsError
from ragassay.evaluators.base import Run, RunArguments
from ragassay.evaluators.build_run import build_run
from ragassay.extras import EXTRAS, need
from ragassay.model_names import is_local
from ragassay.models.hosting import ModelHost, hosted
from ragassay.models.limiter import Limiter, RunLimiter
from ragassay.models.own_models import OwnModels
from ragassay.records import Record
from ragassay.retrievers.literature import Literature
from ragassay.runs.distributed.hub import Hub, Outbox, Result, SharedLimiter, SharedStore
from ragassay.settings import Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.models.embeddings import Encoded
    from ragassay.models.hosting import Recipe
    from ragassay.models.local.replies import Prompt, Reply


class Kind(Protocol):
    """A kind of work, such as judging answers; it is sent to the workers."""

    @property
    def max_tokens(self) -> int:
        """Tokens of the run after which nothing is begun; 0 for no bound."""
        ...

    def identity(self, tools: Run) -> str:
        """Return a hash of all that the results depend on, besides the records."""
        ...

    async def work(
        self, records: Sequence[Record], tools: Run, outbox: Outbox, limiter: Limiter
    ) -> None:
        """Bring records to their ends, and put their results into the outbox."""
        ...

    def lost(self, record: Record, detail: str) -> Result:
        """Return the result of a record that crashed too many workers."""
        ...


@dataclass(frozen=True)
class Work:
    """The common part of all shards of a run.

    Attributes:
        kind: What is done with the records.
        given: What the run is built from.
        settings: The settings that it is used with.
        corpus: Where literature is looked up.
        identity: The work's identity at the driver.
        is_bounded: Whether each call is admitted by the hub.
        has_rows: Whether an earlier start has left finished work.
        host: The models of the worker's node; None where each worker loads its own.
        run: The run's own name: a process may serve several runs of one identity.
    """

    kind: Kind
    given: RunArguments
    settings: Settings
    corpus: Literature
    identity: str
    is_bounded: bool
    has_rows: bool
    host: ModelHost | None = None
    run: str = field(default_factory=lambda: uuid4().hex)


def work_on_shard(work: Work, records: Sequence[Record], hub: Any, *, is_repeated: bool) -> None:
    """Bring records to their ends and deliver their results to the hub.

    Args:
        work: What all shards of the run have in common.
        records: The records.
        hub: The actor of the hub.
        is_repeated: Whether a lost worker may have finished some of their work.

    Raises:
        FatalModelError: The judge is unavailable, or the money is spent.
        SettingsError: This machine has another ragassay, or other models, than the driver.
        StorageError: The hub cannot store what is finished.
    """
    outbox = Outbox(hub)
    store = SharedStore(hub, outbox, asks=is_repeated or work.has_rows)
    asyncio.run(_work_on(work, records, hub, outbox, store))


async def _work_on(
    work: Work, records: Sequence[Record], hub: Any, outbox: Outbox, store: SharedStore
) -> None:
    limiter = SharedLimiter(hub) if work.is_bounded else outbox.limiter
    with hosted(work.host):
        tools = replace(_built(work), settings=work.settings, store=store)
        if work.kind.identity(tools) != work.identity:
            raise SettingsError(
                "a worker would work by another identity than the driver: install the same "
                "ragassay, with the same models and the same files, on all machines"
            )
        async with outbox.opened():
            await work.kind.work(records, tools, outbox, limiter)


_BUILT: dict[str, Run] = {}


def _built(work: Work) -> Run:
    """Return a run, built once a process."""
    if work.run not in _BUILT:
        _BUILT.clear()
        given = work.given
        _BUILT[work.run] = build_run(given.settings, work.corpus, given.evaluators, given.rubrics)
    return _BUILT[work.run]


N_HUB_CALLS = 10_000
"""Calls that may wait in the hub at a time: each waits for its turn at an endpoint."""

N_MODEL_CALLS = 128
"""Calls of a node's models at a time: the prompts of one batch of the local judge and more."""


@contextmanager
def opened_cluster(address: str, n_workers: int) -> Iterator[Cluster]:
    """Join a cluster or start one, and leave it or stop it at the end.

    Args:
        address: `local` to start one, `auto`, or an address; one that the process has joined
            already is used as it is.
        n_workers: Workers at a time; 0 for one a core.

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
        _connect(ray, address, n_workers)
    try:
        yield Cluster(n_workers or max(1, int(ray.cluster_resources().get("CPU", 1))))
    finally:
        if is_ours:
            ray.shutdown()


def _connect(ray: Any, address: str, n_workers: int) -> None:
    given: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": "error"}
    if address == "local":
        given |= {"num_cpus": n_workers or None, "include_dashboard": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the error says the same
            ray.init(**given)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise SettingsError(
            f"address: there is no Ray cluster at {address}, or it asks for a token (set "
            f"RAY_AUTH_MODE=token): {error}"
        ) from error


@dataclass(frozen=True)
class Cluster:
    """A cluster that this process has joined.

    Attributes:
        n_workers: Workers that work at the same time.
    """

    n_workers: int

    def start_hub(self, path: Path | None, limiter: RunLimiter) -> Any:
        """Start the hub, beside the driver where the cluster has its machine.

        Args:
            path: The file of finished work; None where there is none.
            limiter: Bounds the calls of all workers.
        """
        import ray

        options: dict[str, Any] = {"num_cpus": 0, "max_concurrency": N_HUB_CALLS}
        if not self.is_remote:
            options["scheduling_strategy"] = _on_node(ray.get_runtime_context().get_node_id())
        return ray.remote(Hub).options(**options).remote(None if self.is_remote else path, limiter)

    @property
    def is_remote(self) -> bool:
        """Return whether the driver's files are out of reach: it is no machine of the cluster."""
        from ray.util import client

        return client.ray.is_connected()

    def start_models(self) -> ClusterModels:
        """Start the process of each node that holds models for the node's workers."""
        import ray

        host = ray.remote(OwnModels)
        options: dict[str, Any] = {
            "num_cpus": 0,
            "max_concurrency": N_MODEL_CALLS,
            "max_restarts": -1,
            "max_task_retries": -1,
        }
        n_cores = {
            node["NodeID"]: max(1, int(node["Resources"].get("CPU", 1)))
            for node in ray.nodes()
            if node["Alive"]
        }
        return ClusterModels(
            {
                node: host.options(
                    **options, **_on_cores(n), scheduling_strategy=_on_node(node)
                ).remote()
                for node, n in n_cores.items()
            }
        )

    def send(self, work: Any, records: Sequence[Record], hub: Any, *, is_repeated: bool) -> Any:
        """Have a worker work on records; return the reference to its end."""
        import ray

        task: Any = ray.remote
        working = task(work_on_shard).options(num_cpus=1, max_retries=0)
        return working.remote(work, records, hub, is_repeated=is_repeated)

    def stop(self, references: Sequence[Any], actors: Sequence[Any]) -> None:
        """Stop workers and actors of a run, where the cluster is still there."""
        import ray

        if not ray.is_initialized():
            return  # the connection was lost: the next call would start a cluster here
        with suppress(ConnectionError):  # it is lost just now, or the client does not know yet
            for reference in references:
                ray.cancel(reference, force=True)
            for actor in actors:
                ray.kill(actor)


def _on_node(node: str) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node_id=node, soft=False)


def _on_cores(n_cores: int) -> dict[str, Any]:
    """Have an actor compute on so many cores, as a local run does: Ray gives it one."""
    return {"runtime_env": {"env_vars": {"OMP_NUM_THREADS": str(n_cores)}}}


@dataclass(frozen=True)
class ClusterModels:
    """The models of a worker's node; of another one where its own node has none yet.

    Attributes:
        by_node: The process that holds models, by node.
    """

    by_node: dict[str, Any]

    @property
    def _host(self) -> Any:
        import ray

        node = ray.get_runtime_context().get_node_id()
        return self.by_node.get(node) or next(iter(self.by_node.values()))

    def encode(self, embedder: str, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return a vector for each text."""
        return _got(self._host.encode.remote(embedder, texts))

    def encode_tokens(self, embedder: str, texts: Sequence[str]) -> list[Encoded]:
        """Return each text's vector and those of its tokens."""
        return _got(self._host.encode_tokens.remote(embedder, texts))

    def compute(self, recipe: Recipe, method: str, given: Sequence[Any]) -> Any:
        """Return what a model's method returns."""
        return _got(self._host.compute.remote(recipe, method, given))

    def reply(self, model: str, cache_dir: Path, dtype: str, prompt: Prompt) -> Future[Reply]:
        """Return what the local judge will reply."""
        return self._host.answer.remote(model, cache_dir, dtype, prompt).future()


def _got(reference: Any) -> Any:
    """Return the outcome of a call of a node's models; its error is the one of a local run."""
    import ray
    from ray.exceptions import RayTaskError

    try:
        return ray.get(reference)
    except RayTaskError as error:
        raise (error.cause or error) from None


def work_settings(work: Work, n_workers: int) -> Work:
    """Share the calls that a judge may have under way among the workers."""

    def shared(settings: Any) -> Any:
        if is_local(settings.judge.model):
            return settings
        return settings.model_copy(update={"concurrency": -(-settings.n_slots // n_workers)})

    given = replace(work.given, settings=shared(work.given.settings))
    return replace(work, given=given, settings=shared(work.settings))
