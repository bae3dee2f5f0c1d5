"""Models that say whether a passage bears out a claim: pairs of texts in, probabilities out.

The embedded one is all-MiniLM-L6-v2, read as a cross-encoder, with a low-rank adapter that is
shipped in the package. Any sequence classifier of natural language inference on Hugging Face's hub
takes its place by its name.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ragassay.errors import SettingsError
from ragassay.models.quiet import quiet_loading

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragassay.models.cross_encoder import CrossEncoder

EMBEDDED = "embedded"
"""Names the verifier that is installed with ragassay."""

SUPPORTS, CONTRADICTS, NEUTRAL = 0, 1, 2
"""Columns of the probabilities."""

N_SENTENCES = 4
"""Sentences of a passage that the embedded verifier was trained to read: of a longer one those
closest to the claim are to be chosen."""

Pair = tuple[str, str]
"""A claim and the passage that it is compared with."""

_WORDS = {
    SUPPORTS: ("entail", "support"),
    CONTRADICTS: ("contradict", "refute"),
    NEUTRAL: ("neutral", "not_enough", "not enough", "nei"),
}


class EntailmentModel(Protocol):
    """What a claim and a passage can be compared with."""

    name: str
    """As reports name it."""

    digest: str
    """SHA-256 of its weights where they are known; else empty."""

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Probabilities that the passage supports, contradicts or leaves open the claim.

        Returns:
            shape (n_pairs, 3), rows summing to 1.
        """
        ...


class EmbeddedVerifier:
    """The verifier that is installed with ragassay; loaded at the first call, safe across threads.

    Its card says what it was trained on and how it does on data that it has not seen.
    """

    def __init__(self) -> None:
        from ragassay.models.adapters import VERIFIER, adapter_digest

        self.name = VERIFIER.model
        self.digest = adapter_digest(VERIFIER)
        self._adapter = VERIFIER
        self._encoder: CrossEncoder | None = None
        self._lock = threading.Lock()

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Probabilities that the passage supports, contradicts or leaves open the claim."""
        with self._lock:
            if self._encoder is None:
                from ragassay.models.cross_encoder import CrossEncoder

                self._encoder = CrossEncoder.load(self._adapter)
        return self._encoder.probabilities(pairs)


class NliModel:
    """A classifier of natural language inference; its weights are loaded at the first call.

    Args:
        name: On the hub, or a folder.

    Raises:
        OSError: It cannot be had.
        SettingsError: It has no label for what follows from a text.
    """

    def __init__(self, name: str) -> None:
        from transformers import AutoConfig

        with quiet_loading():
            config: Any = AutoConfig.from_pretrained(name)
        labels: Mapping[int, str] = config.id2label
        self.name, self.digest = name, ""
        self._columns = entailment_columns(labels)
        if SUPPORTS not in self._columns.values():
            raise SettingsError(
                f"{name} has the labels {', '.join(labels.values())}: none of them says that a "
                "text supports a claim, so it is no model of natural language inference"
            )
        self._loaded: tuple[Any, Any] | None = None
        self._lock = threading.Lock()

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Probabilities that the passage supports, contradicts or leaves open the claim."""
        import numpy as np
        import torch

        found = np.zeros((len(pairs), 3))
        with self._lock, torch.inference_mode():
            tokenizer, model = self._load()
            for row, (claim, passage) in enumerate(pairs):
                # The passage is the premise: it comes first.
                tokens = tokenizer(passage, claim, truncation="only_first", return_tensors="pt")
                shares = model(**tokens).logits[0].softmax(-1).tolist()
                for column, share in enumerate(shares):
                    found[row, self._columns.get(column, NEUTRAL)] += share
        return found

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            from transformers import AutoModelForSequenceClassification, AutoTokenizer

            with quiet_loading():
                model = AutoModelForSequenceClassification.from_pretrained(self.name).eval()
                self._loaded = AutoTokenizer.from_pretrained(self.name), model
        return self._loaded


@functools.cache
def _embedded() -> EmbeddedVerifier:
    """One for the process: verdicts and correctness share its weights."""
    return EmbeddedVerifier()


class Remembered:
    """A model that is asked once about a pair: what is damaged or rewritten shares most sentences.

    Args:
        model: The model.
        n_kept: Pairs that are kept, the latest.
    """

    def __init__(self, model: EntailmentModel, n_kept: int = 4096) -> None:
        self.name, self.digest = model.name, model.digest
        self._model, self._n_kept = model, n_kept
        self._known: OrderedDict[Pair, NDArray[np.float64]] = OrderedDict()
        self._lock = threading.Lock()

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """As the model's, shape (n_pairs, 3)."""
        import numpy as np

        with self._lock:
            found = {pair: self._known.get(pair) for pair in pairs}
        new = [pair for pair, shares in found.items() if shares is None]
        if new:
            found.update(zip(new, self._model.probabilities(new), strict=True))
        with self._lock:
            for pair, shares in found.items():
                if shares is not None:
                    self._known[pair] = shares
                    self._known.move_to_end(pair)
            while len(self._known) > self._n_kept:
                self._known.popitem(last=False)
        return np.array([found[pair] for pair in pairs]).reshape(len(pairs), 3)


class StandIn:
    """The embedded verifier in place of a model that could not be had; its name says so."""

    def __init__(self, wanted: str) -> None:
        self._verifier = _embedded()
        self.name = f"{self._verifier.name} in place of {wanted}"
        self.digest = self._verifier.digest

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Probabilities that the passage supports, contradicts or leaves open the claim."""
        return self._verifier.probabilities(pairs)


def entailment_model(name: str) -> EntailmentModel:
    """The model of a setting: `EMBEDDED`, or a name on the hub.

    Where a model cannot be had, the embedded verifier stands in for it and is named as such.

    Raises:
        SettingsError: The model is none of natural language inference.
    """
    if name == EMBEDDED:
        return _embedded()
    try:
        return NliModel(name)
    except OSError:
        return StandIn(name)


def entailment_columns(labels: Mapping[int, str]) -> dict[int, int]:
    """Which of a classifier's outputs means what, by the names of its labels.

    Example:
        >>> entailment_columns({0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"})
        {0: 1, 1: 2, 2: 0}
    """
    found: dict[int, int] = {}
    for column, label in labels.items():
        text = label.lower()
        # "not_entailment" names what does not follow.
        negated = text.startswith(("not", "non"))
        meant = [c for c, words in _WORDS.items() if any(word in text for word in words)]
        if meant:
            found[int(column)] = NEUTRAL if negated else meant[0]
    return found


def titled(title: str, text: str) -> str:
    """A passage as a model sees it: with the title of its document, where it has one."""
    return f"{title}. {text}" if title else text
