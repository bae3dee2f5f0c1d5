"""Models that say whether a passage bears a sentence out: one interface, the model a setting.

BioACE (section 4.1.3) casts correctness as a two-way classification of a sentence and a passage and
compares classical models, fine-tuned encoders, language models, and the semantic route: a cosine,
or the support of a model of natural language inference.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ragassay.models.entailment import SUPPORTS, EntailmentModel, Pair
from ragassay.models.pair_classifier import PairClassifier
from ragassay.models.verifiers import entailment_model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.models.embeddings import Embedder

JUDGE = "judge"
"""Setting: the verdicts of the judge are taken, no model beside it is asked."""

COSINE = "cosine"
"""Setting: the cosine of the embedding model."""

COSINE_THRESHOLD = 0.75
"""Where BioACE (figure 7) takes a cosine for correct."""


class CorrectnessModel(Protocol):
    """What a sentence and a passage can be handed to."""

    name: str
    """As reports name it."""

    digest: str
    """SHA-256 of its weights where they are known; else empty."""

    threshold: float
    """Least score at which a sentence counts as correct."""

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """How well each passage bears its sentence out, shape (n_pairs,); higher is better."""
        ...


class EntailmentCorrectness:
    """The probability of support by a model of natural language inference."""

    def __init__(self, model: EntailmentModel) -> None:
        self._model = model
        self.name, self.digest, self.threshold = model.name, model.digest, 0.5

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Probabilities of support, in [0, 1]."""
        return self._model.probabilities(pairs)[:, SUPPORTS]


class CosineCorrectness:
    """The cosine of sentence and passage."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = f"cosine of {embedder.name}"
        self.digest, self.threshold = embedder.digest, COSINE_THRESHOLD

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Cosines, in [-1, 1]."""
        import numpy as np

        if not pairs:
            return np.zeros(0)
        claims, passages = ([pair[side] for pair in pairs] for side in (0, 1))
        vectors = self._embedder.encode(claims), self._embedder.encode(passages)
        return (vectors[0] * vectors[1]).sum(axis=1).astype(np.float64)


def correctness_model(name: str, embedder: Embedder, cache_dir: Path) -> CorrectnessModel | None:
    """The model of a setting.

    Args:
        name: `JUDGE`, `COSINE`, the path of a classifier that was fitted (.json), or what
            `entailment_model` takes.
        embedder: For `COSINE`.
        cache_dir: Where converted weights live.

    Returns:
        None for `JUDGE`.

    Raises:
        SettingsError: The file is no classifier, or the model none of natural language inference.
    """
    if name == JUDGE:
        return None
    if name == COSINE:
        return CosineCorrectness(embedder)
    if name.endswith(".json"):
        return PairClassifier.read(Path(name))
    return EntailmentCorrectness(entailment_model(name, cache_dir))
