"""Correctness models, which score whether a passage supports a sentence.

BioACE (section 4.1.3) treats correctness as binary classification of a sentence and a passage.
BioACE compares classical models, fine-tuned encoders, language models, cosine similarity and
natural language inference (NLI) models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ragassay.errors import SettingsError
from ragassay.model_names import COSINE, JUDGE, PROVIDER
from ragassay.models.adapters import CORRECTNESS, find_adapter, read_shape
from ragassay.models.embeddings import find_closest_cosine
from ragassay.models.entailment import (
    COLUMNS,
    SUPPORTS,
    CachedEntailment,
    EntailmentModel,
    Pair,
    as_contradiction,
    explain_doubt,
)
from ragassay.models.fitted_models import CLASSIFIER, FittedThresholds, PairClassifier
from ragassay.models.verifiers import AdaptedVerifier, load_adapted_verifier, open_entailment_model
from ragassay.records import Bound, Failure
from ragassay.text.differences import find_difference

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.models.embeddings import Embedder


class CorrectnessModel(Protocol):
    """Model that scores a sentence against a passage."""

    name: str
    """Name of the model in reports."""

    digest: str
    """SHA-256 of the model's weights, or "" if unknown."""

    threshold: float
    """Minimum score of a correct sentence."""

    bounds: tuple[Bound, ...]
    """Minimum probabilities for a label to count. Without bounds, all labels count."""

    def score_pairs(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return support scores, shape (n_pairs,).

        Higher scores mean more support, and nan means undecided.
        """
        ...

    def find_doubt(self, pairs: Sequence[Pair]) -> Failure | None:
        """Return the reason why a sentence is undecided given its passages, or None."""
        ...


class EntailmentCorrectness:
    """Correctness model that uses the support probability of an NLI model.

    Args:
        embedder: Embedder for bounds that include a minimum cosine. Without an embedder, these
            bounds reject all pairs.
    """

    def __init__(self, model: EntailmentModel, embedder: Embedder | None = None) -> None:
        self._model, self._embedder = CachedEntailment(model), embedder
        self.name, self.digest, self.threshold = model.name, model.digest, 0.5
        self.bounds = self._model.bounds

    def score_pairs(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return support probabilities in [0, 1], or nan if the model returned no label."""
        return self._model.predict_probabilities(pairs)[:, SUPPORTS]

    def find_doubt(self, pairs: Sequence[Pair]) -> Failure | None:
        """Return why a sentence is undecided, or None if a passage clearly supports it.

        If there are bounds, a passage with a different number, direction or negation does not
        support the sentence, but a number missing in one passage may occur in another.
        """
        shares = self._model.predict_probabilities(pairs).tolist()
        if not self.bounds:
            return explain_doubt((), COLUMNS, shares)
        # The first line of a passage is its title.
        bodies = [(claim, passage.split("\n")[1:]) for claim, passage in pairs]
        texts = [passage for _, passage in pairs]
        for n, (claim, body) in enumerate(bodies):
            if find_difference(claim, body, "", texts[:n] + texts[n + 1 :]):
                shares[n] = as_contradiction(shares[n])
        cosines: list[float] = []
        if self._embedder and any(bound.least_cosine is not None for bound in self.bounds):
            cosines = [find_closest_cosine(claim, body, self._embedder) for claim, body in bodies]
        return explain_doubt(self.bounds, COLUMNS, shares, cosines)


class HeadCorrectness:
    """Correctness model trained by `ragassay finetune correctness --method head`."""

    threshold = 0.5

    def __init__(self, model: AdaptedVerifier) -> None:
        self._model = model
        self.name, self.digest, self.bounds = model.name, model.digest, model.bounds

    def score_pairs(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return probabilities of "correct", shape (n_pairs,)."""
        return self._model.predict_probabilities(pairs)[:, 0]

    def find_doubt(self, pairs: Sequence[Pair]) -> Failure | None:
        """Return why a sentence is undecided, or None if a passage clearly supports it."""
        return explain_doubt(
            self.bounds, CORRECTNESS, self._model.predict_probabilities(pairs).tolist()
        )


class CosineCorrectness:
    """Correctness model that uses the cosine similarity of sentence and passage.

    Args:
        threshold: Minimum cosine of a correct sentence. The default is the embedder's threshold in
            `ragassay.prompts.model_forms`.
    """

    bounds = ()

    def __init__(self, embedder: Embedder, threshold: float | None = None) -> None:
        self._embedder = embedder
        self.name = f"cosine of {embedder.name}"
        self.digest = embedder.digest
        self.threshold = embedder.form.threshold if threshold is None else threshold

    def score_pairs(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return cosines in [-1, 1]."""
        import numpy as np

        if not pairs:
            return np.zeros(0)
        claims, passages = ([pair[side] for pair in pairs] for side in (0, 1))
        vectors = self._embedder.encode(claims), self._embedder.encode(passages)
        return (vectors[0] * vectors[1]).sum(axis=1).astype(np.float64)

    def find_doubt(self, pairs: Sequence[Pair]) -> None:
        """Return None, because cosines have no bounds."""


def identify_model(model: CorrectnessModel) -> tuple[str, ...]:
    """Return the model's name, digest and bounds."""
    return (model.name, model.digest, *(bound.model_dump_json() for bound in model.bounds))


def open_correctness_model(
    name: str, embedder: Embedder, cache_dir: Path
) -> CorrectnessModel | None:
    """Open the model selected by a setting.

    Args:
        name: `JUDGE`, `COSINE`, `ragassay/FOLDER` from `ragassay finetune correctness`, the path of
            a fitted classifier (.json), or a name for `open_entailment_model`, including a file of
            fitted thresholds (.json).
        embedder: Embedder for `COSINE` and for cosine bounds.
        cache_dir: Folder for converted weights.

    Returns:
        Correctness model, or None for `JUDGE`.

    Raises:
        SettingsError: The file is not a classifier, or the model is not an NLI model.
    """
    if name == JUDGE:
        return None
    if name.partition(":")[0] == COSINE:
        return CosineCorrectness(embedder, _parse_threshold(name))
    folder = Path(name.removeprefix(f"{PROVIDER}/"))
    if name.startswith(f"{PROVIDER}/") and (folder / CLASSIFIER).is_file():
        return PairClassifier.read(folder / CLASSIFIER, name)
    adapter = find_adapter(name)
    if adapter is not None and read_shape(adapter.folder).labels == CORRECTNESS:
        return HeadCorrectness(load_adapted_verifier(adapter, cache_dir))
    if name.endswith(".json") and not _has_thresholds(Path(name)):
        return PairClassifier.read(Path(name))
    return EntailmentCorrectness(open_entailment_model(name, cache_dir), embedder)


def _parse_threshold(name: str) -> float | None:
    """Return the threshold in "cosine:0.6", or None for "cosine"."""
    text = name.partition(":")[2]
    if not text:
        return None
    try:
        threshold = float(text)
    except ValueError:
        threshold = math.nan
    if not -1 <= threshold <= 1:
        raise SettingsError(
            f"invalid correctness setting {name}; pass a cosine from -1 to 1, such as cosine:0.6"
        )
    return threshold


def _has_thresholds(path: Path) -> bool:
    try:
        FittedThresholds.read(path)
    except SettingsError:
        return False
    return True
