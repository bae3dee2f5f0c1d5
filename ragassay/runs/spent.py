"""Remember in a run's folder what the run has spent, so that a bound holds over several starts.

The evaluations alone do not tell: verdicts on unfinished answers have cost something too.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragassay.errors import InputError
from ragassay.models.limiter import RunLimiter
from ragassay.runs.folder import write_whole


class _Spent(BaseModel):
    model_config = ConfigDict(extra="forbid")

    spent_usd: float | None = Field(ge=0)


def write_spent(file: Path, limiter: RunLimiter) -> None:
    """Write what a run has spent in all its starts; nothing where it has spent nothing.

    A disk that is full does not end the run here: what is worth more is written elsewhere.
    """
    if limiter.spent_usd == 0:
        return
    with suppress(InputError):
        write_whole(file, _Spent(spent_usd=limiter.spent_usd).model_dump_json())


def count_spent(file: Path, limiter: RunLimiter, earlier: Sequence[float | None]) -> None:
    """Count in a run's limiter what earlier starts have spent.

    Several folders may share a limiter; the sum that each of them names includes what was spent
    before it.

    Args:
        file: Written by `write_spent`; it may be missing.
        limiter: Of the run.
        earlier: Cost of each evaluation of earlier starts, which counts where there is no file.

    Raises:
        InputError: The file is damaged.
    """
    if not file.exists():
        for cost_usd in earlier:
            limiter.count(cost_usd)
        return
    try:
        spent = _Spent.model_validate_json(file.read_bytes()).spent_usd
    except ValidationError as error:
        raise InputError(f"{file} is damaged: delete it; the bound on money starts anew") from error
    if spent is None or limiter.spent_usd is None:
        limiter.count(None)
    else:
        limiter.count(max(0.0, spent - limiter.spent_usd))
