"""Formats past runs for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ragassay.records.base import Frozen
from ragassay.reports.display import SHARE_SCALE, format_range, format_value
from ragassay.reports.labels import flatten_text
from ragassay.reports.text import count_text, extract_score_group, find_score_name

if TYPE_CHECKING:
    from rich.console import RenderableType

STYLES = {"failed": "bold red", "damaged": "bold red", "stopped": "yellow", "running": "blue"}
LIKERT = (1.0, 5.0)
MOST_NAME = 32


State = Literal["finished", "running", "stopped", "failed", "damaged"]


class PastRun(Frozen):
    """A run folder.

    Attributes:
        when: Time of the last change of the run, in UTC.
        state: State of the run. "failed" is a run that finished without evaluating any answer.
        n_evaluated: Number of answers evaluated so far.
        n_records: Number of answers to evaluate.
        scores: Main scores of a finished run. A score is None if it is unscored or only its range
            is known.
        ranges: Lowest and highest possible value of scores of which only the range is known.
        n_findings: Number of primary findings. None if the run is not finished.
        note: Result of an audit, or what is wrong with a damaged folder.
    """

    name: str
    path: Path
    when: datetime
    state: State
    n_evaluated: int = 0
    n_records: int = 0
    judge: str = ""
    scores: dict[str, float | None] = Field(default_factory=dict)
    ranges: dict[str, tuple[float, float]] = Field(default_factory=dict)
    n_findings: int | None = None
    note: str = ""


def render_past_runs(runs: Sequence[PastRun]) -> Iterator[RenderableType]:
    """Yield a line with the name, time and state of each run, and a line with its scores."""
    from rich.padding import Padding
    from rich.text import Text

    width = min(MOST_NAME, max((len(run.name) for run in runs), default=0))
    for run in runs:
        first = Text(f"{flatten_text(run.name):<{width}}", style="bold")
        first.append(f"  {run.when:%Y-%m-%d %H:%M}  ", style="not bold")
        yield first.append(describe_run_state(run), style=STYLES.get(run.state, "not bold"))
        if detail := describe_run_detail(run):
            yield Padding(Text(flatten_text(detail), style="dim"), (0, 0, 0, width + 2))


def describe_run_state(run: PastRun) -> str:
    """Describe the progress of a run and the number of its primary findings."""
    if run.state == "damaged":
        return "damaged"
    if run.state == "failed":
        return f"failed: none of {run.n_records} answers were evaluated"
    if run.state != "finished":
        return f"{run.state} at {run.n_evaluated} of {run.n_records}"
    parts = [f"finished, {count_text(run.n_evaluated, 'answer')}"]
    if run.n_records > run.n_evaluated:
        parts.append(f"{run.n_records - run.n_evaluated} failed")
    if run.n_findings is not None:
        parts.append(count_text(run.n_findings, "finding"))
    return ", ".join(parts)


def describe_run_detail(run: PastRun) -> str:
    """Return the main scores, note and judge of a run."""
    scores = [
        f"{find_score_name(key).lower()} {_format_score_value(key, value, run.ranges.get(key))}"
        for key, value in run.scores.items()
    ]
    parts = [", ".join(scores), run.note.rstrip("."), run.judge and f"by {run.judge}"]
    return "; ".join(part for part in parts if part)


def _format_score_value(key: str, value: float | None, ends: tuple[float, float] | None) -> str:
    scale = LIKERT if extract_score_group(key) == "rubric" else SHARE_SCALE
    return format_value(value, scale) if ends is None else format_range(*ends, scale)
