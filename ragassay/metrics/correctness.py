"""Measure how well a score separates right from wrong sentences (BioACE, section 4.1.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Separation:
    """Separation of a sentence's own passages from those of another question by a score.

    Attributes:
        positive: Mean score of sentences with passages that support them.
        negative: Mean score of the same sentences with passages of another question.
        accuracy: Share of sentences whose positive score is above their negative one.
        auc: Area under the ROC curve of positive against negative scores.
        n_questions: The number of questions averaged over.
    """

    positive: float
    negative: float
    accuracy: float
    auc: float
    n_questions: int


def separation(
    scores: Mapping[str, Sequence[tuple[float, float]]],
) -> Separation | None:
    """Compare positive with sampled negative scores: the semantic route (BioACE, algorithm 1).

    Args:
        scores: For each question, the positive and the negative score of each answer sentence; each
            is the best over the passages of a document.

    Returns:
        Means over questions, each counted once; None without a question that has a sentence.

    Example:
        >>> found = separation({"q1": [(0.9, 0.2), (0.4, 0.5)]})
        >>> found.accuracy, found.auc
        (0.5, 0.75)
    """
    from sklearn.metrics import roc_auc_score

    rows: list[tuple[float, float, float, float]] = []
    for pairs in scores.values():
        if not pairs:
            continue
        positive, negative = ([pair[side] for pair in pairs] for side in (0, 1))
        n = len(pairs)
        auc = roc_auc_score([1] * n + [0] * n, [*positive, *negative])
        n_above = sum(1 for above, below in pairs if above > below)
        rows.append((sum(positive) / n, sum(negative) / n, n_above / n, float(auc)))
    if not rows:
        return None
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return Separation(*means, n_questions=len(rows))
