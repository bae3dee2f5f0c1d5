"""Measure how well a score tells accurate from inaccurate answers: area under the ROC curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.errors import InputError
from ragassay.metrics.intervals import mean_interval
from ragassay.metrics.resampling import bootstrap_interval
from ragassay.metrics.scoring import build_score
from ragassay.records import Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Discrimination:
    """Chance that a good answer scores above a bad one; one half is a coin.

    Attributes:
        auroc: Over all pairs of a good and a bad answer; `n` counts answers.
        paired_auroc: Over pairs that answer the same question, the mean over questions, so that
            hard and easy questions do not show; `n` counts questions with both kinds.
    """

    auroc: Score
    paired_auroc: Score


def discrimination(
    values: Sequence[float | None],
    is_good: Sequence[bool],
    questions: Sequence[str] | None = None,
    *,
    lower_is_better: bool = False,
) -> Discrimination:
    """Return the area under the ROC curve of a score (scikit-learn), also paired by question.

    Args:
        values: shape (n,), the score of each answer; None is unscored: left out and counted.
        is_good: shape (n,), people's label of each answer.
        questions: shape (n,); intervals resample questions.
        lower_is_better: Whether a good answer should have the lower score.

    Returns:
        In [0, 1]; the plain area is None where all answers are good or all are bad, the paired
        one where no question has both.

    Raises:
        InputError: The lengths differ.
    """
    import numpy as np

    names = list(questions) if questions is not None else [str(i) for i in range(len(is_good))]
    if not len(values) == len(is_good) == len(names):
        raise InputError(f"{len(values)} scores for {len(is_good)} answers")
    sign = -1.0 if lower_is_better else 1.0
    kept = [
        (sign * v, g, q) for v, g, q in zip(values, is_good, names, strict=True) if v is not None
    ]
    scores = np.array([v for v, *_ in kept])
    good = np.array([g for _, g, _ in kept], dtype=bool)
    found, places = np.unique(np.array([q for *_, q in kept], dtype=object), return_inverse=True)
    wins = _wins(scores, good, places.reshape(-1), len(found))
    n_unscored = len(is_good) - len(kept)
    return Discrimination(
        _auroc(scores, good, places.reshape(-1), wins, n_unscored),
        _paired(good, places.reshape(-1), wins, found, n_unscored),
    )


def _wins(
    scores: NDArray[np.float64], good: NDArray[np.bool_], places: NDArray[np.intp], n: int
) -> NDArray[np.float64]:
    """Count pairs that a good answer wins, ties as half; shape (n_questions, n_questions)."""
    import numpy as np

    above = scores[good][:, None] - scores[~good]
    won = np.where(above == 0, 0.5, (above > 0).astype(float))
    wins = np.zeros((n, n))
    np.add.at(wins, (places[good][:, None], places[~good][None, :]), won)
    return wins


def _auroc(
    scores: NDArray[np.float64],
    good: NDArray[np.bool_],
    places: NDArray[np.intp],
    wins: NDArray[np.float64],
    n_unscored: int,
) -> Score:
    import numpy as np
    from sklearn.metrics import roc_auc_score

    if good.all() or not good.any():
        return Score(value=None, n=len(good), n_unscored=n_unscored)
    n_good, n_bad = (np.bincount(places[kind], minlength=len(wins)) for kind in (good, ~good))

    def of_draws(counts: NDArray[np.int64]) -> NDArray[np.float64]:
        won = ((counts @ wins) * counts).sum(axis=1)
        return won / ((counts @ n_good) * (counts @ n_bad))

    value = float(roc_auc_score(good, scores))
    return build_score(value, len(good), n_unscored, bootstrap_interval(of_draws, len(wins)))


def _paired(
    good: NDArray[np.bool_],
    places: NDArray[np.intp],
    wins: NDArray[np.float64],
    names: NDArray[np.object_],
    n_unscored: int,
) -> Score:
    import numpy as np

    n_good, n_bad = (np.bincount(places[kind], minlength=len(wins)) for kind in (good, ~good))
    both = np.flatnonzero(n_good * n_bad)
    areas = [float(wins[i, i] / (n_good[i] * n_bad[i])) for i in both]
    interval = mean_interval(areas, [names[i] for i in both])
    value = sum(areas) / len(areas) if areas else None
    return build_score(value, len(areas), n_unscored, interval)
