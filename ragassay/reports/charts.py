"""Chart coordinates, which the templates draw as SVG.

The dot-and-interval plot is 480 units wide so that its text is legible on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.records import Score
from ragassay.reports.display import format_interval, format_score, format_value, rescale_value
from ragassay.reports.text import find_score_direction, find_score_title

MAX_SERIES = 6
LEFT = 180.0
RIGHT_SINGLE = 426.0
RIGHT_SERIES = 458.0
TOP = 12.0
LANE = 13.0
MAX_LABEL = 24
ROW_GAP = 16.0
SPARK_HEIGHT = 12
SPARK_BAR = 4


@dataclass(frozen=True, slots=True)
class PlotMark:
    """Value of one series in one row of a plot; `x` is None if the value is unscored."""

    series: int
    y: float
    x: float | None
    low: float | None
    high: float | None
    text: str
    detail: str


@dataclass(frozen=True, slots=True)
class PlotRow:
    """A row of a plot: a score with one mark per series; `label` is the truncated title."""

    title: str
    label: str
    note: str
    y: float
    marks: tuple[PlotMark, ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A horizontal dot-and-interval plot."""

    title: str
    description: str
    height: float
    left: float
    right: float
    bottom: float
    ticks: tuple[tuple[float, str], ...]
    rows: tuple[PlotRow, ...]
    series: tuple[str, ...]


def build_dot_plot(
    title: str, keys: Sequence[str], series: Mapping[str, Mapping[str, Score]]
) -> Plot:
    """Compute the coordinates of a dot-and-interval plot.

    Args:
        keys: Keys of the scores; each score gets one row. All scores must have the same scale.
        series: Scores by the name of the series; at most `MAX_SERIES` series. Values are printed
            only if there is a single series.
    """
    right = RIGHT_SINGLE if len(series) == 1 else RIGHT_SERIES
    scale = _find_scale(keys, series)
    step = LANE * max(1, len(series)) + ROW_GAP
    rows = tuple(
        _build_row(key, TOP + step * (index + 0.5), series, scale, right)
        for index, key in enumerate(keys)
    )
    bottom = TOP + step * len(rows)
    return Plot(
        title=title,
        description=" ".join(_describe(row) for row in rows),
        height=bottom + 24,
        left=LEFT,
        right=right,
        bottom=bottom,
        ticks=_compute_ticks(scale, right),
        rows=rows,
        series=tuple(series),
    )


def _find_scale(
    keys: Sequence[str], series: Mapping[str, Mapping[str, Score]]
) -> tuple[float, float]:
    scales = (scores[key].scale for key in keys for scores in series.values() if key in scores)
    return next(scales, (0.0, 1.0))


def _compute_x(value: float | None, scale: tuple[float, float], right: float) -> float | None:
    share = rescale_value(value, scale)
    return None if share is None else round(LEFT + (right - LEFT) * share, 1)


def _build_row(
    key: str,
    y: float,
    series: Mapping[str, Mapping[str, Score]],
    scale: tuple[float, float],
    right: float,
) -> PlotRow:
    top = y - LANE * (len(series) - 1) / 2
    marks = tuple(
        _build_mark(index, name, scores.get(key), round(top + LANE * index, 1), scale, right)
        for index, (name, scores) in enumerate(series.items())
    )
    note = "lower is better" if find_score_direction(key) == "lower" else ""
    judges = {scores[key].judge for scores in series.values() if key in scores}
    title = find_score_title(key, judges.pop() if len(judges) == 1 else "")
    label = title if len(title) <= MAX_LABEL else title[: MAX_LABEL - 1].rstrip() + "\u2026"
    return PlotRow(title, label, note, round(y, 1), marks)


def _build_mark(
    index: int,
    name: str,
    score: Score | None,
    y: float,
    scale: tuple[float, float],
    right: float,
) -> PlotMark:
    text = format_score(score)
    x = _compute_x(score.value if score else None, scale, right)
    ends = (score.low, score.high) if score and x is not None else (None, None)
    if score and score.is_open and score.range is not None:
        ends = score.range
    low, high = (_compute_x(end, scale, right) for end in ends)
    detail = f"{name} {text}" if name else text
    if score and x is not None and low is not None and high is not None:
        detail += f" ({format_interval(score)})"
    return PlotMark(index, y, x, low, high, text, detail)


def _compute_ticks(scale: tuple[float, float], right: float) -> tuple[tuple[float, str], ...]:
    low, high = scale
    if high <= low:
        return ()
    whole = (high - low).is_integer() and 2 <= high - low <= 10
    n = int(high - low) if whole else 4
    values = [low + (high - low) * i / n for i in range(n + 1)]
    return tuple(
        (
            _compute_x(value, scale, right) or LEFT,
            f"{value:g}" if whole else format_value(value, scale),
        )
        for value in values
    )


def _describe(row: PlotRow) -> str:
    return f"{row.title}: {', '.join(mark.detail for mark in row.marks)}."


def draw_spark_path(distribution: Sequence[float]) -> str:
    """Return the SVG path data of a small bar chart.

    Args:
        distribution: Probabilities in [0, 1]. A zero is drawn as a hairline.
    """
    bars = []
    for index, probability in enumerate(distribution):
        share = min(1.0, max(0.0, probability)) if math.isfinite(probability) else 0.0
        height = max(0.6, round(share * SPARK_HEIGHT, 1))
        bars.append(
            f"M{index * (SPARK_BAR + 1)} {SPARK_HEIGHT}v-{height:g}h{SPARK_BAR}v{height:g}z"
        )
    return "".join(bars)
