"""Open verifiers, which compare a claim with a passage, by their names in settings.

- The embedded verifier is all-MiniLM-L6-v2 as a cross-encoder with shipped low-rank adapters.
  SmolLM2-135M with an adapter, and the mean of the two verifiers, are also shipped.
- Adapters from `ragassay finetune verifier` are identified by their folder.
- Sequence classifiers for natural language inference (NLI) are identified by their Hugging Face id.
  Verifiers that generate a label or score (FLAN-T5, AttrScore, TRUE, AlignScore, SummaC) and
  published fact checkers (MiniCheck, HHEM, LettuceDetect) are identified in the same way. See
  `ragassay.prompts.model_forms`.
- Files from `ragassay verifiers fit` name a verifier and contain thresholds for it.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.errors import SettingsError
from ragassay.model_names import (
    EMBEDDED,
    MEAN_VERIFIER,
    MINILM,
    MINILM_VERIFIER,
    SHIPPED_VERIFIERS,
)
from ragassay.models import adapters
from ragassay.models.availability import explain_missing_checker
from ragassay.models.computed import compute_arrays
from ragassay.models.entailment import (
    PACKAGED,
    CachedEntailment,
    EntailmentModel,
    NliModel,
    Pair,
    load_pair_encoder,
)
from ragassay.models.fact_checkers import open_checker
from ragassay.models.fitted_models import FittedThresholds, FittedVerifier
from ragassay.models.hosting import run_on_host
from ragassay.models.scorers import (
    AlignScore,
    AnswerEvidence,
    ScoringVerifier,
    SummaC,
    fetch_weights_file,
)
from ragassay.models.written_labels import WrittenLabels, open_writer
from ragassay.prompts.model_forms import load_verifier_kinds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.models.cross_encoder import CrossEncoder, PairEncoder
    from ragassay.models.minilm import MiniLMPairs


class AdaptedVerifier:
    """Base model with a verifier adapter, loaded on first use. Thread-safe."""

    def __init__(self, adapter: adapters.Adapter, cache_dir: Path) -> None:
        self.name = adapter.model
        self.digest = adapters.hash_adapter(adapter)
        self.bounds = adapters.read_shape(adapter.folder).bounds
        self.made_of = (adapter, cache_dir)
        self._model: MiniLMPairs | CrossEncoder | None = None
        self._lock = threading.Lock()

    @run_on_host
    def predict_probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return label probabilities, shape (n_pairs, n_labels), or raise `SettingsError`."""
        import numpy as np

        if not pairs:
            return self._compute(pairs)
        rows = compute_arrays("pair", self.digest, pairs, lambda new: [*self._compute(new)])
        return np.array(rows, dtype=np.float64)

    def _compute(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        with self._lock:
            if self._model is None:
                self._model = _open_pairs(*self.made_of)
        return self._model.predict_probabilities(pairs)


def _open_pairs(adapter: adapters.Adapter, cache_dir: Path) -> MiniLMPairs | CrossEncoder:
    if adapters.read_shape(adapter.folder).base_sha256 == PACKAGED[MINILM]:
        from ragassay.models.minilm import MiniLMPairs

        return MiniLMPairs(adapter)
    from ragassay.models.cross_encoder import CrossEncoder

    return CrossEncoder.load(adapter, _load_adapter_base(adapter, cache_dir))


class MeanVerifier:
    """Verifier that averages the probabilities of several models.

    Models that are uncertain have less influence.
    """

    def __init__(self, name: str, models: Sequence[EntailmentModel]) -> None:
        self.name, self._models = name, models
        self.bounds = adapters.load_mean_bounds().get(name, ())
        self.digest = hashlib.sha256("".join(m.digest for m in models).encode()).hexdigest()

    def predict_probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return the probabilities of support, contradiction and neutrality."""
        import numpy as np

        return np.mean([model.predict_probabilities(pairs) for model in self._models], axis=0)


def _load_adapter_base(adapter: adapters.Adapter, cache_dir: Path) -> PairEncoder:
    shape = adapters.read_shape(adapter.folder)
    known = (name for name, digest in PACKAGED.items() if digest == shape.base_sha256)
    base = shape.base or next(known, "")
    encoder = load_pair_encoder(base, cache_dir, len(shape.labels)) if base else None
    if encoder is None or encoder.base_sha256 != shape.base_sha256:
        raise SettingsError(f"the base model of the adapter {adapter.folder} is unavailable")
    return encoder


@functools.cache
def load_minilm_verifier() -> CachedEntailment:
    """Return the embedded verifier of this process."""
    parts = (adapters.WHOLE, adapters.CLOSEST)
    models = tuple(load_adapted_verifier(adapter, Path()) for adapter in parts)
    return CachedEntailment(MeanVerifier(MINILM_VERIFIER, models))


@functools.cache
def load_signals_verifier() -> AdaptedVerifier:
    """Return the verifier with which the signals of `ragassay/signals` are computed."""
    # The base model is in its installed package, so no folder is needed.
    return load_adapted_verifier(adapters.SIGNALS, Path())


@functools.cache
def load_adapted_verifier(adapter: adapters.Adapter, cache_dir: Path) -> AdaptedVerifier:
    """Return the verifier for an adapter. Each verifier is created once per process."""
    return AdaptedVerifier(adapter, cache_dir)


class FallbackVerifier:
    """Embedded verifier that replaces an unavailable model.

    Its name mentions both models.
    """

    def __init__(self, unavailable: str) -> None:
        self._verifier = load_minilm_verifier()
        self.name = f"{self._verifier.name} in place of {unavailable}"
        self.digest, self.bounds = self._verifier.digest, self._verifier.bounds

    def predict_probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return the probabilities of support, contradiction and neutrality."""
        return self._verifier.predict_probabilities(pairs)


def is_pair_verifier(name: str) -> bool:
    """Return whether the model is a verifier that cannot generate text."""
    return name in SHIPPED_VERIFIERS or adapters.find_adapter(name) is not None


def open_entailment_model(name: str, cache_dir: Path, n_labels: int = 3) -> EntailmentModel:
    """Open the verifier selected by a setting.

    An unavailable Hugging Face model is replaced by the embedded verifier, whose name then mentions
    both models.

    Args:
        name: `EMBEDDED`, a name in `SHIPPED_VERIFIERS`, `ragassay/FOLDER`, a file of fitted
            thresholds (.json), a Hugging Face id, or KIND:MODEL for a kind in `verifiers.yaml`.
        cache_dir: Folder for the converted weights of SmolLM2.
        n_labels: Number of labels (2 or 3) of a verifier that generates its labels.

    Raises:
        SettingsError: The model is not an NLI model, or a KIND:MODEL is unavailable.
    """
    if name in (EMBEDDED, MINILM_VERIFIER):
        return load_minilm_verifier()
    if name == MEAN_VERIFIER:
        smollm2 = load_adapted_verifier(adapters.SMOLLM2, cache_dir)
        return MeanVerifier(name, (load_minilm_verifier(), smollm2))
    adapter = adapters.find_adapter(name)
    if adapter is not None:
        _refuse_other_head(adapter)
        return load_adapted_verifier(adapter, cache_dir)
    if name.endswith(".json"):
        fitted = FittedThresholds.read(Path(name))
        return FittedVerifier(fitted, require_verifier(fitted.verifier, cache_dir, fitted.n_labels))
    kinds = load_verifier_kinds()
    if kinds.facts.is_chat(name):
        raise SettingsError(f"{name} requires a server; use it with `ragassay evaluate`")
    kind, model = kinds.find(name)
    try:
        return _open_verifier(kind, model, cache_dir, n_labels) if kind else NliModel(name)
    except OSError as error:
        if reason := _explain_missing_verifier(name, kind, model):
            raise SettingsError(reason) from error
        return FallbackVerifier(name)
    except SettingsError:
        raise
    except (ValueError, RecursionError) as error:  # raised by libraries for broken models
        first_line = str(error).strip().partition("\n")[0]
        raise SettingsError(f"cannot load verifier {name}: {first_line}") from error


def _explain_missing_verifier(name: str, kind: str, model: str) -> str:
    """Return why an unavailable model cannot be replaced, or "" if it can."""
    if kind in load_verifier_kinds().facts.checkers:
        return f"verifier {name}: {explain_missing_checker(model)}"
    if ":" in name or name == kind:
        return f"verifier {name}: {model} is unavailable"
    if Path(model).is_file():
        return (
            f"verifier {name} is a file but not a model; pass a folder, a Hugging Face id or a "
            "file from `ragassay verifiers fit`"
        )
    return ""


def _refuse_other_head(adapter: adapters.Adapter) -> None:
    labels = adapters.read_shape(adapter.folder).labels
    if labels != adapters.VERDICTS:
        option = "--correctness" if labels == adapters.CORRECTNESS else "--labeller"
        raise SettingsError(
            f"{adapter.model} predicts {' or '.join(labels)} and is not a verifier; pass it with "
            f"{option}"
        )


def require_verifier(name: str, cache_dir: Path, n_labels: int = 3) -> EntailmentModel:
    """Open a verifier by name, or raise `SettingsError` instead of replacing it."""
    found = open_entailment_model(name, cache_dir, n_labels)
    if isinstance(found, FallbackVerifier):
        raise SettingsError(
            f"verifier {name} is unavailable; pass a Hugging Face id, a folder, or a verifier from "
            "`ragassay verifiers kinds`"
        )
    return found


@functools.cache
def _open_verifier(kind: str, model: str, cache_dir: Path, n_labels: int) -> EntailmentModel:
    """Open a verifier once per process, because it may have up to 20 billion parameters."""
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
        inner = SummaC(require_verifier(model, cache_dir))
    elif kind == "summac-conv":
        inference = require_verifier(beside or scorer.beside, cache_dir)
        inner = SummaC(inference, fetch_weights_file(name))
    elif kind == "bioace-correctness":
        inner = AnswerEvidence(model)
    else:
        sized = scorer.beside.replace("large", "base") if "base" in Path(name).name else ""
        inner = AlignScore(fetch_weights_file(name), beside or sized or scorer.beside)
    return ScoringVerifier(inner, scorer.scale, scorer.threshold)
