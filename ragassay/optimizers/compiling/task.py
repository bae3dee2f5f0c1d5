"""What there is to know of an agent that is to be compiled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ragassay.agents.base import Agent
from ragassay.agents.context import build_context, fence_mark
from ragassay.evaluators.toolbox import Toolbox
from ragassay.formats.items import Item, iter_items
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import Row
from ragassay.optimizers.compiling.items import CompileItem, ItemResult
from ragassay.optimizers.compiling.metrics import Figure, Mark, Outcome
from ragassay.records import Case, Rejection

FigureOf = Callable[[Sequence[Outcome]], Figure]


class CompileTask(ABC):
    """An agent with its data and its metric.

    Args:
        tools: What cuts answers, embeds texts and looks literature up.
    """

    accept: ClassVar[float] = 1.0
    """Least mark of a reply that may become an example for others."""

    rubrics: tuple[str, ...] = ()
    """The rubrics that the prompt is for; empty for all."""

    def __init__(self, tools: Toolbox) -> None:
        self.tools = tools

    @abstractmethod
    def make_agent(self) -> Agent:
        """The agent with its shipped prompt."""

    @abstractmethod
    def read(self, path: Path) -> ItemResult:
        """What a user's file holds.

        Raises:
            InputError: It cannot be read.
        """

    @abstractmethod
    def mark(self, item: CompileItem, found: Any) -> Mark:
        """What the agent's record for an item is worth."""

    @property
    @abstractmethod
    def figures(self) -> tuple[FigureOf, ...]:
        """The figures that are published; the first decides."""


def read_rows(
    path: Path, row_type: type[Row], make: Callable[[Any, Item], CompileItem | Problem]
) -> ItemResult:
    """Items of a file of JSON objects, one by one.

    Args:
        path: JSON lines, an array or a document with rows, plain or gzip.
        row_type: What a row must hold.
        make: An item, or what is wrong, from a row and its place.

    Raises:
        InputError: The file cannot be opened.
    """
    items: list[CompileItem] = []
    rejections: list[Rejection] = []
    for one in _made(path, row_type, make):
        (rejections if isinstance(one, Rejection) else items).append(one)  # type: ignore[arg-type]
    return ItemResult(tuple(items), tuple(rejections))


def _made(
    path: Path, row_type: type[Row], make: Callable[[Any, Item], CompileItem | Problem]
) -> Iterator[CompileItem | Rejection]:
    for item in iter_items(path):
        if isinstance(item, Rejection):
            yield item
            continue
        row = validate(row_type, item.fields)
        made = row if isinstance(row, Problem) else make(row, item)
        yield item.place.reject(made) if isinstance(made, Problem) else made


def key_of(item: Item) -> str:
    """Name of an item's place that names no folder."""
    return f"{Path(item.place.file).name}:{item.place.label}"


def plain_case(key: str, question: str, answer: str) -> Case:
    """A case without sources."""
    mark = fence_mark([question, answer])
    return Case(
        record_id=key,
        question=question,
        answer=answer,
        sentences=(),
        context=build_context(question, answer, (), mark),
    )


def about_case(case: Case) -> str:
    """A case as an example shows it: question and answer, and no sources."""
    return build_context(case.question, case.answer, (), fence_mark([case.question, case.answer]))
