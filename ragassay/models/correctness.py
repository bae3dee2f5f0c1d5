"""Models that score whether a passage supports a sentence: one interface, selected by a setting.

BioACE (section 4.1.3) treats correctness as a binary classification of a sentence and a passage,
and compares classical models, fine-tuned encoders, language models, and the semantic route: a
cosine, or the support by a natural language inference model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ragassay.errors import SettingsError
from ragassay.model_names import COSINE, JUDGE, PROVIDER
from ragassay.models.adapters import CORRECTNESS, adapter_of, read_shape
from ragassay.models.embeddings import closest_cosine
from ragassay.models.entailment import (
    COLUMNS,
    SUPPORTS,
    EntailmentModel,
    Pair,
    Remembered,
    doubt_about,
    speaking_against,
)
from ragassay.models.fitted_models import CLASSIFIER, FittedThresholds, PairClassifier
from ragassay.models.verifiers import AdaptedVerifier, adapted_verifier, entailment_model
from ragassay.records import Bound, Failure
from ragassay.text.differences import difference_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.models.embeddings import Embedder


class CorrectnessModel(Protocol):
    """Scores a sentence against a passage."""

    name: str
    """Its name in reports."""

    digest: str
    """SHA-256 of its weights where known; else empty."""

    threshold: float
    """Least score at which a sentence counts as correct."""

    bounds: tuple[Bound, ...]
    """What its labels need to count; without any, all that it says does."""

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return how well each passage supports its sentence, shape (n_pairs,); higher is more.

        nan where the model cannot tell.
        """
        ...

    def doubt(self, pairs: Sequence[Pair]) -> Failure | None:
        """Return why a sentence with its passages is undecided; None where it is not."""
        ...


class EntailmentCorrectness:
    """Scores by the probability of support from a natural language inference model.

    Args:
        embedder: Measures cosines where a bound of the model has a least cosine; without one such
            a bound admits nothing.
    """

    def __init__(self, model: EntailmentModel, embedder: Embedder | None = None) -> None:
        self._model, self._embedder = Remembered(model), embedder
        self.name, self.digest, self.threshold = model.name, model.digest, 0.5
        self.bounds = self._model.bounds

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return probabilities of support, in [0, 1]; nan where the model gave no label."""
        return self._model.probabilities(pairs)[:, SUPPORTS]

    def doubt(self, pairs: Sequence[Pair]) -> Failure | None:
        """Return the first passage's doubt, unless another surely supports the sentence.

        With bounds, a passage with another number, direction or negation supports nothing; numbers
        may stand in any of the passages.
        """
        shares = self._model.probabilities(pairs).tolist()
        if not self.bounds:
            return doubt_about((), COLUMNS, shares)
        # The first line of a passage is its title.
        lines = [(claim, passage.split("\n")[1:]) for claim, passage in pairs]
        texts = [passage for _, passage in pairs]
        for n, (claim, those) in enumerate(lines):
            if difference_of(claim, those, "", texts[:n] + texts[n + 1 :]):
                shares[n] = speaking_against(shares[n])
        cosines: list[float] = []
        if self._embedder and any(bound.least_cosine is not None for bound in self.bounds):
            cosines = [closest_cosine(claim, those, self._embedder) for claim, those in lines]
        return doubt_about(self.bounds, COLUMNS, shares, cosines)


class HeadCorrectness:
    """Scores by the head of `ragassay finetune correctness --method head`.

    Args:
        model: An adapter with the labels of `CORRECTNESS`.
    """

    threshold = 0.5

    def __init__(self, model: AdaptedVerifier) -> None:
        self._model = model
        self.name, self.digest, self.bounds = model.name, model.digest, model.bounds

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return probabilities of "correct", shape (n_pairs,)."""
        return self._model.probabilities(pairs)[:, 0]

    def doubt(self, pairs: Sequence[Pair]) -> Failure | None:
        """Return the first passage's doubt, unless another surely supports the sentence."""
        return doubt_about(self.bounds, CORRECTNESS, self._model.probabilities(pairs).tolist())


class CosineCorrectness:
    """Scores by the cosine of sentence and passage.

    Args:
        threshold: Least cosine of a correct sentence; None for that of the model's form in
            `ragassay.prompts.model_forms`.
    """

    bounds = ()

    def __init__(self, embedder: Embedder, threshold: float | None = None) -> None:
        self._embedder = embedder
        self.name = f"cosine of {embedder.name}"
        self.digest = embedder.digest
        self.threshold = embedder.form.threshold if threshold is None else threshold

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return cosines, in [-1, 1]."""
        import numpy as np

        if not pairs:
            return np.zeros(0)
        claims, passages = ([pair[side] for pair in pairs] for side in (0, 1))
        vectors = self._embedder.encode(claims), self._embedder.encode(passages)
        return (vectors[0] * vectors[1]).sum(axis=1).astype(np.float64)

    def doubt(self, pairs: Sequence[Pair]) -> None:
        """Return None: no bound is known."""


def identity_of(model: CorrectnessModel) -> tuple[str, ...]:
    """Return name, digest and bounds."""
    return (model.name, model.digest, *(bound.model_dump_json() for bound in model.bounds))


def correctness_model(name: str, embedder: Embedder, cache_dir: Path) -> CorrectnessModel | None:
    """Return the model that a setting names.

    Args:
        name: `JUDGE`, `COSINE`, `ragassay/FOLDER` of `ragassay finetune correctness`, the path of a
            fitted classifier (.json), or a name for `entailment_model`, which may be a file of
            fitted thresholds (.json) too.
        embedder: For `COSINE`.
        cache_dir: The folder of converted weights.

    Returns:
        None for `JUDGE`.

    Raises:
        SettingsError: The file is not a classifier, or the model not one of natural language
            inference.
    """
    if name == JUDGE:
        return None
    if name.partition(":")[0] == COSINE:
        return CosineCorrectness(embedder, _threshold_in(name))
    folder = Path(name.removeprefix(f"{PROVIDER}/"))
    if name.startswith(f"{PROVIDER}/") and (folder / CLASSIFIER).is_file():
        return PairClassifier.read(folder / CLASSIFIER, name)
    adapter = adapter_of(name)
    if adapter is not None and read_shape(adapter.folder).labels == CORRECTNESS:
        return HeadCorrectness(adapted_verifier(adapter, cache_dir))
    if name.endswith(".json") and not _has_thresholds(Path(name)):
        return PairClassifier.read(Path(name))
    return EntailmentCorrectness(entailment_model(name, cache_dir), embedder)


def _threshold_in(name: str) -> float | None:
    """Return the threshold of "cosine:0.6"; None for "cosine"."""
    text = name.partition(":")[2]
    if not text:
        return None
    try:
        threshold = float(text)
    except ValueError:
        threshold = math.nan
    if not -1 <= threshold <= 1:
        raise SettingsError(f"correctness {name}: write a cosine from -1 to 1, such as cosine:0.6")
    return threshold


def _has_thresholds(path: Path) -> bool:
    """Return whether a file has a verifier's thresholds, and is no classifier."""
    try:
        FittedThresholds.read(path)
    except SettingsError:
        return False
    return True
