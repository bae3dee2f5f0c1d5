"""Measure how far the questions of a paper ask for the same (SciQAG: Wan et al. 2024, section 5.2).

A similarity is 1 for the same question: a judge's score of intent divided by 100, as in the paper,
or the cosine of two embeddings, which counts shared words and subjects too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragassay.metrics.intervals import mean_interval
from ragassay.metrics.scoring import build_score, rounded
from ragassay.records import Score
from ragassay.records.qa import MOST_INTENT, IntentSimilarity

BIN_EDGES = (0.3, 0.5, 0.7)
BIN_NAMES = ("< 0.3", "0.3\u20130.5", "0.5\u20130.7", "> 0.7")
"""Table 2's bins. It leaves open to which an edge belongs; here 0.3 and 0.5 begin a bin and 0.7
ends one, so that the first and the last bin are as named."""

NEAR_DUPLICATE = 0.95
"""Cosine from which two questions count as one asked twice; ours, not the paper's. Questions on one
subject reach .94 without asking for the same."""

NEAR_DUPLICATE_BY = "all-MiniLM-L6-v2"
"""The model that `NEAR_DUPLICATE` holds for: others put all questions closer, or further apart."""

SAME_INTENT = 90
"""A judge's score of intent, of 100, from which two questions count as one asked twice."""


@dataclass(frozen=True, slots=True)
class SimilarityBin:
    """A row of table 2: `share` is of all scored pairs, in [0, 1]; None without any."""

    name: str
    count: int
    share: float | None


@dataclass(frozen=True, slots=True)
class QuestionDiversity:
    """Similarities of questions: their mean, lower is more diverse, and their bins."""

    similarity: Score
    bins: tuple[SimilarityBin, ...]


def question_diversity(
    similarities: Sequence[float | None],
    papers: Sequence[str] | None = None,
    scale: tuple[float, float] = (0.0, 1.0),
    judge: str = "",
) -> QuestionDiversity:
    """Return the distribution of similarities of pairs of questions, in the bins of table 2.

    Args:
        similarities: shape (n_question_pairs,); an unscored pair is None and is left out.
        papers: shape (n_question_pairs,): the paper of each, whose questions are resampled
            together for the interval; None where each pair stands for itself.
        scale: Least and greatest similarity: (-1, 1) for cosines.
        judge: What gave the similarities.

    Returns:
        A mean without value, and empty bins, where nothing is scored.
    """
    known = [i for i, value in enumerate(similarities) if value is not None]
    values = [value for value in similarities if value is not None]
    interval = mean_interval(values, [papers[i] for i in known] if papers is not None else None)
    total, n, n_missing = math.fsum(values), len(values), len(similarities) - len(values)
    # Lower is better: the worst case is that every unscored pair is the same question twice.
    ends = tuple((total + n_missing * end) / (n + n_missing) for end in scale[::-1] if similarities)
    score = build_score(
        total / n if n else None,
        n,
        n_missing,
        interval,
        (ends[0], ends[1]) if ends else (None, None),
        scale,
        judge,
    )
    return QuestionDiversity(rounded(score), _bins(values))


def bin_of(similarity: float) -> int:
    """Return the number (from 0) of the bin of table 2 that a similarity falls into."""
    low, middle, high = BIN_EDGES
    return int(similarity >= low) + int(similarity >= middle) + int(similarity > high)


def _bins(values: Sequence[float]) -> tuple[SimilarityBin, ...]:
    counts = [0] * len(BIN_NAMES)
    for value in values:
        counts[bin_of(value)] += 1
    n = len(values)
    return tuple(
        SimilarityBin(name, count, count / n if n else None)
        for name, count in zip(BIN_NAMES, counts, strict=True)
    )


def pair_similarities(matrix: Sequence[Sequence[float]]) -> list[float]:
    """Return the similarity of each pair of questions once: what is above the diagonal, by rows.

    Args:
        matrix: shape (n_questions, n_questions), symmetric.
    """
    return [value for i, row in enumerate(matrix) for value in row[i + 1 :]]


def intent_similarities(intents: Sequence[IntentSimilarity]) -> list[float | None]:
    """Return a judge's scores of intent as similarities in [0, 1]; None where unscored."""
    return [None if one.score is None else one.score / MOST_INTENT for one in intents]


def near_duplicates(
    matrix: Sequence[Sequence[float]], least: float = NEAR_DUPLICATE
) -> list[tuple[int, int, float]]:
    """Return pairs of questions that are as good as one, the most alike first.

    Args:
        matrix: shape (n_questions, n_questions), symmetric.
        least: The least similarity of such a pair; the default is that of `NEAR_DUPLICATE_BY`.

    Returns:
        The numbers (from 0) of the two questions, and their similarity.
    """
    found = [
        (i, j, row[j])
        for i, row in enumerate(matrix)
        for j in range(i + 1, len(row))
        if row[j] >= least
    ]
    return sorted(found, key=lambda pair: (-pair[2], pair[:2]))
