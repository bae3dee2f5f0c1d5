"""Geometry of the plots of question-answer pairs: from numbers to paths. A template draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

N_SHADES = 8
MAX_ROWS = 40
"""Questions or answers that a plot shows; a paper with more shows its first ones."""
MAX_COLUMNS = 300
"""Columns of a heatmap of sentences; a longer paper's neighbours share one."""
DARK = 0.625
"""Value from which a cell is too dark for dark numbers: the fifth of its eight shades ends here."""
MAX_NUMBERED = 12
"""Questions of a heatmap that has room for numbers."""
N_BARS = 10
CELL, ROW, WIDTH = 22, 14, 600
GUTTER = 26
BAR_HEIGHT = 60


@dataclass(frozen=True, slots=True)
class Label:
    """A word or a number at a place: in the margin, in a cell or at an end of the plot."""

    x: float
    y: float
    text: str
    kind: Literal["", "cell", "dark", "left", "right"] = ""


@dataclass(frozen=True, slots=True)
class Shade:
    """All cells of one shade, from 0 for the least, as one path."""

    level: int
    path: str


@dataclass(frozen=True, slots=True)
class Heatmap:
    """A grid of shaded cells; `note` says what was left out or joined."""

    width: float
    height: float
    shades: tuple[Shade, ...]
    labels: tuple[Label, ...]
    low: float
    high: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Places:
    """For each answer, its closest sentences as dots along the paper."""

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
    """Counts of similarities in bars of .1; what is below 0 is in the first."""

    width: float
    height: float
    bars: tuple[HistogramBar, ...]
    labels: tuple[Label, ...]


def question_heatmap(matrix: Sequence[Sequence[float | None]]) -> Heatmap | None:
    """Return figure 4: the similarity of each two questions; None for fewer than two.

    The diagonal, where a question meets itself, stays empty, and so does an unscored cell.

    Args:
        matrix: shape (n_questions, n_questions).
    """
    n = min(len(matrix), MAX_ROWS)
    if n < 2:
        return None
    cells = [[None if i == j else matrix[i][j] for j in range(n)] for i in range(n)]
    shades, _, _ = _shades(cells, CELL, CELL, (0.0, 1.0))
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
    note = _left_out(len(matrix), "questions")
    return Heatmap(GUTTER + CELL * n + 2, CELL * n + 20, shades, tuple(labels), 0.0, 1.0, note)


def sentence_heatmap(rows: Sequence[Sequence[float]]) -> Heatmap | None:
    """Return figure 5 (c): the similarity of each answer and each sentence; None without any.

    Of a long paper, neighbouring sentences share a column, which shows the most similar of them.

    Args:
        rows: shape (n_answers, n_sentences); a row without a value stays empty.
    """
    shown = rows[:MAX_ROWS]
    n_sentences = max(map(len, shown), default=0)
    if not n_sentences:
        return None
    n_columns = min(n_sentences, MAX_COLUMNS)
    cells = [_columns(row, n_columns) for row in shown]
    shades, low, high = _shades(cells, (WIDTH - GUTTER) / n_columns, ROW)
    height = ROW * len(shown)
    labels = (*_row_labels(len(shown)), *_ends(n_sentences, height + 13))
    notes = [_left_out(len(rows), "answers")]
    if n_sentences > n_columns:
        joined = f"{n_sentences} sentences in {n_columns} columns"
        notes.append(f"{joined}: each shows its most similar sentence.")
    note = " ".join(filter(None, notes))
    return Heatmap(WIDTH, height + 18, shades, labels, low, high, note)


def closest_places(closest: Sequence[Sequence[int]], n_sentences: int) -> Places | None:
    """Return figure 5 (a): the closest sentences of each answer, by place; None without any."""
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
    labels = (*_row_labels(len(closest)), *_ends(n_sentences, height + 13))
    return Places(WIDTH, height + 18, path, lines if n_sentences >= 10 else (), labels)


def histogram(values: Sequence[float]) -> Histogram | None:
    """Return how often each similarity is found; None without a value."""
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
            f"{_edge(i)} to {_edge(i + 1)}: {count}",
        )
        for i, count in enumerate(counts)
    )
    base = 14 + BAR_HEIGHT
    labels = [Label(b.x + b.width / 2, b.y - 3, str(n)) for b, n in zip(bars, counts, strict=True)]
    labels = [label for label, n in zip(labels, counts, strict=True) if n]
    labels += [Label(width * i, base + 13, _edge(i)) for i in (0, 5, 10)]
    return Histogram(width * N_BARS, base + 18, bars, tuple(labels))


def _left_out(n: int, things: str) -> str:
    return f"The first {MAX_ROWS} of {n} {things}." if n > MAX_ROWS else ""


def _edge(i: int) -> str:
    return f"{i / N_BARS:g}"


def _columns(row: Sequence[float], n_columns: int) -> list[float | None]:
    """Return a row's values, neighbours joined to their greatest where there are too many."""
    if not row:
        return [None] * n_columns
    edges = [len(row) * i // n_columns for i in range(n_columns + 1)]
    return [max(row[a:b]) for a, b in pairwise(edges)]


def _shades(
    cells: Sequence[Sequence[float | None]],
    width: float,
    height: float,
    ends: tuple[float, float] | None = None,
) -> tuple[tuple[Shade, ...], float, float]:
    """Return cells as one path for each shade, and the values of the least and the darkest."""
    known = [value for row in cells for value in row if value is not None]
    low, high = ends or (min(known, default=0.0), max(known, default=0.0))
    paths: dict[int, list[str]] = {}
    for y, row in enumerate(cells):
        levels = [None if value is None else _level(value, low, high) for value in row]
        start = 0
        for x in range(1, len(levels) + 1):
            if x < len(levels) and levels[x] == levels[start]:
                continue
            level = levels[start]
            if level is not None:
                left, wide = GUTTER + width * start, width * (x - start)
                paths.setdefault(level, []).append(
                    f"M{left:.1f} {height * y:g}h{wide:.1f}v{height:g}h-{wide:.1f}z"
                )
            start = x
    return tuple(Shade(level, "".join(paths[level])) for level in sorted(paths)), low, high


def _level(value: float, low: float, high: float) -> int:
    share = (value - low) / (high - low) if high > low else 0.0
    return min(N_SHADES - 1, max(0, int(share * N_SHADES)))


def _row_labels(n: int) -> list[Label]:
    return [Label(GUTTER - 6, ROW * (i + 0.75), str(i + 1), "right") for i in range(n)]


def _ends(n_sentences: int, y: float) -> tuple[Label, Label]:
    last = Label(WIDTH, y, f"sentence {n_sentences}", "right")
    return Label(GUTTER, y, "first sentence", "left"), last
