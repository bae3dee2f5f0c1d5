"""Scores of question-answer pairs by a judge: RACAR and intents (Wan et al. 2024, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.metrics.scoring import mean_score
from ragassay.records import MOST_INTENT, RACAR, RACAR_SCALE, IntentSimilarity, RacarRating, Score


def racar_scores(ratings: Sequence[RacarRating], judge: str) -> dict[str, Score]:
    """Return the mean rating of pairs in each dimension, 1 to 3; empty without ratings."""
    low, high = map(float, RACAR_SCALE)
    by_dimension = {name: [r for r in ratings if r.dimension == name] for name in RACAR}
    return {
        f"racar.{name}": told(mean_score([r.score for r in own], (low, high), judge), own)
        for name, own in by_dimension.items()
        if own
    }


def told(mean: Score, ratings: Sequence[RacarRating]) -> Score:
    """Return a mean, without its value where some ratings are undecided.

    What leaves pairs undecided decides some values more readily than others, so that a mean over
    the rest would be no estimate: its bounds stay.
    """
    if not any(one.is_undecided for one in ratings):
        return mean
    none: dict[str, None] = {"value": None, "low": None, "high": None}
    return mean.model_copy(update=none)


def intent_scores(found: Sequence[IntentSimilarity], judge: str) -> dict[str, Score]:
    """Return the mean similarity of questions by intent, 0 to 100; empty without a comparison."""
    if not found:
        return {}
    scale = (0.0, float(MOST_INTENT))
    return {"intent.similarity": mean_score([one.score for one in found], scale, judge)}
