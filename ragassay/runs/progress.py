"""Show the progress of a run: events, and progress bars on stderr."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from ragassay.options import OptionStyle
from ragassay.records import Rejection, Usage
from ragassay.safe_text import open_console, use_safe_streams

if TYPE_CHECKING:
    from rich.progress import Progress

    from ragassay.retrievers.dense.embed import EmbedEvent
    from ragassay.retrievers.disk.build import BuildEvent


@dataclass(frozen=True)
class Event:
    """A progress event of a run.

    Attributes:
        n_calls: Number of finished or failed calls.
        n_records: Number of finished answers.
        usage: Usage of the finished calls.
        phase: Name of the phase that has started, or "" for none.
        answer: Id of the answer for which the phase has started.
    """

    n_expected: int = 0
    n_calls: int = 0
    n_records: int = 0
    usage: Usage = field(default_factory=Usage)
    phase: str = ""
    answer: str = ""

    def __add__(self, other: Event) -> Event:
        """Add the counts of two events, and keep the latest phase."""
        last = other if other.phase else self
        return Event(
            self.n_expected + other.n_expected,
            self.n_calls + other.n_calls,
            self.n_records + other.n_records,
            self.usage + other.usage,
            last.phase,
            last.answer,
        )


Listener = Callable[[Event], None]


T = TypeVar("T")

Bar = Callable[[int, str], AbstractContextManager[Listener]]
"""Function that takes a number of steps and a description, and opens a progress bar."""


class Presenter:
    """Shows the progress of a run and warnings about its input.

    Args:
        progress: Whether to show progress bars on stderr, or a function that receives each event.
    """

    style: OptionStyle = "keyword"
    """Whether error messages name options as command-line flags or as Python keywords."""

    def __init__(self, progress: bool | Listener = False) -> None:
        self.progress = progress
        self.rejections: list[Rejection] = []

    @contextmanager
    def announce_phase(self, what: str) -> Iterator[None]:
        """Announce a phase that has no progress bar."""
        yield

    @contextmanager
    def show_bar(self, n_records: int, description: str) -> Iterator[Listener]:
        """Show a progress bar for answers or questions and yield the listener for events."""
        if callable(self.progress):
            if n_records:
                self.progress(Event(phase=description))
            yield self.progress
            return
        with show_progress(n_records, self.progress and n_records > 0, description) as listen:
            yield listen

    @contextmanager
    def show_step_bar(self, n_steps: int, description: str) -> Iterator[Callable[[], None]]:
        """Show a progress bar for other steps than answers; yield a function to call after each."""
        if callable(self.progress):
            self.progress(Event(phase=description))
        with show_steps(n_steps, description, self.progress is True) as step:
            yield step

    def note_input(self, rejections: Sequence[Rejection], note: str = "") -> None:
        """Store unreadable lines, and issue the note on the corpus search as a warning."""
        self.rejections += rejections
        if note:
            warnings.warn(note, stacklevel=2)

    def show(self, found: object) -> None:
        """Show the result of a stage before the next stage starts."""


@contextmanager
def show_progress(
    n_records: int, enabled: bool, description: str = "evaluating"
) -> Iterator[Listener]:
    """Show a progress bar on stderr and yield the listener for events."""
    if not enabled:
        yield lambda event: None
        return
    with _build_bar() as progress, use_safe_streams():
        task = progress.add_task(description, total=n_records, detail="")
        totals = Event()

        def listen(event: Event) -> None:
            nonlocal totals
            totals += event
            phase = ": ".join(filter(None, (totals.phase, totals.answer)))
            progress.update(
                task,
                description=description if totals.n_records == n_records or not phase else phase,
                completed=totals.n_records,
                detail=_format_detail(totals),
            )

        yield listen


@contextmanager
def show_steps(n_steps: int, description: str, enabled: bool) -> Iterator[Callable[[], None]]:
    """Show a progress bar on stderr and yield a function to call after each step."""
    if not enabled:
        yield lambda: None
        return
    with _build_bar() as progress, use_safe_streams():
        task = progress.add_task(description, total=n_steps, detail="")
        yield lambda: progress.advance(task)


@contextmanager
def show_build(enabled: bool) -> Iterator[Callable[[BuildEvent], None]]:
    """Show the progress of a corpus build on stderr."""
    if not enabled:
        yield lambda event: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=open_console(stderr=True)) as progress, use_safe_streams():
        task = progress.add_task("reading")

        def listen(event: BuildEvent) -> None:
            files = f"{event.n_files} files done, " if event.n_files else ""
            progress.update(task, description=f"{files}{event.file}: {event.n_items:,} records")

        yield listen


@contextmanager
def show_embedding(n_articles: int, enabled: bool) -> Iterator[Callable[[EmbedEvent], None]]:
    """Show the progress of embedding a corpus on stderr."""
    if not enabled:
        yield lambda event: None
        return
    with _build_bar() as progress, use_safe_streams():
        task = progress.add_task("embedding", total=n_articles, detail="")

        def listen(event: EmbedEvent) -> None:
            seconds = progress.tasks[task].elapsed
            rate = f"{event.n_embedded / seconds:,.1f} articles/s" if seconds else ""
            progress.update(task, completed=event.n_done, detail=rate)

        yield listen


def track(items: Collection[T], description: str) -> Iterator[T]:
    """Iterate over items with a progress bar on stderr."""
    from rich.progress import track as rich_track

    yield from rich_track(items, description, console=open_console(stderr=True))


def _format_detail(totals: Event) -> str:
    usage: Usage = totals.usage
    calls = f"{totals.n_calls}/{totals.n_expected} call{'s' * (totals.n_expected != 1)}"
    n_tokens = usage.n_prompt_tokens + usage.n_completion_tokens
    if not n_tokens:
        return calls
    cost = "cost unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    return f"{calls}, {n_tokens:,} tokens, {cost}"


def _build_bar() -> Progress:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
        console=open_console(stderr=True),
        transient=False,
    )
