"""Resume jobs: find their finished work, run graphs with progress, and count the cost so far."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragassay.errors import FatalModelError, InputError, StorageError, raise_ungrouped
from ragassay.models.call_reply import compute_unbooked_usage
from ragassay.models.gateway import meter_calls
from ragassay.models.limiter import RunLimiter, limit_calls
from ragassay.records import Usage
from ragassay.runs.folder import write_atomically
from ragassay.runs.progress import Event, Listener
from ragassay.store import convert_storage_errors, lock_file

T = TypeVar("T")


def build_store_path(file: Path) -> Path:
    """Return the path of the store that holds the finished work for an output file."""
    return file.with_name(f"{file.name}.state.sqlite")


@contextmanager
def lock_for_writing(file: Path) -> Iterator[Path]:
    """Create the folder of a file, lock the file, and yield the path of its store of finished work.

    Raises:
        InputError: Another process is writing the file.
        StorageError: The folder cannot be created.
    """
    with convert_storage_errors(file):
        file.parent.mkdir(parents=True, exist_ok=True)
    refusal = InputError(f"another process is writing {file}; wait until it has finished")
    with lock_file(file.with_name(f".{file.name}.lock"), refusal):
        yield build_store_path(file)


async def follow_graph(
    graph: Any, start: Any, run: Any, listen: Listener
) -> tuple[dict[str, Any], Usage]:
    """Run a graph to its end.

    Returns:
        The output of the graph, and the usage of failed calls, which cost money but are reported by
        no node.
    """
    values, booked = dict[str, Any](), Usage()
    modes = ["custom", "values"]
    with meter_calls() as meter:
        async for mode, chunk in graph.astream(start, context=run, stream_mode=modes):
            if mode == "values":
                values = {name: chunk[name] for name in graph.output_channels if name in chunk}
                continue
            usage = chunk.get("usage", Usage())
            booked += usage
            listen(Event(chunk.get("expected", 0), chunk.get("done", 0), usage=usage))
    failed = compute_unbooked_usage(meter.usage, booked)
    if failed.n_calls:
        listen(Event(usage=failed))
    return values, failed


class _Spent(BaseModel):
    model_config = ConfigDict(extra="forbid")

    spent_usd: float | None = Field(ge=0)
    n_calls: int = Field(ge=0)


@contextmanager
def limit_job(out: Path, limiter: RunLimiter) -> Iterator[None]:
    """Limit the cost of a job that writes a file, including the cost of its earlier starts.

    Raises:
        InputError: The file with the cost so far is damaged.
    """
    file = out.with_name(f"{out.name}.spent.json")
    count_spent(file, limiter, ())
    try:
        with limit_calls(limiter):
            yield
    finally:
        write_spent(file, limiter)


async def run_limited_tasks(
    out: Path, limiter: RunLimiter, coroutines: Iterable[Coroutine[Any, Any, T]]
) -> list[T]:
    """Run coroutines concurrently as one `limit_job`, and return their results in order.

    Raises:
        FatalModelError: A model is unavailable, or the cost limit is reached.
        StorageError: Finished work cannot be stored.
    """
    with limit_job(out, limiter), raise_ungrouped(FatalModelError, StorageError):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
    return [task.result() for task in tasks]


def write_spent(file: Path, limiter: RunLimiter, *, is_synced: bool = True) -> None:
    """Write the total cost of a run over all its starts, unless the cost is zero.

    If the file cannot be written, for example on a full disk, the run continues.
    """
    if limiter.spent_usd == 0:
        return
    with suppress(InputError):
        spent = _Spent(spent_usd=limiter.spent_usd, n_calls=limiter.n_priced)
        write_atomically(file, spent.model_dump_json(), is_synced=is_synced)


def count_spent(file: Path, limiter: RunLimiter, earlier: Sequence[Usage]) -> None:
    """Add the cost of earlier starts to a run's limiter.

    Several folders may share a limiter. The cost in the file of a folder includes all costs that
    the limiter counted before.

    Args:
        file: File written by `write_spent`, which may be missing.
        earlier: Usage of the evaluations of earlier starts, used if the file is missing.

    Raises:
        InputError: The file is damaged.
    """
    if not file.exists():
        for usage in earlier:
            limiter.count(usage.cost_usd, usage.n_calls)
        return
    try:
        spent = _Spent.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise InputError(
            f"{file} is damaged; delete it to restart the cost limit from zero"
        ) from error
    if spent.spent_usd is None or limiter.spent_usd is None:
        limiter.count(None)
    else:
        n_calls = max(0, spent.n_calls - limiter.n_priced)
        limiter.count(max(0.0, spent.spent_usd - limiter.spent_usd), n_calls)
