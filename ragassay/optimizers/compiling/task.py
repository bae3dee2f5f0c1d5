"""Base class of prompt optimization tasks, and functions that read the task data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ragassay.agents.base import Agent
from ragassay.agents.context import build_context, fence_mark
from ragassay.errors import InputError
from ragassay.evaluators.base import Run
from ragassay.formats.items import Item
from ragassay.optimizers.compiling.items import CompileItem, ItemResult, draw_items, split_by_group
from ragassay.optimizers.compiling.metrics import (
    FigureOf,
    Grade,
    build_macro_f1_figure,
    build_mean_figure,
)
from ragassay.records import Case, Rejection


class CompileTask(ABC):
    """Optimization task for an agent, with its data and metrics.

    Args:
        run: Run whose services segment answers, embed texts and search literature.
        make_agent: Function that returns the agent with its shipped prompt.
        figures: Metrics to report, of which the first decides whether a prompt is better.
    """

    accept: ClassVar[float] = 1.0
    """Minimum grade at which a reply can become a few-shot example."""

    rubrics: tuple[str, ...] = ()
    """Rubrics to which the prompt applies (empty for all)."""

    def __init__(self, run: Run, make_agent: Callable[[], Agent], *figures: FigureOf) -> None:
        self.run, self.make_agent, self.figures = run, make_agent, figures

    @abstractmethod
    def read(self, path: Path) -> ItemResult:
        """Read the items of a file.

        Raises:
            InputError: The file cannot be read.
        """

    @abstractmethod
    def mark(self, item: CompileItem, found: Any) -> Grade:
        """Grade the agent's reply to an item."""


def build_label_figures(labels: Sequence[str]) -> tuple[FigureOf, ...]:
    """Return the metrics of a classification task: macro-F1 and accuracy."""
    return lambda outcomes: build_macro_f1_figure(labels), lambda outcomes: build_mean_figure(
        "accuracy"
    )


def build_item_key(item: Item) -> str:
    """Return the file name and the line number of an item."""
    return f"{Path(item.place.file).name}:{item.place.label}"


def build_plain_case(key: str, question: str, answer: str) -> Case:
    """Return a question and an answer as a case without sources."""
    mark = fence_mark([question, answer])
    return Case(
        record_id=key,
        question=question,
        answer=answer,
        sentences=(),
        context=build_context(question, answer, (), mark),
    )


def describe_case(case: Case) -> str:
    """Return the question and answer of a case for a few-shot example, without sources."""
    mark = fence_mark([case.question, case.judged_answer])
    return build_context(case.question, case.judged_answer, (), mark)


DEV_SHARE = 0.5
"""Share of the questions that are held out if there is no dev file."""


@dataclass(frozen=True)
class JobData:
    """Training and dev items of a job, which have no questions in common.

    Attributes:
        n_shared: Number of training items that were dropped because the dev data contains their
            question.
    """

    train: Sequence[CompileItem]
    dev: Sequence[CompileItem]
    rejections: tuple[Rejection, ...] = ()
    n_shared: int = 0


def read_job_data(
    task: CompileTask, path: Path, dev_path: Path | None, *, limit: int = 0, seed: int = 0
) -> JobData:
    """Read the training and dev data of a job.

    Args:
        dev_path: Dev file, or None to hold out half of the questions in `path`.
        limit: Maximum number of training items, and of dev items (0 for all).

    Raises:
        InputError: A file cannot be read, or there are no training or dev items.
    """
    result = task.read(path)
    rejections, n_shared = result.rejections, 0
    if dev_path is None:
        train, dev = split_by_group(result.items, DEV_SHARE, seed)
    else:
        dev_result = task.read(dev_path)
        rejections += dev_result.rejections
        dev = list(dev_result.items)
        dev_groups = {item.group for item in dev}
        train = [item for item in result.items if item.group not in dev_groups]
        n_shared = len(result.items) - len(train)
    train, dev = draw_items(train, limit, seed), draw_items(dev, limit, seed)
    for name, items in (("training", train), ("dev", dev)):
        if not items:
            first = f" (line {rejections[0].line}: {rejections[0].problem})" if rejections else ""
            raise InputError(
                f"{path}: there are no {name} items{first}. Without --dev, at least two questions "
                "are required; with --dev, questions that are in both files are not used for "
                "training"
            )
    return JobData(train, dev, rejections, n_shared)
