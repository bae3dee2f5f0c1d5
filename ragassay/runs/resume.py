"""Resume a job that writes: its finished work, its progress, what it has spent so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragassay.errors import InputError
from ragassay.models.call_reply import unbooked_usage
from ragassay.models.gateway import meter_calls
from ragassay.models.limiter import RunLimiter, limit_calls
from ragassay.records import Usage
from ragassay.runs.folder import write_whole
from ragassay.runs.progress import Event, Listener
from ragassay.store import lock_file, storing


def states_of(file: Path) -> Path:
    """Return where the finished work on a file is kept."""
    return file.with_name(f"{file.name}.state.sqlite")


@contextmanager
def written_alone(file: Path) -> Iterator[Path]:
    """Yield the file of finished work, while no other process writes the file; make its folder.

    Raises:
        InputError: Another process is writing it.
        StorageError: Nothing can be written there.
    """
    with storing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
    refusal = InputError(f"another process is writing {file}: wait for its end")
    with lock_file(file.with_name(f".{file.name}.lock"), refusal):
        yield states_of(file)


async def follow_graph(
    graph: Any, start: Any, tools: Any, listen: Listener
) -> tuple[dict[str, Any], Usage]:
    """Run a graph to its end.

    Returns:
        Its output, and the usage of calls that were paid for and failed, which no node has told.
    """
    values, booked = dict[str, Any](), Usage()
    modes = ["custom", "values"]
    with meter_calls() as meter:
        async for mode, chunk in graph.astream(start, context=tools, stream_mode=modes):
            if mode == "values":
                values = {name: chunk[name] for name in graph.output_channels if name in chunk}
                continue
            usage = chunk.get("usage", Usage())
            booked += usage
            listen(Event(chunk.get("expected", 0), chunk.get("done", 0), usage=usage))
    failed = unbooked_usage(meter.usage, booked)
    if failed.n_calls:
        listen(Event(usage=failed))
    return values, failed


class _Spent(BaseModel):
    model_config = ConfigDict(extra="forbid")

    spent_usd: float | None = Field(ge=0)
    n_calls: int = Field(ge=0)


@contextmanager
def bounded_job(out: Path, limiter: RunLimiter) -> Iterator[None]:
    """Bound the calls of a job that writes a file, over all its starts.

    Raises:
        InputError: The note of what was spent is damaged.
    """
    file = out.with_name(f"{out.name}.spent.json")
    count_spent(file, limiter, ())
    try:
        with limit_calls(limiter):
            yield
    finally:
        write_spent(file, limiter)


def write_spent(file: Path, limiter: RunLimiter, *, is_synced: bool = True) -> None:
    """Write what a run has spent in all its starts; nothing where it has spent nothing.

    A disk that is full does not end the run here: what is worth more is written elsewhere.
    """
    if limiter.spent_usd == 0:
        return
    with suppress(InputError):
        noted = _Spent(spent_usd=limiter.spent_usd, n_calls=limiter.n_priced)
        write_whole(file, noted.model_dump_json(), is_synced=is_synced)


def count_spent(file: Path, limiter: RunLimiter, earlier: Sequence[Usage]) -> None:
    """Count in a run's limiter what earlier starts have spent.

    Several folders may share a limiter; the sum that each of them names includes what was spent
    before it.

    Args:
        file: Written by `write_spent`; it may be missing.
        earlier: Usage of each evaluation of earlier starts, which counts where there is no file.

    Raises:
        InputError: The file is damaged.
    """
    if not file.exists():
        for usage in earlier:
            limiter.count(usage.cost_usd, usage.n_calls)
        return
    try:
        noted = _Spent.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise InputError(f"{file} is damaged: delete it; the bound on money starts anew") from error
    if noted.spent_usd is None or limiter.spent_usd is None:
        limiter.count(None)
    else:
        n_calls = max(0, noted.n_calls - limiter.n_priced)
        limiter.count(max(0.0, noted.spent_usd - limiter.spent_usd), n_calls)
