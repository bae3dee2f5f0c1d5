"""Verify by models that write a label: FLAN-T5, AttrScore, TRUE, LLaMA (BioACE, 4.2)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS, Pair
from ragassay.models.hosting import computed_by_host
from ragassay.models.local_readers import Prompt, Text2Text, fit_prompt
from ragassay.models.weights import (
    LazyModel,
    folder_digest,
    half_on_gpu,
    load_pretrained,
    read_config,
)
from ragassay.prompts.model_forms import WriterKind, verifier_kinds_sha256
from ragassay.records import Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CausalText:
    """A language model of transformers; loaded at the first call, safe across threads.

    It computes in bfloat16 on the GPU where there is one, else in single precision.
    """

    def __init__(self, name: str, n_tokens: int) -> None:
        self.name, self._n_tokens = name, n_tokens
        self.made_of = (name, n_tokens)
        self.model = LazyModel(lambda: load_pretrained("AutoModelForCausalLM", name, half_on_gpu()))

    @computed_by_host
    def shares(self, prompts: Sequence[Prompt], words: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability that a reply starts with a word, shape (n_prompts, n_words).

        A row sums to less than 1 where the model would rather say something else.

        Raises:
            SettingsError: The model is unavailable.
        """
        import numpy as np

        rows: list[list[float]] = []
        with self.model.lend() as (tokenizer, model):
            for prompt in prompts:
                text = fit_prompt(tokenizer, prompt, self._n_tokens)
                rows.append([_share(tokenizer, model, text, word) for word in words])
        return np.array(rows).reshape(len(prompts), len(words))


def _share(tokenizer: Any, model: Any, prompt: str, word: str) -> float:
    """Return the probability of a word behind a prompt, all of its tokens together."""
    import torch

    before, told = _tokens(tokenizer, prompt, word)
    tokens = torch.tensor([[*before, *told]], device=model.device)
    logs = model(input_ids=tokens).logits[0].float().log_softmax(-1)
    places = torch.arange(len(before) - 1, len(before) + len(told) - 1)
    return float(logs[places, torch.tensor(told)].sum().exp())


def _tokens(tokenizer: Any, prompt: str, word: str) -> tuple[list[int], list[int]]:
    """Return the tokens of a prompt and of a word behind it, cut where they are when written."""

    def ids(text: str, special: bool) -> list[int]:
        # Judged text is plain text, even where it spells one of the model's own marks.
        return tokenizer(text, add_special_tokens=special, split_special_tokens=True).input_ids

    before, whole = ids(prompt, True), ids(f"{prompt}{word}", True)
    is_cut = whole[: len(before)] == before
    return before, whole[len(before) :] if is_cut else ids(word, False)


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
        word_shares = self._model.shares(prompts, [word for word, _ in words])
        found = word_shares @ np.eye(3)[[column for _, column in words]]
        mass = found.sum(axis=1, keepdims=True)
        return np.where(mass >= LEAST_MASS, found / np.maximum(mass, LEAST_MASS), np.nan)


def open_writer(name: str, kind: WriterKind) -> Writer:
    """Return the model of a name on the hub, or of a folder; no weights are loaded yet.

    Raises:
        OSError: It is unavailable.
    """
    if getattr(read_config(name), "is_encoder_decoder", False):
        return Text2Text(name, kind.n_tokens, is_halved=True)
    return CausalText(name, kind.n_tokens)
