"""The interface of a compile task: an agent with its data and its metric."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ragassay.agents.base import Agent
from ragassay.agents.context import build_context, fence_mark
from ragassay.evaluators.base import Run
from ragassay.formats.items import Item
from ragassay.formats.problems import Problem, validate
from ragassay.formats.rows import Row
from ragassay.optimizers.compiling.items import CompileItem, ItemResult
from ragassay.optimizers.compiling.metrics import Grade, ItemOutcome, ResampledFigure
from ragassay.records import Case, Rejection

FigureOf = Callable[[Sequence[ItemOutcome]], ResampledFigure]


class CompileTask(ABC):
    """An agent with its data and its metric.

    Args:
        tools: Cuts answers, embeds texts and looks literature up.
    """

    accept: ClassVar[float] = 1.0
    """Least value of a reply that may become an example."""

    rubrics: tuple[str, ...] = ()
    """The prompt's rubrics; empty for all."""

    def __init__(self, tools: Run) -> None:
        self.tools = tools

    @abstractmethod
    def make_agent(self) -> Agent:
        """Return the agent with its shipped prompt."""

    @abstractmethod
    def read(self, path: Path) -> ItemResult:
        """Read the items of a user's file.

        Raises:
            InputError: It cannot be read.
        """

    @abstractmethod
    def mark(self, item: CompileItem, found: Any) -> Grade:
        """Grade the agent's record for an item."""

    @property
    @abstractmethod
    def figures(self) -> tuple[FigureOf, ...]:
        """The published figures; the first one decides."""


def read_rows(
    items: Iterable[Item | Rejection],
    row_type: type[Row],
    make: Callable[[Any, Item], CompileItem | Problem],
) -> ItemResult:
    """Read items from a file of JSON objects.

    Args:
        items: The objects of a file.
        row_type: The type of a row.
        make: Makes an item or a problem of a row and its place.

    Raises:
        InputError: The file cannot be opened.
    """
    made: list[CompileItem] = []
    rejections: list[Rejection] = []
    for one in _made(items, row_type, make):
        (rejections if isinstance(one, Rejection) else made).append(one)  # type: ignore[arg-type]
    return ItemResult(tuple(made), tuple(rejections))


def _made(
    items: Iterable[Item | Rejection],
    row_type: type[Row],
    make: Callable[[Any, Item], CompileItem | Problem],
) -> Iterator[CompileItem | Rejection]:
    for item in items:
        if isinstance(item, Rejection):
            yield item
            continue
        row = validate(row_type, item.fields)
        made = row if isinstance(row, Problem) else make(row, item)
        yield item.place.reject(made) if isinstance(made, Problem) else made


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
