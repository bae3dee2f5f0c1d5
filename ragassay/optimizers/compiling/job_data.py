"""The data of a compile job: what it learns from, and what it measures on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ragassay.errors import InputError
from ragassay.optimizers.compiling.items import CompileItem, limited, split_by_group
from ragassay.optimizers.compiling.task import CompileTask
from ragassay.records import Rejection

DEV_SHARE = 0.5
"""Share of the questions to measure on, if no file is given for that."""


@dataclass(frozen=True)
class JobData:
    """The items of a job; no question is on both sides.

    Attributes:
        train: To learn from.
        dev: To measure on.
        rejections: Unreadable lines.
        n_shared: Training items left out because their question is in the dev data.
    """

    train: Sequence[CompileItem]
    dev: Sequence[CompileItem]
    rejections: tuple[Rejection, ...] = ()
    n_shared: int = 0


def read_job_data(
    task: CompileTask, path: Path, dev_path: Path | None, *, limit: int = 0, seed: int = 0
) -> JobData:
    """Read a job's files.

    Args:
        task: Reads them.
        path: The training data.
        dev_path: The data to measure on; None for half of the questions of `path`.
        limit: Most items on each side; 0 for all.
        seed: The seed of the draws.

    Raises:
        InputError: A file cannot be read, or a side has no item.
    """
    found = task.read(path)
    rejections, n_shared = found.rejections, 0
    if dev_path is None:
        train, dev = split_by_group(found.items, DEV_SHARE, seed)
    else:
        other = task.read(dev_path)
        rejections += other.rejections
        dev = list(other.items)
        measured = {item.group for item in dev}
        train = [item for item in found.items if item.group not in measured]
        n_shared = len(found.items) - len(train)
    train, dev = limited(train, limit, seed), limited(dev, limit, seed)
    for name, items in (("to learn from", train), ("to measure on", dev)):
        if not items:
            first = f" (line {rejections[0].line}: {rejections[0].problem})" if rejections else ""
            raise InputError(
                f"{path}: nothing is left {name}{first}; questions on both sides are measured "
                "on and not learnt from, and without --dev there must be two at least"
            )
    return JobData(train, dev, rejections, n_shared)
