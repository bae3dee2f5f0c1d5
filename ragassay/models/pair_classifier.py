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
from ragassay.models.adapters import CORRECTNESS
from ragassay.models.entailment import Pair, doubt_about
from ragassay.records import Bound, Failure, Frozen
from ragassay.small_files import read_small

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

Family = Literal["svm", "logistic"]

CLASSIFIER = "classifier.json"
"""Its file name in a folder of `ragassay finetune correctness`."""


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
        bounds: Confidences from which its labels, "correct" and "incorrect", count; without
            any, all do.
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
    bounds: tuple[Bound, ...] = ()


class PairClassifier:
    """Scores the probability that a passage supports a sentence.

    Args:
        weights: From `ragassay finetune correctness`.
        name: Its name in settings and reports; by default what it is.
    """

    threshold = 0.5

    def __init__(self, weights: PairWeights, name: str = "") -> None:
        self.weights, self.bounds = weights, weights.bounds
        self.name = name or f"{weights.family} on {weights.n_pairs} pairs"
        self.digest = hashlib.sha256(weights.model_dump_json().encode()).hexdigest()

    @classmethod
    def read(cls, path: Path, name: str = "") -> PairClassifier:
        """Read a fitted classifier's file.

        Args:
            path: A file.
            name: Its name in reports; by default what it is.

        Raises:
            SettingsError: There is none, or it is not a classifier.
        """
        try:
            return cls(PairWeights.model_validate_json(read_small(path)), name)
        except (OSError, ValueError, ValidationError) as error:
            raise SettingsError(
                f"{path} is not a classifier of correctness: make one with `ragassay "
                "finetune correctness`"
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

    def doubt(self, pairs: Sequence[Pair]) -> Failure | None:
        """Return the first passage's doubt, unless another surely supports the sentence."""
        return doubt_about(self.bounds, CORRECTNESS, [(p, 1 - p) for p in self.scores(pairs)])


def new_vectorizer(least: int = 3) -> TfidfVectorizer:
    """Return a vectorizer of words and word pairs, in sublinear TF-IDF.

    Args:
        least: Texts that a word must be in.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(
        sublinear_tf=True,
        min_df=least,
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
