"""Compare claims with passages: interface, Hugging Face classifiers and cross-encoders."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ragassay.errors import SettingsError
from ragassay.extras import EXTRAS, need
from ragassay.metrics.stats.calibration import explain_undecided, find_bound
from ragassay.model_names import MINILM, SMOLLM2
from ragassay.models.hosting import run_on_host
from ragassay.models.weights import (
    MINILM_SAFETENSORS_SHA256,
    SMOLLM2_GGUF_SHA256,
    LazyModel,
    check_hub,
    guard_loading,
    load_pretrained,
    locate_model,
    read_config,
)
from ragassay.records import VERDICT_SETS, Bound, Failure, UnsupportedSpan, Verdict

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from ragassay.models.cross_encoder import PairEncoder


SUPPORTS, CONTRADICTS, NEUTRAL = 0, 1, 2
"""Columns of arrays that contain a verifier's probabilities."""

COLUMNS: tuple[Verdict, ...] = VERDICT_SETS[3]
"""Labels of the columns of probability arrays, as used in bounds."""

Pair = tuple[str, str]
"""Claim and passage, formatted like the output of `ragassay.text.search`."""


class EntailmentModel(Protocol):
    """Model that compares a claim with a passage."""

    name: str
    """Name of the model in reports."""

    digest: str
    """SHA-256 of the model's weights, or "" if unknown."""

    bounds: tuple[Bound, ...] = ()
    """Minimum probabilities for a label to count. Without bounds, all labels count."""

    def predict_probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return the probabilities of support, contradiction and neutrality.

        The result has shape (n_pairs, 3). Rows sum to 1, or are nan if the model returned no label.
        """
        ...


class CachedEntailment:
    """Verifier with an LRU cache of pairs, because perturbed answers share most sentences."""

    def __init__(self, model: EntailmentModel, n_kept: int = 4096) -> None:
        self.name, self.digest, self.bounds = model.name, model.digest, get_model_bounds(model)
        self.n_labels, self.reads_whole = get_label_count(model), can_read_documents(model)
        self._model, self._n_kept = model, n_kept
        self._known: OrderedDict[Pair, NDArray[np.float64]] = OrderedDict()
        self._lock = threading.Lock()

    def predict_probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return the model's probabilities, shape (n_pairs, 3)."""
        import numpy as np

        with self._lock:
            found = {pair: self._known.get(pair) for pair in pairs}
        new = [pair for pair, shares in found.items() if shares is None]
        if new:
            found.update(zip(new, self._model.predict_probabilities(new), strict=True))
        with self._lock:
            for pair, shares in found.items():
                if shares is not None:
                    self._known[pair] = shares
                    self._known.move_to_end(pair)
            while len(self._known) > self._n_kept:
                self._known.popitem(last=False)
        return np.array([found[pair] for pair in pairs]).reshape(len(pairs), 3)


NO_LABEL = Failure(reason="unparsable", detail="the most likely reply is not a label")
"""Failure reported for pairs whose probabilities are nan."""


def get_label_count(model: EntailmentModel) -> int:
    """Return a model's number of labels: 3, or 2 if it does not detect contradictions."""
    return getattr(model, "n_labels", 3)


def can_read_documents(model: EntailmentModel) -> bool:
    """Return whether a model reads whole documents instead of at most 512 tokens."""
    return getattr(model, "reads_whole", False)


def get_model_bounds(model: EntailmentModel) -> tuple[Bound, ...]:
    """Return the bounds of a model, or no bounds if a third-party model does not define any."""
    return getattr(model, "bounds", ())


def find_unsupported_spans(model: EntailmentModel, pair: Pair) -> tuple[UnsupportedSpan, ...]:
    """Return the unsupported parts of a claim, or nothing if the model does not label tokens."""
    spans = getattr(model, "find_spans", None)
    return spans(*pair) if spans else ()


def as_contradiction(shares: Sequence[float]) -> list[float]:
    """Return label probabilities with the probability of support added to that of contradiction."""
    return [0.0, shares[SUPPORTS] + shares[CONTRADICTS], shares[NEUTRAL]]


def as_neutral(shares: Sequence[float]) -> list[float]:
    """Return label probabilities with the probability of contradiction added to that of neutral."""
    return [shares[SUPPORTS], 0.0, shares[CONTRADICTS] + shares[NEUTRAL]]


def explain_doubt(
    bounds: Sequence[Bound],
    labels: Sequence[str],
    shares: Sequence[Sequence[float]],
    cosines: Sequence[float | None] = (),
) -> Failure | None:
    """Return the reason why a sentence is undecided given its passages, or None.

    Args:
        bounds: Minimum probabilities for labels to count. Labels without a bound always count.
        labels: Labels of the columns of `shares`, of which the first means support.
        shares: Label probabilities, shape (n_passages, n_labels), or nan if the model returned no
            label.
        cosines: Cosine of the sentence and the most similar sentence of each passage, shape
            (n_passages,). The cosines are needed only if a bound has a minimum cosine.

    Returns:
        Failure of the first undecided passage, or None if another passage clearly supports the
        sentence.

    Example:
        >>> bound = Bound(label="correct", threshold=0.9, risk=0.2, delta=0.1, n=90)
        >>> explain_doubt([bound], ["correct", "incorrect"], [(0.7, 0.3), (0.95, 0.05)])
        >>> explain_doubt([bound], ["correct", "incorrect"], [(0.7, 0.3)]).reason
        'undecided'
    """
    doubts: list[Failure | None] = []
    for row, cosine in zip_longest(shares, cosines):
        if any(map(math.isnan, row)):
            doubts.append(NO_LABEL)
            continue
        best = max(range(len(row)), key=row.__getitem__)
        # Use the bounds for words, because numbers are not checked here.
        bound = find_bound(bounds, labels[best], "verdict", "words")
        doubts.append(
            explain_undecided(bound, labels[best], float(row[best]), cosine) if bound else None
        )
        if best == 0 and doubts[-1] is None:
            return None
    return next((doubt for doubt in doubts if doubt), None)


_WORDS = {
    SUPPORTS: ("entail", "support"),
    CONTRADICTS: ("contradict", "refute"),
    NEUTRAL: ("neutral", "not_enough", "not enough", "nei"),
}


class NliModel:
    """Natural language inference (NLI) classifier, loaded on first use.

    Raises:
        OSError: The model is unavailable.
        SettingsError: The model has no label for entailment.
    """

    bounds = ()

    def __init__(self, name: str) -> None:
        check_hub(name)
        labels: Mapping[int, str] = read_config(name).id2label
        self.name, self.digest, self.made_of = name, "", (name,)
        self._columns = map_entailment_columns(labels)
        if SUPPORTS not in self._columns.values():
            raise SettingsError(
                f"{name} is not a natural language inference model: none of its labels "
                f"({', '.join(labels.values())}) means that a text supports a claim"
            )
        self.model = LazyModel(lambda: load_pretrained("AutoModelForSequenceClassification", name))

    @run_on_host
    def predict_probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return the probabilities of support, contradiction and neutrality."""
        import numpy as np

        found = np.zeros((len(pairs), 3))
        with self.model.lend() as (tokenizer, model):
            for row, (claim, passage) in enumerate(pairs):
                # The passage is the premise. If it has no title, it starts with a newline.
                tokens = tokenizer(
                    passage.strip(),
                    claim,
                    truncation="only_first",
                    split_special_tokens=True,
                    return_tensors="pt",
                ).to(model.device)
                shares = model(**tokens).logits[0].softmax(-1).tolist()
                for column, share in enumerate(shares):
                    found[row, self._columns.get(column, NEUTRAL)] += share
        return found


def map_entailment_columns(labels: Mapping[int, str]) -> dict[int, int]:
    """Return the probability column of each classifier output, based on the label names.

    Example:
        >>> map_entailment_columns({0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"})
        {0: 1, 1: 2, 2: 0}
    """
    found: dict[int, int] = {}
    for column, label in labels.items():
        text = label.lower()
        # "not_entailment" means neutral.
        negated = text.startswith(("not", "non"))
        columns = [c for c, words in _WORDS.items() if any(word in text for word in words)]
        if columns:
            found[int(column)] = NEUTRAL if negated else columns[0]
    return found


PACKAGED: Mapping[str, str] = {SMOLLM2: SMOLLM2_GGUF_SHA256, MINILM: MINILM_SAFETENSORS_SHA256}
"""Packaged base models and the SHA-256 of their weights."""


def load_pair_encoder(base: str, cache_dir: Path, n_labels: int = 3) -> PairEncoder:
    """Load a base model as a cross-encoder with an untrained head.

    Hugging Face models run in bfloat16 on a GPU if there is one. Packaged models always run on the
    CPU, with the same results on all machines.

    Args:
        base: Name in `PACKAGED`, a Hugging Face id, or a folder.
        cache_dir: Folder for the converted weights of SmolLM2.
        n_labels: Number of labels in the head. Verifiers have three labels.

    Raises:
        ExtraError: The `hub` extra is not installed.
        SettingsError: The model is unavailable, has an unsupported architecture, or differs from
            the packaged weights.
    """
    need(*EXTRAS["hub"])
    import torch

    on_gpu = base not in PACKAGED and torch.cuda.is_available()
    dtype = torch.bfloat16 if on_gpu else torch.float32
    encoder = _load_encoder(base, locate_model(base, cache_dir), dtype, n_labels)
    return encoder.to("cuda") if on_gpu else encoder


def _load_encoder(name: str, source: str, dtype: torch.dtype, n_labels: int) -> PairEncoder:
    from transformers import AutoConfig, AutoModel, AutoTokenizer
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    from ragassay.models.cross_encoder import READ, BidirectionalEncoder, CausalEncoder
    from ragassay.models.layers import load_minilm

    with guard_loading(name):
        config: Any = AutoConfig.from_pretrained(source, trust_remote_code=False)
    if config.is_encoder_decoder or not hasattr(config, "num_hidden_layers"):
        raise SettingsError(f"{name} cannot be a cross-encoder; pass a text encoder or decoder")
    with guard_loading(name):
        reads_both_ways = config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES
        options = {} if reads_both_ways else _lower_layers(config, READ)
        if name == MINILM:
            base = load_minilm()
        else:
            base = AutoModel.from_pretrained(
                source, dtype=dtype, **options, trust_remote_code=False
            )
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    kind = BidirectionalEncoder if reads_both_ways else CausalEncoder
    return kind(base, tokenizer, name, PACKAGED.get(name, ""), n_labels)


def _lower_layers(config: Any, share: float) -> dict[str, Any]:
    n_layers = max(1, round(share * config.num_hidden_layers))
    kinds = getattr(config, "layer_types", None)
    return {"num_hidden_layers": n_layers} | ({"layer_types": kinds[:n_layers]} if kinds else {})
