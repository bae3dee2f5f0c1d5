"""Verifiers that generate a label: FLAN-T5, AttrScore, TRUE and LLaMA (BioACE, section 4.2)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS, Pair
from ragassay.models.hosting import run_on_host
from ragassay.models.local_readers import Prompt, Text2Text, fit_prompt
from ragassay.models.weights import (
    LazyModel,
    choose_gpu_dtype,
    hash_folder,
    load_pretrained,
    read_config,
)
from ragassay.prompts.model_forms import WriterKind, hash_verifier_kinds
from ragassay.records import Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CausalText:
    """Causal language model, loaded on first use.

    The model runs in bfloat16 on a GPU. Thread-safe.
    """

    def __init__(self, name: str, n_tokens: int) -> None:
        self.name, self._n_tokens = name, n_tokens
        self.made_of = (name, n_tokens)
        self.model = LazyModel(
            lambda: load_pretrained("AutoModelForCausalLM", name, choose_gpu_dtype())
        )

    @run_on_host
    def predict_word_shares(
        self, prompts: Sequence[Prompt], words: Sequence[str]
    ) -> NDArray[np.float64]:
        """Return the probability that the reply starts with each word.

        The result has shape (n_prompts, n_words). Rows may sum to less than 1, because replies can
        start with other words.
        """
        import numpy as np

        rows: list[list[float]] = []
        with self.model.lend() as (tokenizer, model):
            for prompt in prompts:
                text = fit_prompt(tokenizer, prompt, self._n_tokens)
                rows.append([_compute_share(tokenizer, model, text, word) for word in words])
        return np.array(rows).reshape(len(prompts), len(words))


def _compute_share(tokenizer: Any, model: Any, prompt: str, word: str) -> float:
    import torch

    prefix, continuation = _tokenize_prompt(tokenizer, prompt, word)
    tokens = torch.tensor([[*prefix, *continuation]], device=model.device)
    logs = model(input_ids=tokens).logits[0].float().log_softmax(-1)
    positions = torch.arange(len(prefix) - 1, len(tokens[0]) - 1)
    return float(logs[positions, torch.tensor(continuation)].sum().exp())


def _tokenize_prompt(tokenizer: Any, prompt: str, word: str) -> tuple[list[int], list[int]]:
    """Return the tokens of a prompt and of the word that follows it.

    The word is tokenized together with the prompt, unless that changes the tokens of the prompt.
    """

    def encode_text(text: str, special: bool) -> list[int]:
        # Evaluated text is plain text, even if it contains one of the model's special tokens.
        return tokenizer(text, add_special_tokens=special, split_special_tokens=True).input_ids

    prefix, full = encode_text(prompt, True), encode_text(f"{prompt}{word}", True)
    keeps_prefix = full[: len(prefix)] == prefix
    return prefix, full[len(prefix) :] if keeps_prefix else encode_text(word, False)


LEAST_MASS = 0.5
"""Minimum total probability of the labels.

If the total is lower, the model would probably reply with other text, so there is no verdict.
"""

_COLUMN: dict[Verdict, int] = {
    "supports": SUPPORTS,
    "contradicts": CONTRADICTS,
    "neutral": NEUTRAL,
    "not_attributable": NEUTRAL,
}


Writer = CausalText | Text2Text


class WrittenLabels:
    """Verifier that computes label probabilities from a model that generates labels.

    BioACE parses the label from the generated text. In ragassay, the probability of a label is the
    probability that the reply starts with the label's words, divided by the sum over all labels.

    Args:
        n_labels: Number of labels: 2, or 3 if the model can generate 3 labels.
    """

    bounds = ()
    reads_whole = True

    def __init__(self, model: Writer, kind: WriterKind, n_labels: int = 3) -> None:
        self.name = model.name
        self._model, self._prompt = model, kind.choose_prompt(n_labels)
        self.n_labels = len(self._prompt.words)
        parts = (hash_folder(model.name), hash_verifier_kinds(), str(self.n_labels))
        self.digest = hashlib.sha256(" ".join(parts).encode()).hexdigest()

    def predict_probabilities(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Return the probabilities of support, contradiction and neutrality.

        Rows are nan if the model would most likely reply with something other than a label.
        """
        import numpy as np

        prompts: list[Prompt] = []
        for claim, passage in pairs:
            before, after = self._prompt.fill_prompt(claim)
            prompts.append((before, " ".join(passage.split()), after))
        words = [(word, _COLUMN[label]) for label, w in self._prompt.words.items() for word in w]
        word_shares = self._model.predict_word_shares(prompts, [word for word, _ in words])
        found = word_shares @ np.eye(3)[[column for _, column in words]]
        mass = found.sum(axis=1, keepdims=True)
        return np.where(mass >= LEAST_MASS, found / np.maximum(mass, LEAST_MASS), np.nan)


def open_writer(name: str, kind: WriterKind) -> Writer:
    """Open a model by Hugging Face id or folder without loading its weights, or raise `OSError`."""
    if getattr(read_config(name), "is_encoder_decoder", False):
        return Text2Text(name, kind.n_tokens, is_halved=True)
    return CausalText(name, kind.n_tokens)
