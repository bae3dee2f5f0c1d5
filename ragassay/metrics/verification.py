"""Measure verifiers against people's labels of claims (BioACE, tables 4, 5, 8, 10 and 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ragassay.errors import InputError
from ragassay.metrics.discrimination import discrimination
from ragassay.metrics.resampling import bootstrap_interval, sums_by_cluster
from ragassay.metrics.scoring import build_score
from ragassay.records import Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Average = Literal["binary", "macro", "weighted"]
FIGURES = ("precision", "recall", "f1")


@dataclass(frozen=True)
class Averaged:
    """Precision, recall and F1 of labels, averaged in one way.

    Attributes:
        average: "binary" is of the first label alone; "macro" counts each label that
            either used once, "weighted" by how often people gave it.
        precision: Share of right ones among those called so; 0 for a label never called.
        recall: Share of those called so among the right ones.
        f1: The average of the labels' F1. BioACE's tables of three labels give the harmonic mean
            of the two columns before it, which is `f1_of_means`.
        f1_of_means: Harmonic mean of `precision` and `recall`; the same as `f1` of one label.
    """

    average: Average
    precision: Score
    recall: Score
    f1: Score
    f1_of_means: Score


@dataclass(frozen=True)
class Verification:
    """A verifier against people, on claims of two or three labels.

    Attributes:
        accuracy: Share of claims on which they agree.
        averages: With two labels binary, macro and weighted; with three macro and weighted.
        auc: Area under the ROC curve of the share of the first label against people's, as in table
            3; None where the verifier gave no shares.
    """

    accuracy: Score
    averages: tuple[Averaged, ...]
    auc: Score | None


def verification(
    truth: Sequence[str],
    predicted: Sequence[str | None],
    labels: Sequence[str],
    questions: Sequence[str],
    shares: Sequence[float | None] | None = None,
) -> Verification:
    """Compare a verifier's labels with people's. scikit-learn computes the values.

    Args:
        truth: shape (n,), people's labels.
        predicted: shape (n,), the verifier's; None is unscored: left out and counted.
        labels: All labels, two or three; the first is that of a supported claim.
        questions: shape (n,), the question or group of each claim; intervals resample them.
        shares: shape (n,), the verifier's share of the first label, for the area.

    Raises:
        InputError: The lengths differ, or a label is not among `labels`.
    """
    import numpy as np

    if not len(truth) == len(predicted) == len(questions):
        raise InputError(f"{len(truth)} labels of people for {len(predicted)} of the verifier")
    unknown = sorted({x for x in (*truth, *predicted) if x is not None} - set(labels))
    if unknown:
        raise InputError(f"{unknown[0]!r} is not one of the labels {', '.join(labels)}")
    # As in scikit-learn, a label that neither used is not averaged over.
    used = [x for i, x in enumerate(labels) if not i or x in truth or x in predicted]
    place = {label: i for i, label in enumerate(used)}
    rows = [
        (place[t], place[p], q)
        for t, p, q in zip(truth, predicted, questions, strict=True)
        if p is not None
    ]
    n_unscored = len(truth) - len(rows)
    counts = np.zeros((len(rows), len(used), len(used)))
    counts[range(len(rows)), [t for t, *_ in rows], [p for _, p, _ in rows]] = 1
    tables = sums_by_cluster(counts, [q for *_, q in rows])
    averages: tuple[Average, ...] = ("macro", "weighted")
    if len(labels) == 2:
        averages = ("binary", *averages)
    area = None
    if shares is not None:
        is_first = [label == labels[0] for label in truth]
        area = discrimination(shares, is_first, questions).auroc
    return Verification(
        _score([r[:2] for r in rows], tables, n_unscored, "accuracy", "macro"),
        tuple(_averaged([r[:2] for r in rows], tables, n_unscored, name) for name in averages),
        area,
    )


def _averaged(
    rows: Sequence[tuple[int, int]], tables: NDArray[np.float64], n_unscored: int, average: Average
) -> Averaged:
    names = (*FIGURES, "f1_of_means")
    found = {name: _score(rows, tables, n_unscored, name, average) for name in names}
    return Averaged(average, **found)


def _score(
    rows: Sequence[tuple[int, int]],
    tables: NDArray[np.float64],
    n_unscored: int,
    name: str,
    average: Average,
) -> Score:
    if not rows:
        return build_score(None, 0, n_unscored)

    def of_draws(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        import numpy as np

        return figures_of_tables(np.tensordot(counts, tables, axes=1), average)[name]

    value = _values(rows, average, tables.shape[1])[name]
    return build_score(value, len(rows), n_unscored, bootstrap_interval(of_draws, len(tables)))


def _values(
    rows: Sequence[tuple[int, int]], average: Average, n_labels: int
) -> Mapping[str, float]:
    """Return the figures by scikit-learn; labels are places, 0 the supported one."""
    from sklearn.metrics import precision_recall_fscore_support

    truth, said = [t for t, _ in rows], [p for _, p in rows]
    is_binary = average == "binary"
    found = precision_recall_fscore_support(
        truth,
        said,
        labels=[0] if is_binary else list(range(n_labels)),
        average="macro" if is_binary else average,
        zero_division=0,  # type: ignore[arg-type]
    )
    precision, recall, f1 = (float(value) for value in found[:3])
    mean = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    hits = sum(t == p for t, p in rows)
    return {
        **dict(zip(FIGURES, (precision, recall, f1), strict=True)),
        "f1_of_means": mean,
        "accuracy": hits / len(rows),
    }


def figures_of_tables(
    tables: NDArray[np.float64], average: Average
) -> Mapping[str, NDArray[np.float64]]:
    """Return precision, recall and F1 of many confusion tables at once, for intervals.

    Args:
        tables: shape (n_draws, n_labels, n_labels), rows people's labels, columns the verifier's.
        average: See `Averaged`.

    Returns:
        By name, each of shape (n_draws,); what divides by zero is 0, as in scikit-learn.
    """
    import numpy as np

    hits = np.diagonal(tables, axis1=1, axis2=2)
    given, said = tables.sum(axis=2), tables.sum(axis=1)

    def ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(below > 0, above / np.where(below > 0, below, 1), 0.0)

    parts = ratio(hits, said), ratio(hits, given), ratio(2 * hits, given + said)
    if average == "binary":
        weights = np.eye(tables.shape[1])[:1]
    elif average == "macro":
        weights = np.full((1, tables.shape[1]), 1 / tables.shape[1])
    else:
        weights = ratio(given, given.sum(axis=1, keepdims=True))
    precision, recall, f1 = ((part * weights).sum(axis=1) for part in parts)
    return {
        **dict(zip(FIGURES, (precision, recall, f1), strict=True)),
        "f1_of_means": ratio(2 * precision * recall, precision + recall),
        "accuracy": ratio(hits.sum(axis=1), given.sum(axis=1)),
    }
