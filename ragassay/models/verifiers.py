"""Find the verifier, which compares a claim with a passage, by its name in settings.

The embedded one is all-MiniLM-L6-v2, used as a cross-encoder, with a low-rank adapter shipped in
the package. Another one is SmolLM2-135M, used and shipped likewise; their mean is a third. An
adapter made by `ragassay finetune verifier` is named by its folder, any sequence classifier of
natural language inference on Hugging Face's hub by its name. So are the verifiers that write a
label or score (FLAN-T5, AttrScore, TRUE, AlignScore, SummaC), and published fact checkers
(MiniCheck, HHEM, LettuceDetect): `ragassay.prompts.model_forms` has the tables of their kinds. A
file of `ragassay verifiers fit` names a verifier with its thresholds.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ragassay.errors import SettingsError
from ragassay.model_names import (
    EMBEDDED,
    MEAN_VERIFIER,
    MINILM,
    MINILM_VERIFIER,
    SHIPPED_VERIFIERS,
)
from ragassay.models import adapters
from ragassay.models.availability import unavailable_text
from ragassay.models.computed import computed_once
from ragassay.models.entailment import (
    PACKAGED,
    EntailmentModel,
    NliModel,
    Pair,
    Remembered,
    pair_encoder,
)
from ragassay.models.fact_checkers import open_checker
from ragassay.models.fitted_models import FittedThresholds, FittedVerifier
from ragassay.models.hosting import computed_by_host
from ragassay.models.scorers import (
    AlignScore,
    AnswerEvidence,
    ScoringVerifier,
    SummaC,
    weights_file,
)
from ragassay.models.written_labels import WrittenLabels, open_writer
from ragassay.prompts.model_forms import load_verifier_kinds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.models.cross_encoder import PairEncoder


class AdaptedVerifier:
    """A base model with an adapter; loaded at the first call, safe across threads.

    The card of a shipped one has its training data and its results on held-out data.
    """

    def __init__(self, adapter: adapters.Adapter, cache_dir: Path) -> None:
        self.name = adapter.model
        self.digest = adapters.adapter_digest(adapter)
        self.bounds = adapters.read_shape(adapter.folder).bounds
        self.made_of = (adapter, cache_dir)
        self._model: PairModel | None = None
        self._lock = threading.Lock()

    @computed_by_host
    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return the probability of each label of the adapter, shape (n_pairs, n_labels).

        Those of a verifier: the passage supports, contradicts or leaves open the claim.

        Raises:
            SettingsError: The base model is not installed, or its weights differ.
        """
        import numpy as np

        if not pairs:
            return self._compute(pairs)
        rows = computed_once("pair", self.digest, pairs, lambda new: [*self._compute(new)])
        return np.array(rows, dtype=np.float64)

    def _compute(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        with self._lock:
            if self._model is None:
                self._model = _open_pairs(*self.made_of)
        return self._model.probabilities(pairs)


class PairModel(Protocol):
    """A loaded base model with its adapter; safe across threads."""

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return the probability of each label, shape (n_pairs, n_labels)."""
        ...


def _open_pairs(adapter: adapters.Adapter, cache_dir: Path) -> PairModel:
    if adapters.read_shape(adapter.folder).base_sha256 == PACKAGED[MINILM]:
        from ragassay.models.minilm import MiniLMPairs

        return MiniLMPairs(adapter)
    from ragassay.models.cross_encoder import CrossEncoder

    return CrossEncoder.load(adapter, _base_below(adapter, cache_dir))


class MeanVerifier:
    """The mean of several models; an unsure one counts less, as its probabilities are even."""

    def __init__(self, name: str, models: Sequence[EntailmentModel]) -> None:
        self.name, self._models = name, models
        self.bounds = adapters.bounds_of_means().get(name, ())
        self.digest = hashlib.sha256("".join(m.digest for m in models).encode()).hexdigest()

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return probabilities that the passage supports, contradicts or leaves open the claim."""
        import numpy as np

        return np.mean([model.probabilities(pairs) for model in self._models], axis=0)


def _base_below(adapter: adapters.Adapter, cache_dir: Path) -> PairEncoder:
    shape = adapters.read_shape(adapter.folder)
    told = (name for name, digest in PACKAGED.items() if digest == shape.base_sha256)
    base = shape.base or next(told, "")
    encoder = pair_encoder(base, cache_dir, len(shape.labels)) if base else None
    if encoder is None or encoder.base_sha256 != shape.base_sha256:
        raise SettingsError(f"{adapter.folder} is an adapter of a base model that is unavailable")
    return encoder


@functools.cache
def minilm_verifier() -> Remembered:
    """Load one a process: verdicts and correctness share its weights and what it found."""
    parts = tuple(adapted_verifier(one, Path()) for one in (adapters.WHOLE, adapters.CLOSEST))
    return Remembered(MeanVerifier(MINILM_VERIFIER, parts))


@functools.cache
def signals_verifier() -> AdaptedVerifier:
    """Load the one that signals are measured with, one a process."""
    # Its base is in its installed package, not in a folder of converted weights.
    return adapted_verifier(adapters.SIGNALS, Path())


@functools.cache
def adapted_verifier(adapter: adapters.Adapter, cache_dir: Path) -> AdaptedVerifier:
    """Load one a process, an adapter and a folder of converted weights."""
    return AdaptedVerifier(adapter, cache_dir)


class StandIn:
    """The embedded verifier instead of an unavailable model; its name says so."""

    def __init__(self, wanted: str) -> None:
        self._verifier = minilm_verifier()
        self.name = f"{self._verifier.name} in place of {wanted}"
        self.digest, self.bounds = self._verifier.digest, self._verifier.bounds

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return probabilities that the passage supports, contradicts or leaves open the claim."""
        return self._verifier.probabilities(pairs)


def is_pair_verifier(name: str) -> bool:
    """Return whether a name is of a model that compares and writes nothing, so not a chat model."""
    return name in SHIPPED_VERIFIERS or adapters.adapter_of(name) is not None


def entailment_model(name: str, cache_dir: Path, n_labels: int = 3) -> EntailmentModel:
    """Return the model that a setting names.

    If a model of the hub is unavailable, the embedded verifier replaces it, and its name says so.

    Args:
        name: `EMBEDDED`, one of `SHIPPED_VERIFIERS`, `ragassay/FOLDER`, a file of fitted
            thresholds (.json), a name on the hub, or KIND:MODEL for a kind of `verifiers.yaml`.
        cache_dir: The folder of SmolLM2's converted weights.
        n_labels: How many labels a verifier that is asked in words is asked for: 2, or 3.

    Raises:
        SettingsError: The model is not one of natural language inference; or it is named by its
            kind, and unavailable.
    """
    if name in (EMBEDDED, MINILM_VERIFIER):
        return minilm_verifier()
    if name == MEAN_VERIFIER:
        smollm2 = adapted_verifier(adapters.SMOLLM2, cache_dir)
        return MeanVerifier(name, (minilm_verifier(), smollm2))
    adapter = adapters.adapter_of(name)
    if adapter is not None:
        _refuse_other_head(adapter)
        return adapted_verifier(adapter, cache_dir)
    if name.endswith(".json"):
        fitted = FittedThresholds.read(Path(name))
        return FittedVerifier(fitted, present_model(fitted.verifier, cache_dir, fitted.n_labels))
    kinds = load_verifier_kinds()
    if kinds.facts.is_chat(name):
        raise SettingsError(f"{name} is asked over a server, by `ragassay evaluate` alone")
    kind, model = kinds.find(name)
    try:
        return _of_kind(kind, model, cache_dir, n_labels) if kind else NliModel(name)
    except OSError as error:
        if refusal := _refusal(name, kind, model):
            raise SettingsError(refusal) from error
        return StandIn(name)
    except SettingsError:
        raise
    except (ValueError, RecursionError) as error:  # what a model's library says of a broken one
        first_line = str(error).strip().partition("\n")[0]
        raise SettingsError(f"verifier {name} cannot be loaded: {first_line}") from error


def _refusal(name: str, kind: str, model: str) -> str:
    """Say why no other model replaces an unavailable one; empty where the embedded one does."""
    if kind in load_verifier_kinds().facts.checkers:
        return f"verifier {name}: {unavailable_text(model)}"
    if ":" in name or name == kind:
        return f"verifier {name}: {model} is unavailable"
    if Path(model).is_file():
        return (
            f"verifier {name} is a file, but not a model: name a folder, a name on the hub, or a "
            "file of `ragassay verifiers fit`"
        )
    return ""


def _refuse_other_head(adapter: adapters.Adapter) -> None:
    labels = adapters.read_shape(adapter.folder).labels
    if labels != adapters.VERDICTS:
        option = "--correctness" if labels == adapters.CORRECTNESS else "--labeller"
        raise SettingsError(
            f"{adapter.model} says {' or '.join(labels)} and is not a verifier: name it with "
            f"{option}"
        )


def present_model(name: str, cache_dir: Path, n_labels: int = 3) -> EntailmentModel:
    """Return the model that a name means, and no other in its place.

    Raises:
        SettingsError: It is unavailable.
    """
    found = entailment_model(name, cache_dir, n_labels)
    if isinstance(found, StandIn):
        raise SettingsError(
            f"the verifier {name} is unavailable: name one on Hugging Face's hub, a folder, or one "
            "of `ragassay verifiers kinds`"
        )
    return found


@functools.cache
def _of_kind(kind: str, model: str, cache_dir: Path, n_labels: int) -> EntailmentModel:
    """Open one a process: some have 20 billion weights."""
    kinds = load_verifier_kinds()
    if kind in kinds.writers:
        writer = kinds.writers[kind]
        return WrittenLabels(open_writer(model, writer), writer, n_labels)
    if kind in kinds.facts.checkers:
        table = kinds.facts.checkers[kind]
        return ScoringVerifier(open_checker(kind, model, cache_dir), table.scale, table.least_score)
    scorer = kinds.scorers[kind]
    name, _, beside = model.partition("@")
    if kind == "summac-zs":
        inner = SummaC(present_model(model, cache_dir))
    elif kind == "summac-conv":
        inference = present_model(beside or scorer.beside, cache_dir)
        inner = SummaC(inference, weights_file(name))
    elif kind == "bioace-correctness":
        inner = AnswerEvidence(model)
    else:
        sized = scorer.beside.replace("large", "base") if "base" in Path(name).name else ""
        inner = AlignScore(weights_file(name), beside or sized or scorer.beside)
    return ScoringVerifier(inner, scorer.scale, scorer.threshold)
