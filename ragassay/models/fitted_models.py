"""Models fitted by users: verifier thresholds, pair classifiers and nugget matchers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field, ValidationError

from ragassay.errors import SettingsError, find_first_problem
from ragassay.files import read_small
from ragassay.metrics.papers.verifier_scores import Thresholds, reweight_shares
from ragassay.models.adapters import CORRECTNESS
from ragassay.models.entailment import (
    EntailmentModel,
    Pair,
    can_read_documents,
    explain_doubt,
    find_unsupported_spans,
    get_label_count,
)
from ragassay.records import Bound, Failure, NuggetMatcher, Score, UnsupportedSpan
from ragassay.records.base import Frozen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer


N_DIGITS = 12
"""Number of hexadecimal digits of the hash prefixes in files with fitted models."""


class FittedThresholds(Frozen):
    """Verifier thresholds written by `ragassay verifiers fit`.

    Attributes:
        digest: SHA-256 of the verifier's weights, or "" if unknown.
        thresholds: Thresholds for the label probabilities. See `reweight_shares`.
        objective: Metric maximized on the training claims.
        learnt: Value of the metric on the training claims, with the thresholds.
        before: Value of the metric on the held-out claims, without the thresholds.
        after: Value of the metric on the held-out claims, with the thresholds.
        texts: Hash prefixes of the training claims and documents. See `hash_text`.
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
        """Read fitted thresholds. Raises `SettingsError` if the file is missing or invalid."""
        try:
            return cls.model_validate_json(read_small(path))
        except (OSError, ValueError, ValidationError) as error:
            raise SettingsError(
                f"{path} contains no fitted thresholds; create the file with `ragassay verifiers "
                "fit`"
            ) from error


def hash_text(text: str) -> str:
    """Return the start of the SHA-256 of a text, with whitespace normalized."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:N_DIGITS]


class FittedVerifier:
    """Verifier that selects labels with fitted thresholds.

    Bounds are not applied, because the verifier's bounds were fitted to its original probabilities.

    Raises:
        SettingsError: The thresholds were fitted to other weights.
    """

    bounds = ()

    def __init__(self, fitted: FittedThresholds, model: EntailmentModel) -> None:
        if fitted.digest and model.digest and fitted.digest != model.digest:
            raise SettingsError(
                f"the thresholds of {fitted.verifier} were fitted to other weights; fit them again"
            )
        self.name = f"{model.name}, thresholds fitted"
        self.digest = hashlib.sha256(
            f"{model.digest} {fitted.thresholds.model_dump_json()}".encode()
        ).hexdigest()
        self.n_labels = min(fitted.n_labels, get_label_count(model))
        self.reads_whole = can_read_documents(model)
        self.fitted, self._model = fitted, model

    def predict_probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return label probabilities that are highest for the label selected by the thresholds."""
        return reweight_shares(self._model.predict_probabilities(pairs), self.fitted.thresholds)

    def find_spans(self, claim: str, passage: str) -> tuple[UnsupportedSpan, ...]:
        """Return the unsupported parts of a claim, if the verifier labels tokens."""
        return find_unsupported_spans(self._model, (claim, passage))


Family = Literal["svm", "logistic"]

CLASSIFIER = "classifier.json"
"""Name of the classifier file written by `ragassay finetune correctness`."""


class PairWeights(Frozen):
    """Parameters of a fitted pair classifier.

    Attributes:
        family: Support vector machine or logistic regression.
        words: Sorted vocabulary.
        idf: Inverse document frequency of each word.
        shared: Weight of each word that occurs in both texts.
        missing: Weight of each word that occurs only in the sentence.
        cosine: Weight of the TF-IDF cosine similarity.
        slope: Slope of the Platt scaling from decision values to probabilities.
        offset: Offset of the Platt scaling.
        bounds: Minimum probability of "correct" and "incorrect" to count as a verdict. Without
            bounds, all labels count.
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
    """Classifier that predicts whether a passage supports a sentence."""

    threshold = 0.5

    def __init__(self, weights: PairWeights, name: str = "") -> None:
        self.weights, self.bounds = weights, weights.bounds
        self.name = name or f"{weights.family} on {weights.n_pairs} pairs"
        self.digest = hashlib.sha256(weights.model_dump_json().encode()).hexdigest()

    @classmethod
    def read(cls, path: Path, name: str = "") -> PairClassifier:
        """Read a fitted classifier. Raises `SettingsError` if the file is missing or invalid."""
        try:
            return cls(PairWeights.model_validate_json(read_small(path)), name)
        except (OSError, ValueError, ValidationError) as error:
            raise SettingsError(
                f"{path} is not a correctness classifier; create one with `ragassay "
                "finetune correctness`"
            ) from error

    def score_pairs(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return the probabilities of support, shape (n_pairs,)."""
        import numpy as np
        from scipy.special import expit

        if not pairs:
            return np.zeros(0)
        weights = self.weights
        coefficients = np.array([*weights.shared, *weights.missing, weights.cosine])
        decisions = compute_pair_features(restore_vectorizer(weights), pairs) @ coefficients
        return expit(weights.slope * (decisions + weights.intercept) + weights.offset)

    def find_doubt(self, pairs: Sequence[Pair]) -> Failure | None:
        """Return why a sentence is undecided, or None if a passage clearly supports it."""
        return explain_doubt(
            self.bounds, CORRECTNESS, [(p, 1 - p) for p in self.score_pairs(pairs)]
        )


def create_vectorizer(least: int = 3) -> TfidfVectorizer:
    """Return a sublinear TF-IDF vectorizer of the words and word pairs in `least` or more texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(
        sublinear_tf=True,
        min_df=least,
        ngram_range=(1, 2),
        max_features=20_000,
        strip_accents="unicode",
    )


def restore_vectorizer(weights: PairWeights) -> TfidfVectorizer:
    """Return the vectorizer of a fitted classifier."""
    import numpy as np

    vectorizer = create_vectorizer()
    vectorizer.vocabulary_ = {word: column for column, word in enumerate(weights.words)}
    vectorizer.idf_ = np.array(weights.idf)
    return vectorizer


def compute_pair_features(vectorizer: TfidfVectorizer, pairs: Sequence[Pair]) -> csr_matrix:
    """Return pair features, shape (n_pairs, 2 * n_words + 1).

    The first columns contain, for each word, the product of its TF-IDF weights in the two texts.
    The next columns contain, for each word, its weight in the sentence if the passage lacks the
    word. The last column is the cosine similarity.
    """
    from scipy.sparse import csr_matrix, hstack

    claims = csr_matrix(vectorizer.transform([claim for claim, _ in pairs]))
    passages = csr_matrix(vectorizer.transform([passage for _, passage in pairs]))
    shared = claims.multiply(passages).tocsr()
    missing = claims - claims.multiply(passages != 0).tocsr()
    return csr_matrix(hstack([shared, missing, csr_matrix(shared.sum(axis=1))]))


def open_matcher(path: str, embedder: str) -> NuggetMatcher | None:
    """Read a matcher from `ragassay nuggets fit`, if a path is given. May raise `SettingsError`."""
    if not path:
        return None
    try:
        matcher = NuggetMatcher.model_validate_json(read_small(Path(path)))
    except OSError as error:
        raise SettingsError(f"nugget_matcher: cannot read {path}: {error.strerror}") from error
    except ValidationError as error:
        field, problem = find_first_problem(error)
        raise SettingsError(
            f"nugget_matcher: {path} is not a matcher from `ragassay nuggets fit`: "
            f"{field or 'the file'}: {problem}"
        ) from error
    if matcher.embedder != embedder:
        raise SettingsError(
            f"nugget_matcher: {path} was fitted with the embedder {matcher.embedder}, but the "
            f"embedder is {embedder}; fit it again or change the setting"
        )
    return matcher
