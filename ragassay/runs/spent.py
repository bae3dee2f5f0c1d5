"""Keep beside a run's results what it has spent, so that a bound holds over several starts.

The evaluations alone do not tell: verdicts on unfinished answers have cost something too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragassay.errors import InputError
from ragassay.models.limiter import RunLimiter, limited
from ragassay.records import Usage
from ragassay.runs.folder import write_whole


class _Spent(BaseModel):
    model_config = ConfigDict(extra="forbid")

    spent_usd: float | None = Field(ge=0)
    n_calls: int = Field(ge=0)


@contextmanager
def bounded_job(out: Path, limiter: RunLimiter) -> Iterator[None]:
    """Bound the calls of a job that writes a file, over all its starts.

    Args:
        out: The file; what was spent is kept beside it.
        limiter: Of the job.

    Raises:
        InputError: The note of what was spent is damaged.
    """
    file = out.with_name(f"{out.name}.spent.json")
    count_spent(file, limiter, ())
    try:
        with limited(limiter):
            yield
    finally:
        write_spent(file, limiter)


def write_spent(file: Path, limiter: RunLimiter) -> None:
    """Write what a run has spent in all its starts; nothing where it has spent nothing.

    A disk that is full does not end the run here: what is worth more is written elsewhere.
    """
    if limiter.spent_usd == 0:
        return
    with suppress(InputError):
        noted = _Spent(spent_usd=limiter.spent_usd, n_calls=limiter.n_priced)
        write_whole(file, noted.model_dump_json())


def count_spent(file: Path, limiter: RunLimiter, earlier: Sequence[Usage]) -> None:
    """Count in a run's limiter what earlier starts have spent.

    Several folders may share a limiter; the sum that each of them names includes what was spent
    before it.

    Args:
        file: Written by `write_spent`; it may be missing.
        limiter: Of the run.
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
