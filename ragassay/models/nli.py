"""Use sequence classifiers of natural language inference from Hugging Face's hub."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragassay.errors import SettingsError
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS, Pair
from ragassay.models.hosting import computed_by_host
from ragassay.models.hub import check_hub, loading
from ragassay.models.quiet import quiet_loading

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORDS = {
    SUPPORTS: ("entail", "support"),
    CONTRADICTS: ("contradict", "refute"),
    NEUTRAL: ("neutral", "not_enough", "not enough", "nei"),
}


class NliModel:
    """A classifier of natural language inference; its weights are loaded at the first call.

    Args:
        name: A name on the hub, or a folder.

    Raises:
        OSError: It is unavailable.
        SettingsError: It has no label for entailment.
    """

    bounds = ()

    def __init__(self, name: str) -> None:
        from transformers import AutoConfig

        check_hub(name)
        with quiet_loading():
            config: Any = AutoConfig.from_pretrained(name, trust_remote_code=False)
        labels: Mapping[int, str] = config.id2label
        self.name, self.digest, self.made_of = name, "", (name,)
        self._columns = entailment_columns(labels)
        if SUPPORTS not in self._columns.values():
            raise SettingsError(
                f"{name} has the labels {', '.join(labels.values())}: none of them says that a "
                "text supports a claim, so it is not a model of natural language inference"
            )
        self._loaded: tuple[Any, Any] | None = None
        self._lock = threading.Lock()

    @computed_by_host
    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return probabilities that the passage supports, contradicts or leaves open the claim."""
        import numpy as np
        import torch

        found = np.zeros((len(pairs), 3))
        with self._lock, torch.inference_mode():
            tokenizer, model = self._load()
            for row, (claim, passage) in enumerate(pairs):
                # The passage is the premise: it comes first. One without a title opens a line.
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

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            import torch
            from transformers import AutoModelForSequenceClassification, AutoTokenizer

            with loading(self.name):
                model = AutoModelForSequenceClassification.from_pretrained(
                    self.name, trust_remote_code=False
                ).eval()
                tokenizer = AutoTokenizer.from_pretrained(self.name, trust_remote_code=False)
            self._loaded = tokenizer, model.to("cuda" if torch.cuda.is_available() else "cpu")
        return self._loaded


def entailment_columns(labels: Mapping[int, str]) -> dict[int, int]:
    """Return which of a classifier's outputs means what, by the names of its labels.

    Example:
        >>> entailment_columns({0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"})
        {0: 1, 1: 2, 2: 0}
    """
    found: dict[int, int] = {}
    for column, label in labels.items():
        text = label.lower()
        # "not_entailment" is the opposite.
        negated = text.startswith(("not", "non"))
        meant = [c for c, words in _WORDS.items() if any(word in text for word in words)]
        if meant:
            found[int(column)] = NEUTRAL if negated else meant[0]
    return found
