"""Compute the SVG paths that templates draw as plots of question-answer pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

N_SHADES = 8
MAX_ROWS = 40
"""Maximum number of questions or answers in a plot."""
MAX_COLUMNS = 300
"""Maximum number of columns in a sentence heatmap; in longer papers, sentences share columns."""
DARK = 0.625
"""Lowest value whose cell is so dark that its label is light: the end of the fifth of 8 shades."""
MAX_NUMBERED = 12
"""Maximum number of questions for which the heatmap shows the value of each cell."""
N_BARS = 10
CELL, ROW, WIDTH = 22, 14, 600
GUTTER = 26
BAR_HEIGHT = 60


@dataclass(frozen=True, slots=True)
class Label:
    """A text label in the margin, in a cell, or at the left or right end of a plot."""

    x: float
    y: float
    text: str
    kind: Literal["", "cell", "dark", "left", "right"] = ""


@dataclass(frozen=True, slots=True)
class Shade:
    """All heatmap cells of one shade as a single path; level 0 is the lightest shade."""

    level: int
    path: str


@dataclass(frozen=True, slots=True)
class Heatmap:
    """A grid of shaded cells, with a `note` about omitted rows and merged columns."""

    width: float
    height: float
    shades: tuple[Shade, ...]
    labels: tuple[Label, ...]
    low: float
    high: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Places:
    """Dot plot of the positions in the paper of each answer's closest sentences."""

    width: float
    height: float
    path: str
    lines: tuple[float, ...]
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class HistogramBar:
    """A bar of a histogram."""

    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """Histogram of similarities in bins of width 0.1, with negative values in the first bin."""

    width: float
    height: float
    bars: tuple[HistogramBar, ...]
    labels: tuple[Label, ...]


def draw_question_heatmap(matrix: Sequence[Sequence[float | None]]) -> Heatmap | None:
    """Return the heatmap of question similarities (figure 4), or None for fewer than two questions.

    Cells on the diagonal and cells without a score are empty.

    Args:
        matrix: Similarities of shape (n_questions, n_questions).
    """
    n = min(len(matrix), MAX_ROWS)
    if n < 2:
        return None
    cells = [[None if i == j else matrix[i][j] for j in range(n)] for i in range(n)]
    shades, _, _ = _build_shades(cells, CELL, CELL, (0.0, 1.0))
    labels = [Label(GUTTER - 6, CELL * (i + 0.65), str(i + 1), "right") for i in range(n)]
    labels += [Label(GUTTER + CELL * (i + 0.5), CELL * n + 14, str(i + 1)) for i in range(n)]
    if n <= MAX_NUMBERED:
        labels += [
            Label(
                GUTTER + CELL * (j + 0.5),
                CELL * (i + 0.65),
                f"{value:.2f}".replace("0.", ".", 1),
                "dark" if value >= DARK else "cell",
            )
            for i, row in enumerate(cells)
            for j, value in enumerate(row)
            if value is not None
        ]
    note = _describe_omission(len(matrix), "questions")
    return Heatmap(GUTTER + CELL * n + 2, CELL * n + 20, shades, tuple(labels), 0.0, 1.0, note)


def draw_sentence_heatmap(rows: Sequence[Sequence[float]]) -> Heatmap | None:
    """Return the heatmap of answers and sentences (figure 5 c), or None if there are no sentences.

    In long papers, neighbouring sentences share a column that shows the highest similarity.

    Args:
        rows: Similarities of shape (n_answers, n_sentences), where empty answers have empty rows.
    """
    shown = rows[:MAX_ROWS]
    n_sentences = max(map(len, shown), default=0)
    if not n_sentences:
        return None
    n_columns = min(n_sentences, MAX_COLUMNS)
    cells = [_merge_columns(row, n_columns) for row in shown]
    shades, low, high = _build_shades(cells, (WIDTH - GUTTER) / n_columns, ROW)
    height = ROW * len(shown)
    labels = (*_build_row_labels(len(shown)), *_build_end_labels(n_sentences, height + 13))
    notes = [_describe_omission(len(rows), "answers")]
    if n_sentences > n_columns:
        notes.append(
            f"{n_sentences} sentences in {n_columns} columns. A column shows the highest "
            "similarity of its sentences."
        )
    note = " ".join(filter(None, notes))
    return Heatmap(WIDTH, height + 18, shades, labels, low, high, note)


def draw_closest_places(closest: Sequence[Sequence[int]], n_sentences: int) -> Places | None:
    """Return the plot of each answer's closest sentences (figure 5 a), or None if it is empty."""
    closest = closest[:MAX_ROWS]
    if not n_sentences or not any(closest):
        return None
    step = (WIDTH - GUTTER) / n_sentences
    path = "".join(
        f"M{GUTTER + step * (sentence + 0.5):.1f} {ROW * (row + 0.5):g}h0"
        for row, sentences in enumerate(closest)
        for sentence in sorted(sentences)
    )
    height = ROW * len(closest)
    lines = tuple(round(GUTTER + (WIDTH - GUTTER) * i / 10, 1) for i in range(1, 10))
    labels = (*_build_row_labels(len(closest)), *_build_end_labels(n_sentences, height + 13))
    return Places(WIDTH, height + 18, path, lines if n_sentences >= 10 else (), labels)


def draw_histogram(values: Sequence[float]) -> Histogram | None:
    """Return the histogram of similarities, or None if there are no similarities."""
    if not values:
        return None
    counts = [0] * N_BARS
    for value in values:
        counts[min(N_BARS - 1, max(0, int(value * N_BARS + 1e-9)))] += 1
    most, width = max(counts), 24
    bars = tuple(
        HistogramBar(
            width * i + 1,
            round(14 + BAR_HEIGHT * (1 - count / most), 1),
            width - 2,
            round(BAR_HEIGHT * count / most, 1),
            f"{_format_edge(i)} to {_format_edge(i + 1)}: {count}",
        )
        for i, count in enumerate(counts)
    )
    base = 14 + BAR_HEIGHT
    labels = [
        Label(bar.x + bar.width / 2, bar.y - 3, str(n))
        for bar, n in zip(bars, counts, strict=True)
        if n
    ]
    labels += [Label(width * i, base + 13, _format_edge(i)) for i in (0, 5, 10)]
    return Histogram(width * N_BARS, base + 18, bars, tuple(labels))


def _describe_omission(n: int, things: str) -> str:
    return f"The first {MAX_ROWS} of {n} {things}." if n > MAX_ROWS else ""


def _format_edge(i: int) -> str:
    return f"{i / N_BARS:g}"


def _merge_columns(row: Sequence[float], n_columns: int) -> list[float | None]:
    """Reduce a row to `n_columns` values: the maxima of groups of neighbouring values."""
    if not row:
        return [None] * n_columns
    edges = [len(row) * i // n_columns for i in range(n_columns + 1)]
    return [max(row[a:b]) for a, b in pairwise(edges)]


def _build_shades(
    cells: Sequence[Sequence[float | None]],
    width: float,
    height: float,
    ends: tuple[float, float] | None = None,
) -> tuple[tuple[Shade, ...], float, float]:
    """Return one path per shade, and the values at the light and the dark end of the scale."""
    known = [value for row in cells for value in row if value is not None]
    low, high = ends or (min(known, default=0.0), max(known, default=0.0))
    paths: dict[int, list[str]] = {}
    for y, row in enumerate(cells):
        levels = [None if value is None else _compute_level(value, low, high) for value in row]
        start = 0
        for x in range(1, len(levels) + 1):
            if x < len(levels) and levels[x] == levels[start]:
                continue
            level = levels[start]
            if level is not None:
                left, run = GUTTER + width * start, width * (x - start)
                paths.setdefault(level, []).append(
                    f"M{left:.1f} {height * y:g}h{run:.1f}v{height:g}h-{run:.1f}z"
                )
            start = x
    return tuple(Shade(level, "".join(paths[level])) for level in sorted(paths)), low, high


def _compute_level(value: float, low: float, high: float) -> int:
    share = (value - low) / (high - low) if high > low else 0.0
    return min(N_SHADES - 1, max(0, int(share * N_SHADES)))


def _build_row_labels(n: int) -> list[Label]:
    return [Label(GUTTER - 6, ROW * (i + 0.75), str(i + 1), "right") for i in range(n)]


def _build_end_labels(n_sentences: int, y: float) -> tuple[Label, Label]:
    last = Label(WIDTH, y, f"sentence {n_sentences}", "right")
    return Label(GUTTER, y, "first sentence", "left"), last
