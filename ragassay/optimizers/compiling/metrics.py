"""Grade replies and describe their errors, and compute metrics over many replies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.metrics.papers.nuggets import align_optimally, mask_repeats
from ragassay.metrics.stats.intervals import (
    SHARE_SCALE,
    Interval,
    Statistic,
    bootstrap_interval,
    build_score,
    f1_score,
    round_score,
    sum_by_cluster,
)
from ragassay.optimizers.compiling.items import CompileItem
from ragassay.prompts.compiled import PromptComparison
from ragassay.prompts.texts import load_proposals
from ragassay.records import Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIFFERENCE_SCALE = (-1.0, 1.0)


@dataclass(frozen=True)
class Grade:
    """Grade of a reply.

    Attributes:
        value: Grade in [0, 1].
    """

    value: float
    predicted: str | float
    feedback: str


@dataclass(frozen=True)
class ItemOutcome:
    """Graded reply for an item.

    Without a grade, the item is unscored, and `reason` explains why.
    """

    item: CompileItem
    mark: Grade | None
    reason: str = ""


def mark_label(right: str, found: str) -> Grade:
    """Grade a label: 1 if correct, else 0."""
    words = load_proposals().feedback
    if found == right:
        return Grade(1.0, found, words.right.replace("{expected}", right))
    why = load_proposals().labels.get(right, "")
    return Grade(
        0.0, found, _fill_template(words.wrong, found=found, expected=right, why=why).strip()
    )


def mark_rating(item: CompileItem, score: float, bounds: tuple[int, int]) -> Grade:
    """Grade a rating by its distance from the desired rating, as 1 - |score - desired| / range.

    For a perturbed answer, the desired rating is an upper limit, and any lower rating has the grade
    1.

    Args:
        item: Rated item. `item.right` is the desired rating.
        score: Expected value of the rating, or the rating in the reply.

    Example:
        >>> item = CompileItem("a", "q", (), right=4.0)
        >>> mark_rating(item, 3.0, (1, 5)).value
        0.75
    """
    words, desired = load_proposals().feedback, float(item.right)  # type: ignore[arg-type]
    excess = score - desired
    distance = max(0.0, excess) if item.unperturbed else abs(excess)
    expected = f"{desired:g}"
    if item.unperturbed:
        expected = words.at_most.replace("{rating}", expected)
    value = max(0.0, 1 - distance / (bounds[1] - bounds[0]))
    if distance < 0.5:
        return Grade(value, score, words.right.replace("{expected}", expected))
    why = (
        words.perturbed
        if item.unperturbed
        else words.distance.replace("{distance}", f"{distance:.1f}")
    )
    return Grade(
        value, score, _fill_template(words.wrong, found=f"{score:.1f}", expected=expected, why=why)
    )


def mark_nuggets(
    right: Sequence[str], found: Sequence[str], similarity: NDArray[np.floating], threshold: float
) -> Grade:
    """Grade nuggets by F1 after one-to-one alignment.

    Args:
        right: One or more expected nuggets.
        found: One or more nuggets in the reply.
        similarity: Cosine similarities, shape (n_right, n_found).
        threshold: Minimum similarity of nuggets that state the same fact.
    """
    counts = (similarity >= threshold) & mask_repeats(found)
    pairs = align_optimally(similarity, counts)
    value = f1_score(len(pairs) / len(found), len(pairs) / len(right)) or 0.0
    words = load_proposals().feedback
    missed = [text for n, text in enumerate(right) if all(pair.gold != n for pair in pairs)]
    spare = [text for n, text in enumerate(found) if all(pair.nugget != n for pair in pairs)]
    remarks = [words.right.replace("{expected}", " | ".join(right))] if value == 1 else []
    remarks += [words.missed.replace("{facts}", " | ".join(missed))] if missed else []
    remarks += [words.spare.replace("{facts}", " | ".join(spare))] if spare else []
    return Grade(value, value, " ".join(remarks))


def mark_hits(right: Sequence[str], found: Sequence[str]) -> Grade:
    """Grade search results by the recall of one or more relevant articles."""
    gold = set(right)
    n = len(gold & set(found))
    words = load_proposals().feedback.articles
    feedback = _fill_template(words, n_found=str(n), n_gold=str(len(gold)))
    return Grade(n / len(gold), n / len(gold), feedback)


def mark_unusable(problem: str) -> Grade:
    """Return the grade 0 for a failed or unusable reply."""
    return Grade(0.0, "", load_proposals().feedback.unusable.replace("{problem}", problem[:200]))


def _fill_template(words: str, **values: str) -> str:
    for name, value in values.items():
        words = words.replace(f"{{{name}}}", value)
    return words


@dataclass(frozen=True)
class ResampledFigure:
    """A metric that is computed from sums over outcomes, which makes bootstrapping fast.

    Attributes:
        rows: Function that returns the summands of outcomes, shape (n, ...).
        value: Function that computes the metric, shape (...), from sums, shape (..., *row).
            Undefined values are NaN.
    """

    name: str
    rows: Callable[[Sequence[ItemOutcome]], NDArray[np.float64]]
    value: Callable[[NDArray[np.float64]], NDArray[np.float64]]


FigureOf = Callable[[Sequence[ItemOutcome]], ResampledFigure]
"""Function that returns the metric to compute for a list of outcomes."""


def build_mean_figure(name: str) -> ResampledFigure:
    """Return the mean grade as a metric."""
    return ResampledFigure(name, _build_mark_rows, _compute_ratio)


def build_macro_f1_figure(labels: Sequence[str]) -> ResampledFigure:
    """Return macro-F1 as a metric, averaged over all labels that are expected or predicted."""

    def build_rows(outcomes: Sequence[ItemOutcome]) -> NDArray[np.float64]:
        import numpy as np

        tables = np.zeros((len(outcomes), len(labels), len(labels)))
        for table, outcome in zip(tables, outcomes, strict=True):
            assert outcome.mark is not None
            table[
                labels.index(str(outcome.item.right)), labels.index(str(outcome.mark.predicted))
            ] = 1
        return tables

    return ResampledFigure("macro-F1", build_rows, _compute_macro_f1)


def build_detection_figure(outcomes: Sequence[ItemOutcome]) -> ResampledFigure:
    """Return as a metric the share of pairs in which the perturbed answer has the lower rating."""
    unperturbed = {
        o.item.key: o.mark for o in outcomes if o.mark is not None and not o.item.unperturbed
    }

    def build_rows(chosen: Sequence[ItemOutcome]) -> NDArray[np.float64]:
        import numpy as np

        pairs: list[tuple[float, float]] = []
        for outcome in chosen:
            original = unperturbed.get(outcome.item.unperturbed)
            if outcome.mark is None or original is None:
                pairs.append((0.0, 0.0))
            else:
                is_below = float(outcome.mark.predicted) < float(original.predicted)
                pairs.append((float(is_below), 1.0))
        return np.array(pairs).reshape(-1, 2)

    return ResampledFigure("paired detection", build_rows, _compute_ratio)


def _build_mark_rows(outcomes: Sequence[ItemOutcome]) -> NDArray[np.float64]:
    import numpy as np

    return np.array([(o.mark.value if o.mark else 0.0, 1.0) for o in outcomes]).reshape(-1, 2)


def _compute_ratio(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        return sums[..., 0] / sums[..., 1]


def _compute_macro_f1(tables: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    marginals = tables.sum(axis=-1) + tables.sum(axis=-2)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.diagonal(tables, axis1=-2, axis2=-1) * 2 / marginals
        return np.where(marginals > 0, each, 0).sum(axis=-1) / (marginals > 0).sum(axis=-1)


def compare(
    before: Sequence[ItemOutcome],
    after: Sequence[ItemOutcome],
    figure_of: FigureOf,
) -> PromptComparison:
    """Compare a metric before and after optimization, on items that were scored both times.

    `before` and `after` contain the same items in the same order. Intervals are computed by
    resampling groups of items.
    """
    both = [n for n, (b, a) in enumerate(zip(before, after, strict=True)) if b.mark and a.mark]
    first, second = [before[n] for n in both], [after[n] for n in both]
    return PromptComparison(
        metric=figure_of(before).name,
        before=_score_outcomes(before, figure_of),
        after=_score_outcomes(after, figure_of),
        gain=_measure_gain(first, second, figure_of, len(before) - len(both)),
    )


def _score_outcomes(outcomes: Sequence[ItemOutcome], figure_of: FigureOf) -> Score:
    scored = [outcome for outcome in outcomes if outcome.mark is not None]
    n_unscored = len(outcomes) - len(scored)
    if not scored:
        return Score(value=None, n=0, n_unscored=n_unscored)
    figure = figure_of(scored)
    sums = _sum_rows(figure, scored)
    interval = bootstrap_interval(_build_statistic(figure, sums), len(sums))
    value = float(figure.value(sums.sum(axis=0)))
    return _round_score(value, len(scored), n_unscored, interval)


def _measure_gain(
    before: Sequence[ItemOutcome],
    after: Sequence[ItemOutcome],
    figure_of: FigureOf,
    n_unscored: int,
) -> Score:
    if not before:
        return Score(value=None, n=0, n_unscored=n_unscored, scale=DIFFERENCE_SCALE)
    old, new = figure_of(before), figure_of(after)
    sums, more = _sum_rows(old, before), _sum_rows(new, after)
    first, second = _build_statistic(old, sums), _build_statistic(new, more)
    interval = bootstrap_interval(lambda counts: second(counts) - first(counts), len(sums))
    value = float(new.value(more.sum(axis=0)) - old.value(sums.sum(axis=0)))
    return _round_score(value, len(before), n_unscored, interval, DIFFERENCE_SCALE)


def _sum_rows(figure: ResampledFigure, outcomes: Sequence[ItemOutcome]) -> NDArray[np.float64]:
    return sum_by_cluster(figure.rows(outcomes), [o.item.group for o in outcomes])


def _build_statistic(figure: ResampledFigure, sums: NDArray[np.float64]) -> Statistic:
    import numpy as np

    return lambda counts: figure.value(np.tensordot(counts, sums, axes=1))


def _round_score(
    value: float,
    n: int,
    n_unscored: int,
    interval: Interval | None,
    scale: tuple[float, float] = SHARE_SCALE,
) -> Score:
    known = value if math.isfinite(value) else None
    return round_score(build_score(known, n, n_unscored, interval, scale=scale))
