"""Draw SVG plots with matplotlib. The output is deterministic and needs no display.

Names of systems and labels are untrusted, so they are escaped and never parsed as math text.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ragassay.extras import is_installed, need
from ragassay.metrics.stats.aggregates import Matrix
from ragassay.metrics.stats.calibration import ReliabilityBin
from ragassay.metrics.stats.leaderboard import Leaderboard
from ragassay.records import Score
from ragassay.reports.display import format_label
from ragassay.reports.labels import flatten_text
from ragassay.reports.text import find_score_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, GREY, ORANGE = "#1f5fa8", "#8a8a8a", "#d55e00"
ROW_HEIGHT_IN = 0.32
MAX_NAME = 40
_NOT_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")


def can_plot() -> bool:
    """Return whether matplotlib is installed. Without matplotlib, plots are skipped."""
    return is_installed("matplotlib")


def plot_intervals(board: Leaderboard) -> str:
    """Plot the means of a leaderboard with their 95 % intervals, best system first.

    A dashed line shows the range of a mean with too many unscored verdicts.
    """
    rows = [row for row in board.rows if row.score.value is not None or row.score.is_open]
    figure, axes = _create_figure(7.0, 1.3 + ROW_HEIGHT_IN * max(1, len(rows)))
    for y, row in enumerate(reversed(rows)):
        score = row.score
        if score.value is None and score.range is not None:
            axes.plot(score.range, [y, y], color=BLUE, linestyle="--", zorder=1)
            continue
        if score.low is not None and score.high is not None:
            axes.plot([score.low, score.high], [y, y], color=GREY, linewidth=2, zorder=1)
        axes.plot([score.value or 0.0], [y], "o", color=BLUE, zorder=2)
    names = [_shorten_name(row.system) for row in reversed(rows)]
    axes.set_yticks(range(len(rows)), labels=names, parse_math=False)
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.grid(axis="x", color="#dddddd")
    title = f"{find_score_title(board.key)}{', lower is better' if board.lower_is_better else ''}"
    is_open = any(row.score.value is None for row in rows)
    dashed = " (dashed: range of a mean with too many unscored verdicts)" if is_open else ""
    axes.set_xlabel(f"mean over questions with 95 % interval{dashed}")
    return _render_svg(figure, axes, title)


def plot_reliability(title: str, bins: Sequence[ReliabilityBin]) -> str:
    """Plot a judge's accuracy against its confidence; larger dots stand for larger bins.

    A calibrated judge lies on the diagonal.
    """
    figure, axes = _create_figure(4.6, 4.6)
    axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1)
    total = sum(part.n for part in bins)
    for part in bins:
        if part.confidence is None or part.accuracy is None:
            continue
        size = 20 + 380 * part.n / total
        axes.scatter([part.confidence], [part.accuracy], s=size, color=BLUE, alpha=0.7)
        axes.annotate(
            f"n={part.n}",
            (part.confidence, part.accuracy),
            textcoords="offset points",
            xytext=(0, 5 + math.sqrt(size) / 2),
            ha="center",
            fontsize=7,
        )
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.03, 1.12)
    axes.set_xlabel("judge confidence")
    axes.set_ylabel("share of correct labels")
    return _render_svg(figure, axes, title)


def plot_confusion(title: str, labels: Sequence[str], confusion: Sequence[Sequence[int]]) -> str:
    """Plot a confusion matrix with human labels in rows, shaded by row share."""
    figure, axes = _create_figure(2.2 + 0.9 * len(labels), 1.6 + 0.6 * len(labels))
    shares = [[n / max(1, sum(row)) for n in row] for row in confusion]
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    for y, row in enumerate(confusion):
        for x, n in enumerate(row):
            shade = "white" if shares[y][x] > 0.5 else "black"
            axes.text(x, y, f"{n:,}", ha="center", va="center", color=shade)
    names = [_shorten_name(format_label(label)) for label in labels]
    axes.set_xticks(range(len(labels)), labels=names, parse_math=False, rotation=30, ha="right")
    axes.set_yticks(range(len(labels)), labels=names, parse_math=False)
    axes.set_xlabel("judge")
    axes.set_ylabel("human")
    return _render_svg(figure, axes, title)


def plot_heatmap(matrix: Matrix, texts: Sequence[Sequence[str]]) -> str:
    """Plot a matrix of means in which darker cells are better.

    The cells on the diagonal are framed. In a similarity matrix, the diagonal is not shaded because
    each text is compared with itself.

    Args:
        texts: Texts of the cells, shape (n_rows, n_columns).
    """
    from matplotlib.patches import Rectangle

    figure, axes = _create_figure(2.6 + 0.95 * len(matrix.columns), 1.6 + 0.55 * len(matrix.rows))
    shades = _compute_shades(matrix)
    axes.imshow(shades, cmap="Blues", vmin=0, vmax=1.15, aspect="auto", interpolation="nearest")
    for y, row in enumerate(texts):
        for x, text in enumerate(row):
            color = "white" if shades[y][x] > 0.65 else "black"
            axes.text(x, y, text, ha="center", va="center", color=color, fontsize=9)
    for y, x in sorted(matrix.own):
        frame = Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, edgecolor=ORANGE)
        axes.add_patch(frame)
    columns, rows = (
        [_shorten_name(name) for name in matrix.columns],
        [_shorten_name(name) for name in matrix.rows],
    )
    axes.set_xticks(range(len(columns)), labels=columns, parse_math=False, rotation=30, ha="right")
    axes.set_yticks(range(len(rows)), labels=rows, parse_math=False)
    axes.set_xlabel(_shorten_name(matrix.column_title), parse_math=False)
    axes.set_ylabel(_shorten_name(matrix.row_title), parse_math=False)
    return _render_svg(figure, axes, matrix.title)


def _compute_shades(matrix: Matrix) -> list[list[float]]:
    left_out = matrix.own if matrix.is_reflexive else frozenset[tuple[int, int]]()
    values = {
        (y, x): -value if matrix.lower_is_better else value
        for y, row in enumerate(matrix.cells)
        for x, cell in enumerate(row)
        if (value := cell.value) is not None and (y, x) not in left_out
    }
    low, high = min(values.values(), default=0.0), max(values.values(), default=0.0)
    return [
        [
            (values[y, x] - low) / (high - low or 1.0) if (y, x) in values else math.nan
            for x in range(len(matrix.columns))
        ]
        for y in range(len(matrix.rows))
    ]


def plot_ranking(title: str, human: Mapping[str, float], judge: Mapping[str, float]) -> str:
    """Plot the human mean of each system against the judge's mean."""
    figure, axes = _create_figure(4.6, 4.6)
    for system, value in human.items():
        axes.scatter([value], [judge[system]], color=BLUE, s=22)
        axes.annotate(
            _shorten_name(system),
            (value, judge[system]),
            textcoords="offset points",
            xytext=(4, 4),
            fontsize=7,
            parse_math=False,
        )
    axes.set_xlabel("human mean")
    axes.set_ylabel("judge mean")
    return _render_svg(figure, axes, title)


def plot_curves(
    title: str, x_label: str, y_label: str, curves: Mapping[str, Mapping[int, Score]]
) -> str:
    """Plot scores against an integer such as k, with 95 % intervals as bands."""
    figure, axes = _create_figure(6.4, 4.2)
    for name, points in curves.items():
        known = {x: score for x, score in sorted(points.items()) if score.value is not None}
        values = [score.value or 0.0 for score in known.values()]
        (line,) = axes.plot(
            list(known), values, marker="o", markersize=3, label=_shorten_name(name)
        )
        spans = {x: score for x, score in known.items() if None not in (score.low, score.high)}
        lows, highs = ([getattr(s, end) for s in spans.values()] for end in ("low", "high"))
        axes.fill_between(list(spans), lows, highs, color=line.get_color(), alpha=0.12)
    axes.set_xlabel(_shorten_name(x_label), parse_math=False)
    axes.set_ylabel(_shorten_name(y_label), parse_math=False)
    axes.set_ylim(-0.02, 1.02)
    axes.grid(color="#dddddd")
    if curves:
        legend = axes.legend(fontsize=7)
        for text in legend.get_texts():
            text.set_parse_math(False)
    return _render_svg(figure, axes, title)


def _create_figure(width_in: float, height_in: float) -> tuple[Figure, Axes]:
    # pyplot would keep figures in a global list and look for a display.
    need("matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_in, height_in))
    return figure, figure.add_subplot()


def _render_svg(figure: Figure, axes: Axes, title: str) -> str:
    from matplotlib import rc_context

    axes.set_title(_clean_text(title), parse_math=False, fontsize=10)
    buffer = io.StringIO()
    with rc_context({"svg.hashsalt": "ragassay", "svg.fonttype": "none"}), _hide_warnings():
        figure.savefig(
            buffer,
            format="svg",
            bbox_inches="tight",
            metadata={"Date": None, "Creator": None, "Title": _clean_text(title)},
        )
    return buffer.getvalue()


def _hide_warnings() -> warnings.catch_warnings[None]:
    """Hide warnings about missing glyphs, because the font of the SVG viewer may have them."""
    return warnings.catch_warnings(action="ignore", category=UserWarning)


def _shorten_name(name: str) -> str:
    text = _clean_text(name)
    return text if len(text) <= MAX_NAME else text[: MAX_NAME - 1] + "\u2026"


def _clean_text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", flatten_text(text))
