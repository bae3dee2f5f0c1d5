"""The interface of a compile task: an agent with its metric and its data, split in two."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ragassay.agents.base import Agent
from ragassay.agents.context import build_context, fence_mark
from ragassay.errors import InputError
from ragassay.evaluators.base import Run
from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import Row
from ragassay.optimizers.compiling.items import CompileItem, ItemResult, draw_items, split_by_group
from ragassay.optimizers.compiling.metrics import FigureOf, Grade, macro_f1_figure, mean_figure
from ragassay.records import Case, Rejection


class CompileTask(ABC):
    """An agent with its data and its metric.

    Args:
        tools: Cuts answers, embeds texts and looks literature up.
        make_agent: Returns the agent with its shipped prompt.
        figures: The published figures; the first one decides.
    """

    accept: ClassVar[float] = 1.0
    """Least value of a reply that may become an example."""

    rubrics: tuple[str, ...] = ()
    """The prompt's rubrics; empty for all."""

    def __init__(self, tools: Run, make_agent: Callable[[], Agent], *figures: FigureOf) -> None:
        self.tools, self.make_agent, self.figures = tools, make_agent, figures

    @abstractmethod
    def read(self, path: Path) -> ItemResult:
        """Read the items of a user's file.

        Raises:
            InputError: It cannot be read.
        """

    @abstractmethod
    def mark(self, item: CompileItem, found: Any) -> Grade:
        """Grade the agent's record for an item."""


def label_figures(labels: Sequence[str]) -> tuple[FigureOf, ...]:
    """Return the figures of a task whose replies are labels: macro-F1, then accuracy."""
    return lambda outcomes: macro_f1_figure(labels), lambda outcomes: mean_figure("accuracy")


def read_rows(
    items: Iterable[Item | Rejection],
    row_type: type[Row],
    make: Callable[[Any, Item], CompileItem | Problem],
) -> ItemResult:
    """Read items from a file of JSON objects, each row by its type and its place.

    Raises:
        InputError: The file cannot be opened.
    """
    made: list[CompileItem] = []
    rejections: list[Rejection] = []
    for item in items:
        if isinstance(item, Rejection):
            rejections.append(item)
            continue
        row = validate(row_type, item.fields)
        found = row if isinstance(row, Problem) else make(row, item)
        if isinstance(found, Problem):
            rejections.append(item.place.reject(found))
        else:
            made.append(found)
    return ItemResult(tuple(made), tuple(rejections))


def key_of(item: Item) -> str:
    """Return the name of an item's place, without folders."""
    return f"{Path(item.place.file).name}:{item.place.label}"


def plain_case(key: str, question: str, answer: str) -> Case:
    """Return a case without sources."""
    mark = fence_mark([question, answer])
    return Case(
        record_id=key,
        question=question,
        answer=answer,
        sentences=(),
        context=build_context(question, answer, (), mark),
    )


def about_case(case: Case) -> str:
    """Return a case as an example shows it: question and answer, and no sources."""
    mark = fence_mark([case.question, case.judged_answer])
    return build_context(case.question, case.judged_answer, (), mark)


DEV_SHARE = 0.5
"""Share of the questions to measure on, if no file is given for that."""


@dataclass(frozen=True)
class JobData:
    """The items of a job, to learn from and to measure on; no question is on both sides.

    `n_shared` training items are left out because their question is in the dev data.
    """

    train: Sequence[CompileItem]
    dev: Sequence[CompileItem]
    rejections: tuple[Rejection, ...] = ()
    n_shared: int = 0


def read_job_data(
    task: CompileTask, path: Path, dev_path: Path | None, *, limit: int = 0, seed: int = 0
) -> JobData:
    """Read a job's files: to learn from, and to measure on, else half of the questions of both.

    A limit of 0 draws all items of each side.

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
    train, dev = draw_items(train, limit, seed), draw_items(dev, limit, seed)
    for name, items in (("to learn from", train), ("to measure on", dev)):
        if not items:
            first = f" (line {rejections[0].line}: {rejections[0].problem})" if rejections else ""
            raise InputError(
                f"{path}: nothing is left {name}{first}; questions on both sides are measured "
                "on and not learnt from, and without --dev there must be two at least"
            )
    return JobData(train, dev, rejections, n_shared)
