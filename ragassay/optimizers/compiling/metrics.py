"""How a reply is marked, with a remark in words, and what the marks of many come to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.metrics.nuggets import align_counted, f1_score, first_of_each
from ragassay.metrics.resampling import Statistic, bootstrap_interval
from ragassay.optimizers.compiling.items import CompileItem
from ragassay.prompts.compiled import Comparison
from ragassay.prompts.proposals import load_proposals
from ragassay.records import Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIFFERENCE_SCALE = (-1.0, 1.0)


@dataclass(frozen=True)
class Mark:
    """What one reply is worth.

    Attributes:
        value: In [0, 1].
        said: The reply's label, or its rating.
        feedback: What was expected, what came, and why it matters.
    """

    value: float
    said: str | float
    feedback: str


@dataclass(frozen=True)
class Outcome:
    """What became of an item; without a mark it is unscored, for the reason given."""

    item: CompileItem
    mark: Mark | None
    reason: str = ""


def mark_label(right: str, found: str) -> Mark:
    """One for the right label, else nothing."""
    words = load_proposals().feedback
    if found == right:
        return Mark(1.0, found, words.right.replace("{expected}", right))
    why = load_proposals().labels.get(right, "")
    return Mark(0.0, found, _filled(words.wrong, found=found, expected=right, why=why).strip())


def mark_rating(item: CompileItem, score: float, bounds: tuple[int, int]) -> Mark:
    """How close a rating comes to the desired one: 1 - |score - desired| / range.

    A damaged answer has a desired rating at most: a lower one is as good.

    Args:
        item: Its `right` is the desired rating.
        score: The expectation over the ratings, or the written rating.
        bounds: The scale's lowest and highest rating.

    Example:
        >>> item = CompileItem("a", "q", (), right=4.0)
        >>> mark_rating(item, 3.0, (1, 5)).value
        0.75
    """
    words, desired = load_proposals().feedback, float(item.right)  # type: ignore[arg-type]
    excess = score - desired
    distance = max(0.0, excess) if item.whole else abs(excess)
    expected = f"{desired:g}"
    if item.whole:
        expected = words.at_most.replace("{rating}", expected)
    value = max(0.0, 1 - distance / (bounds[1] - bounds[0]))
    if distance < 0.5:
        return Mark(value, score, words.right.replace("{expected}", expected))
    why = words.damaged if item.whole else words.distance.replace("{distance}", f"{distance:.1f}")
    return Mark(
        value, score, _filled(words.wrong, found=f"{score:.1f}", expected=expected, why=why)
    )


def mark_nuggets(
    right: Sequence[str], found: Sequence[str], similarity: NDArray[np.floating], threshold: float
) -> Mark:
    """F1 of nuggets, paired one to one.

    Args:
        right: Reference nuggets of the sentence, one at least.
        found: The agent's, one at least.
        similarity: shape (n_right, n_found), cosines.
        threshold: Least cosine of nuggets that state the same.
    """
    counts = (similarity >= threshold) & first_of_each(found)
    pairs = align_counted(similarity, counts)
    value = f1_score(len(pairs) / len(found), len(pairs) / len(right)) or 0.0
    words = load_proposals().feedback
    missed = [text for n, text in enumerate(right) if all(pair.gold != n for pair in pairs)]
    spare = [text for n, text in enumerate(found) if all(pair.nugget != n for pair in pairs)]
    remarks = [words.right.replace("{expected}", " | ".join(right))] if value == 1 else []
    remarks += [words.missed.replace("{facts}", " | ".join(missed))] if missed else []
    remarks += [words.spare.replace("{facts}", " | ".join(spare))] if spare else []
    return Mark(value, value, " ".join(remarks))


def mark_hits(right: Sequence[str], found: Sequence[str]) -> Mark:
    """Recall: the share of the right articles among those that a query brings up.

    Args:
        right: Ids, one at least.
        found: Ids of the hits.
    """
    n = len(set(right) & set(found))
    value = n / len(set(right))
    words = load_proposals().feedback.articles
    return Mark(value, value, _filled(words, n_found=str(n), n_gold=str(len(set(right)))))


def mark_unusable(problem: str) -> Mark:
    """Nothing, inside an optimizer, for a reply that could not be had or used."""
    return Mark(0.0, "", load_proposals().feedback.unusable.replace("{problem}", problem[:200]))


def _filled(words: str, **values: str) -> str:
    for name, value in values.items():
        words = words.replace(f"{{{name}}}", value)
    return words


@dataclass(frozen=True)
class Figure:
    """A figure of many outcomes.

    Attributes:
        name: e.g. "macro-F1".
        rows: From outcomes to what they add, shape (n, ...): sums of it decide the figure.
        value: From sums, shape (..., *row), to the figure, shape (...); nan where undefined.
    """

    name: str
    rows: Callable[[Sequence[Outcome]], NDArray[np.float64]]
    value: Callable[[NDArray[np.float64]], NDArray[np.float64]]


def mean_figure(name: str) -> Figure:
    """The mean of the marks."""
    return Figure(name, _mark_rows, _ratio)


def macro_f1_figure(labels: Sequence[str]) -> Figure:
    """The mean of the labels' F1, over those that are right or said anywhere."""

    def rows(outcomes: Sequence[Outcome]) -> NDArray[np.float64]:
        import numpy as np

        tables = np.zeros((len(outcomes), len(labels), len(labels)))
        for table, outcome in zip(tables, outcomes, strict=True):
            assert outcome.mark is not None
            table[labels.index(str(outcome.item.right)), labels.index(str(outcome.mark.said))] = 1
        return tables

    return Figure("macro-F1", rows, _macro_f1)


def detection_figure(outcomes: Sequence[Outcome]) -> Figure:
    """Share of pairs in which the damaged answer is rated below the whole one; a tie is none.

    Args:
        outcomes: In which the whole answers' ratings are looked up, for these outcomes alone.
    """
    whole = {o.item.key: o.mark for o in outcomes if o.mark is not None and not o.item.whole}

    def rows(chosen: Sequence[Outcome]) -> NDArray[np.float64]:
        import numpy as np

        found: list[tuple[float, float]] = []
        for outcome in chosen:
            other = whole.get(outcome.item.whole)
            if outcome.mark is None or other is None:
                found.append((0.0, 0.0))
            else:
                found.append((float(float(outcome.mark.said) < float(other.said)), 1.0))
        return np.array(found).reshape(-1, 2)

    return Figure("paired detection", rows, _ratio)


def _mark_rows(outcomes: Sequence[Outcome]) -> NDArray[np.float64]:
    import numpy as np

    return np.array([(o.mark.value if o.mark else 0.0, 1.0) for o in outcomes]).reshape(-1, 2)


def _ratio(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        return sums[..., 0] / sums[..., 1]


def _macro_f1(tables: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    marginals = tables.sum(axis=-1) + tables.sum(axis=-2)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.diagonal(tables, axis1=-2, axis2=-1) * 2 / marginals
        return np.where(marginals > 0, each, 0).sum(axis=-1) / (marginals > 0).sum(axis=-1)


def compare(
    before: Sequence[Outcome],
    after: Sequence[Outcome],
    figure_of: Callable[[Sequence[Outcome]], Figure],
) -> Comparison:
    """A figure before and after, and its gain over what both scored, groups drawn together.

    Args:
        before: Of the shipped prompt.
        after: Of the compiled one, for the same items in the same order.
        figure_of: The figure of some outcomes.
    """
    both = [n for n, (b, a) in enumerate(zip(before, after, strict=True)) if b.mark and a.mark]
    first, second = [before[n] for n in both], [after[n] for n in both]
    return Comparison(
        metric=figure_of(before).name,
        before=_score(before, figure_of),
        after=_score(after, figure_of),
        gain=_gain(first, second, figure_of, len(before) - len(both)),
    )


def _score(outcomes: Sequence[Outcome], figure_of: Callable[[Sequence[Outcome]], Figure]) -> Score:
    scored = [outcome for outcome in outcomes if outcome.mark is not None]
    n_unscored = len(outcomes) - len(scored)
    if not scored:
        return Score(value=None, n=0, n_unscored=n_unscored)
    figure = figure_of(scored)
    sums = _sums(figure, scored)
    interval = bootstrap_interval(_statistic(figure, sums), len(sums))
    return _made(figure.value(sums.sum(axis=0)), len(scored), n_unscored, interval)


def _gain(
    before: Sequence[Outcome],
    after: Sequence[Outcome],
    figure_of: Callable[[Sequence[Outcome]], Figure],
    n_unscored: int,
) -> Score:
    if not before:
        return Score(value=None, n=0, n_unscored=n_unscored, scale=DIFFERENCE_SCALE)
    old, new = figure_of(before), figure_of(after)
    sums, more = _sums(old, before), _sums(new, after)
    first, second = _statistic(old, sums), _statistic(new, more)
    interval = bootstrap_interval(lambda counts: second(counts) - first(counts), len(sums))
    value = new.value(more.sum(axis=0)) - old.value(sums.sum(axis=0))
    found = _made(value, len(before), n_unscored, interval)
    return found.model_copy(update={"scale": DIFFERENCE_SCALE})


def _sums(figure: Figure, outcomes: Sequence[Outcome]) -> NDArray[np.float64]:
    from ragassay.metrics.resampling import sums_by_cluster

    return sums_by_cluster(figure.rows(outcomes), [o.item.group for o in outcomes])


def _statistic(figure: Figure, sums: NDArray[np.float64]) -> Statistic:
    import numpy as np

    return lambda counts: figure.value(np.tensordot(counts, sums, axes=1))


def _made(
    value: NDArray[np.float64], n: int, n_unscored: int, interval: tuple[float, float] | None
) -> Score:
    low, high = interval or (None, None)
    plain = float(value)
    return Score(
        value=round(plain, 4) if math.isfinite(plain) else None,
        n=n,
        n_unscored=n_unscored,
        low=None if low is None else round(low, 4),
        high=None if high is None else round(high, 4),
    )
