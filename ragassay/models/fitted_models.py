"""Models that a user fitted: a verifier's thresholds, a pair classifier, a nugget matcher."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field, ValidationError

from ragassay.errors import SettingsError, first_problem
from ragassay.files import read_small
from ragassay.metrics.papers.verifier_scores import Thresholds, decided_shares
from ragassay.models.adapters import CORRECTNESS
from ragassay.models.entailment import (
    EntailmentModel,
    Pair,
    doubt_about,
    labels_known,
    reads_whole,
    unsupported_spans,
)
from ragassay.records import Bound, Failure, NuggetMatcher, Score, UnsupportedSpan
from ragassay.records.base import Frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer


N_DIGITS = 12
"""Hexadecimal digits by which a fitted file knows a text again."""


class FittedThresholds(Frozen):
    """The result of `ragassay verifiers fit`.

    Attributes:
        digest: SHA-256 of its weights where known; else empty.
        thresholds: Of its shares; see `decided_shares`.
        objective: What is as large as it can be on the claims that were learnt from.
        learnt: Its value there, fitted.
        before: Its value on the claims held out, unfitted.
        after: Its value on the claims held out, fitted.
        texts: Marks of the claims and documents that were learnt from; see `mark_of`.
    """

    version: Literal[1] = 1
    verifier: str
    digest: str = ""
    n_labels: Literal[2, 3]
    thresholds: Thresholds
    objective: Literal["f1", "macro_f1"]
    learnt: Score
    before: Score
    after: Score
    data: tuple[str, ...] = ()
    texts: tuple[str, ...] = Field(default=(), repr=False)
    seed: int = 0

    @classmethod
    def read(cls, path: Path) -> FittedThresholds:
        """Read a file.

        Raises:
            SettingsError: There is none, or it is another file.
        """
        try:
            return cls.model_validate_json(read_small(path))
        except (OSError, ValueError, ValidationError) as error:
            raise SettingsError(
                f"{path} has no fitted thresholds: write it by `ragassay verifiers fit`"
            ) from error


def mark_of(text: str) -> str:
    """Return the start of the SHA-256 of a text, white space apart."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:N_DIGITS]


class FittedVerifier:
    """A verifier whose labels are decided by fitted thresholds.

    Bounds of the verifier do not hold for it: they were found for its own probabilities.

    Raises:
        SettingsError: The verifier has other weights than the one they were fitted to.
    """

    bounds = ()

    def __init__(self, fitted: FittedThresholds, model: EntailmentModel) -> None:
        if fitted.digest and model.digest and fitted.digest != model.digest:
            raise SettingsError(
                f"the thresholds of {fitted.verifier} were fitted to other weights: fit them again"
            )
        self.name = f"{model.name}, thresholds fitted"
        self.digest = hashlib.sha256(
            f"{model.digest} {fitted.thresholds.model_dump_json()}".encode()
        ).hexdigest()
        self.n_labels, self.reads_whole = (
            min(fitted.n_labels, labels_known(model)),
            reads_whole(model),
        )
        self.fitted, self._model = fitted, model

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return a share for each label; the thresholds' label has the largest share."""
        return decided_shares(self._model.probabilities(pairs), self.fitted.thresholds)

    def spans(self, claim: str, passage: str) -> tuple[UnsupportedSpan, ...]:
        """Return the claim's unsupported parts, where the verifier marks tokens."""
        return unsupported_spans(self._model, (claim, passage))


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
        slope: Slope of the logistic curve that turns a decision value into a probability (Platt).
        offset: Offset of the same curve.
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
    """Scores the probability that a passage supports a sentence."""

    threshold = 0.5

    def __init__(self, weights: PairWeights, name: str = "") -> None:
        self.weights, self.bounds = weights, weights.bounds
        self.name = name or f"{weights.family} on {weights.n_pairs} pairs"
        self.digest = hashlib.sha256(weights.model_dump_json().encode()).hexdigest()

    @classmethod
    def read(cls, path: Path, name: str = "") -> PairClassifier:
        """Read a fitted classifier's file.

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


def opened_matcher(path: str, embedder: str) -> NuggetMatcher | None:
    """Return a matcher written by `ragassay nuggets fit`; None without a path.

    Raises:
        SettingsError: The file is missing, is not a matcher, or was fitted with another embedding
            model.
    """
    if not path:
        return None
    try:
        matcher = NuggetMatcher.model_validate_json(read_small(Path(path)))
    except OSError as error:
        raise SettingsError(f"nugget_matcher: {path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        where, problem = first_problem(error)
        raise SettingsError(
            f"nugget_matcher: {path} is not a matcher of `ragassay nuggets fit`: "
            f"{where or 'the file'}: {problem}"
        ) from error
    if matcher.embedder != embedder:
        raise SettingsError(
            f"nugget_matcher: {path} was fitted to similarities of {matcher.embedder}, and the "
            f"embedder is {embedder}: fit again, or set embedder"
        )
    return matcher
