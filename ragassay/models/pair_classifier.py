"""Linear classifiers over the words of a pair: the classical baselines of correctness.

Their files are JSON: the words with their weights, never a pickle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from ragassay.errors import SettingsError
from ragassay.models.entailment import Pair
from ragassay.records import Frozen
from ragassay.small_files import read_small

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

Family = Literal["svm", "logistic"]


class PairWeights(Frozen):
    """A fitted classifier.

    Attributes:
        family: Support vector machine or logistic regression.
        words: The vocabulary, sorted.
        idf: Inverse document frequency of each word.
        shared: Weight of each word where both texts have it.
        missing: Weight of each word where only the sentence has it.
        cosine: Weight of the TF-IDF cosine of the two.
        intercept: The intercept.
        slope: Slope of the logistic curve that turns a decision value into a probability (Platt).
        offset: Offset of the same curve.
        n_pairs: The number of pairs it was fitted to.
        data_sha256: Hash of these pairs.
    """

    family: Family
    words: tuple[str, ...]
    idf: tuple[float, ...]
    shared: tuple[float, ...]
    missing: tuple[float, ...]
    cosine: float
    intercept: float
    slope: float
    offset: float
    n_pairs: int
    data_sha256: str


class PairClassifier:
    """Scores the probability that a passage supports a sentence.

    Args:
        weights: From `python -m training.correctness`.
    """

    threshold, bounds = 0.5, ()

    def __init__(self, weights: PairWeights) -> None:
        self.weights = weights
        self.name = f"{weights.family} on {weights.n_pairs} pairs"
        self.digest = hashlib.sha256(weights.model_dump_json().encode()).hexdigest()

    @classmethod
    def read(cls, path: Path) -> PairClassifier:
        """Read a fitted classifier's file.

        Raises:
            SettingsError: There is none, or it is not a classifier.
        """
        try:
            return cls(PairWeights.model_validate_json(read_small(path)))
        except (OSError, ValueError, ValidationError) as error:
            raise SettingsError(
                f"{path} is not a classifier of correctness: make one in a checkout with "
                "`python -m training.correctness`"
            ) from error

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return probabilities, shape (n_pairs,)."""
        import numpy as np
        from scipy.special import expit

        if not pairs:
            return np.zeros(0)
        weights = self.weights
        coefficients = np.array([*weights.shared, *weights.missing, weights.cosine])
        decisions = pair_features(fitted_vectorizer(weights), pairs) @ coefficients
        return expit(weights.slope * (decisions + weights.intercept) + weights.offset)

    def doubt(self, pairs: Sequence[Pair]) -> None:
        """Return None: no bound is known."""


def new_vectorizer() -> TfidfVectorizer:
    """Return a vectorizer of words and word pairs, in sublinear TF-IDF."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(
        sublinear_tf=True,
        min_df=3,
        ngram_range=(1, 2),
        max_features=20_000,
        strip_accents="unicode",
    )


def fitted_vectorizer(weights: PairWeights) -> TfidfVectorizer:
    """Return the vectorizer of a fitted classifier."""
    import numpy as np

    vectorizer = new_vectorizer()
    vectorizer.vocabulary_ = {word: column for column, word in enumerate(weights.words)}
    vectorizer.idf_ = np.array(weights.idf)
    return vectorizer


def pair_features(vectorizer: TfidfVectorizer, pairs: Sequence[Pair]) -> csr_matrix:
    """Return a pair's features, shape (n_pairs, 2 * n_words + 1).

    For each word the product of its weights in both texts, then its weight in the sentence where
    the passage lacks it; last the cosine of the two.
    """
    from scipy.sparse import csr_matrix, hstack

    claims = csr_matrix(vectorizer.transform([claim for claim, _ in pairs]))
    passages = csr_matrix(vectorizer.transform([passage for _, passage in pairs]))
    shared = claims.multiply(passages).tocsr()
    missing = claims - claims.multiply(passages != 0).tocsr()
    return csr_matrix(hstack([shared, missing, csr_matrix(shared.sum(axis=1))]))
