"""Contextual token embeddings for BERTScore and optimal transport metrics.

YESciEval uses SPECTER2 and SciBERT. Any transformers encoder can be used. all-MiniLM-L6-v2 needs no
download.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.extras import EXTRAS, need
from ragassay.model_names import MINILM
from ragassay.models.weights import (
    MINILM_SAFETENSORS_SHA256,
    guard_loading,
    locate_minilm,
    silence_transformers,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from transformers import BatchEncoding, PreTrainedModel, PreTrainedTokenizerBase

MOST_TOKENS = 512
"""Maximum input length of models that do not state a limit."""

_BATCH = 16
"""Number of texts per batch. Larger batches are slower for long answers."""

_WORD_BATCH = 256


@dataclass(frozen=True)
class TokenCloud:
    """Token embeddings of a text, without special tokens.

    Attributes:
        vectors: Unit vectors from the last layer, shape (n_tokens, n_dimensions).
        is_word: Whether each token contains a letter or a digit, shape (n_tokens,).
        is_start: Whether each token starts a word, shape (n_tokens,).
        n_cut: Number of tokens cut off at the model's maximum input length.
    """

    ids: tuple[int, ...]
    vectors: NDArray[np.float32]
    is_word: NDArray[np.bool_]
    is_start: NDArray[np.bool_]
    n_cut: int = 0

    def select(self, mask: NDArray[np.bool_]) -> TokenCloud:
        """Return the tokens selected by a mask of shape (n_tokens,)."""
        ids = tuple(token for token, keep in zip(self.ids, mask, strict=True) if keep)
        return TokenCloud(
            ids, self.vectors[mask], self.is_word[mask], self.is_start[mask], self.n_cut
        )


class TokenEncoder:
    """Encoder of texts as token embeddings, loaded on first use.

    The `hub` extra must be installed.
    """

    def __init__(self, model: str = MINILM) -> None:
        need(*EXTRAS["hub"])
        self.name = model
        self.digest = MINILM_SAFETENSORS_SHA256 if model == MINILM else ""
        self._loaded: tuple[PreTrainedModel, PreTrainedTokenizerBase] | None = None

    def encode(self, texts: Sequence[str]) -> list[TokenCloud]:
        """Return the token embeddings of each text. Texts without words have no tokens."""
        return [self._compute_cloud(text) for text in texts]

    def encode_alone(self, words: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Embed each word without context, by the last layer's output at the first position.

        For BERT models, this output is the [CLS] vector. YESciEval's code embeds lowercase words in
        the same way.

        Returns:
            Vectors keyed by word, shape (n_dimensions,), not normalized.
        """
        import torch

        model, tokenizer = self._load_model()
        distinct = list(dict.fromkeys(words))
        found: dict[str, NDArray[np.float32]] = {}
        for start in range(0, len(distinct), _WORD_BATCH):
            part = distinct[start : start + _WORD_BATCH]
            with silence_transformers():
                batch = _pad_words(tokenizer, part)
            with torch.inference_mode():
                states = model(**batch).last_hidden_state[:, 0].float().numpy()
            found |= dict(zip(part, states, strict=True))
        return found

    def bertscore_f1(
        self, references: Sequence[str], candidates: Sequence[str]
    ) -> list[float | None]:
        """Return BERTScore F1 (Zhang et al. 2020), computed by bert-score from the last layer.

        IDF weights and baseline rescaling are off, as is the default in bert-score.

        Returns:
            Scores in [-1, 1], or None if a text has no words. Higher scores mean more similar
            texts.

        Raises:
            SettingsError: The model is unavailable.
            ExtraError: bert-score is not installed.
        """
        pairs = list(zip(references, candidates, strict=True))
        indices = [i for i, (ref, cand) in enumerate(pairs) if ref.split() and cand.split()]
        found: list[float | None] = [None] * len(pairs)
        if not indices:
            return found
        need("bert_score")
        from bert_score.utils import bert_cos_score_idf

        model, tokenizer = self._load_model()
        weights: defaultdict[int, float] = defaultdict(lambda: 1.0)
        for token in (tokenizer.cls_token_id, tokenizer.sep_token_id):
            if isinstance(token, int):
                weights[token] = 0.0
        scores = bert_cos_score_idf(
            model,
            [references[i] for i in indices],
            [candidates[i] for i in indices],
            tokenizer,
            weights,
            batch_size=_BATCH,
            device="cpu",
        )
        for i, score in zip(indices, scores[:, 2].tolist(), strict=True):
            found[i] = float(score)
        return found

    def _load_model(self) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        if self._loaded is None:
            from transformers import AutoModel, AutoTokenizer

            from ragassay.models.layers import load_minilm

            source = str(locate_minilm()) if self.name == MINILM else self.name
            with guard_loading(self.name):
                tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
                if self.name == MINILM:
                    model = load_minilm()
                else:
                    model = AutoModel.from_pretrained(source, trust_remote_code=False).eval()
            if tokenizer.model_max_length > 1_000_000:
                limit = getattr(model.config, "max_position_embeddings", MOST_TOKENS)
                # The tokenizer has no limit. MOST_TOKENS is safe for RoBERTa's position offset.
                tokenizer.model_max_length = min(MOST_TOKENS, limit)
            self._loaded = model, tokenizer
        return self._loaded

    def _compute_cloud(self, text: str) -> TokenCloud:
        import numpy as np
        import torch

        model, tokenizer = self._load_model()
        with silence_transformers():
            n_tokens = len(tokenizer(text, add_special_tokens=False)["input_ids"])
        batch = tokenizer(text, truncation=True, return_tensors="pt")
        with torch.inference_mode():
            states = model(**batch).last_hidden_state[0]
        vectors = torch.nn.functional.normalize(states.float(), dim=-1).numpy()
        ids, words = batch["input_ids"][0].tolist(), batch.word_ids(0)
        in_text = np.array([word is not None for word in words], dtype=bool)
        pieces = tokenizer.convert_ids_to_tokens(ids)
        return TokenCloud(
            ids=tuple(ids),
            vectors=vectors,
            is_word=np.array([_has_letter(piece) for piece in pieces], dtype=bool),
            is_start=np.array([i == 0 or words[i - 1] != w for i, w in enumerate(words)]),
            n_cut=max(0, n_tokens - int(in_text.sum())),
        ).select(in_text)


def _pad_words(tokenizer: PreTrainedTokenizerBase, words: Sequence[str]) -> BatchEncoding:
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer(
        list(words), truncation=True, padding=True, padding_side="right", return_tensors="pt"
    )


def _has_letter(piece: str) -> bool:
    return any(unicodedata.category(character)[0] in "LN" for character in piece)
