"""Verify by models that write a label: FLAN-T5, FLAN-UL2, AttrScore, TRUE (BioACE, section 4.2)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from ragassay.models.causal_text import CausalText
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS, Pair
from ragassay.models.hub import folder_digest
from ragassay.models.text2text import Prompt, Text2Text
from ragassay.prompts.verifiers import WriterKind, verifier_kinds_sha256
from ragassay.records import Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST_MASS = 0.5
"""Share of all replies that the labels' must have. Below, the model would say something else, and
what it says of the labels is no verdict."""

_COLUMN: dict[Verdict, int] = {
    "supports": SUPPORTS,
    "contradicts": CONTRADICTS,
    "neutral": NEUTRAL,
    "not_attributable": NEUTRAL,
}


class Writer(Protocol):
    """A model that replies to prompts."""

    name: str

    def shares(self, prompts: Sequence[Prompt], words: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability that a reply starts with a word, shape (n_prompts, n_words)."""
        ...


class WrittenLabels:
    """A model that writes a label, asked for the probabilities of all labels instead.

    BioACE takes the label from the text that the model writes. Here a label's probability is that
    of its words as the start of the reply, divided by that of all labels.

    Args:
        model: The model.
        kind: What it is asked, from the table of verifiers.
        n_labels: How many labels are wanted: 2, or 3 where the kind knows as many.
    """

    bounds = ()
    reads_whole = True

    def __init__(self, model: Writer, kind: WriterKind, n_labels: int = 3) -> None:
        self.name = model.name
        self._model, self._prompt = model, kind.prompt_for(n_labels)
        self.n_labels = len(self._prompt.words)
        parts = (folder_digest(model.name), verifier_kinds_sha256(), str(self.n_labels))
        self.digest = hashlib.sha256(" ".join(parts).encode()).hexdigest()

    def probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return probabilities that the passage supports, contradicts or leaves open the claim.

        A row of nan where the likeliest replies are no labels.
        """
        import numpy as np

        prompts: list[Prompt] = []
        for claim, passage in pairs:
            before, after = self._prompt.around(claim)
            prompts.append((before, " ".join(passage.split()), after))
        words = [(word, _COLUMN[label]) for label, w in self._prompt.words.items() for word in w]
        said = self._model.shares(prompts, [word for word, _ in words])
        found = said @ np.eye(3)[[column for _, column in words]]
        mass = found.sum(axis=1, keepdims=True)
        return np.where(mass >= LEAST_MASS, found / np.maximum(mass, LEAST_MASS), np.nan)


def open_writer(name: str, kind: WriterKind) -> Writer:
    """Return the model of a name on the hub, or of a folder; no weights are loaded yet.

    Raises:
        OSError: It is unavailable.
    """
    from transformers import AutoConfig

    from ragassay.models.quiet import quiet_loading

    with quiet_loading():
        config = AutoConfig.from_pretrained(name, trust_remote_code=False)
    if getattr(config, "is_encoder_decoder", False):
        return Text2Text(name, kind.n_tokens, is_halved=True)
    return CausalText(name, kind.n_tokens)
