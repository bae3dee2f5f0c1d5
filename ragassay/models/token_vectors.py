"""Embed each token of a text in context, for BERTScore and the transport measures.

YESciEval uses SPECTER2 and SciBERT; any encoder that transformers can load may be named, and
all-MiniLM-L6-v2 needs no download.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.extras import EXTRAS, need
from ragassay.model_names import MINILM
from ragassay.models.weights import MINILM_SAFETENSORS_SHA256, loading, minilm_folder, quiet_loading

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from transformers import BatchEncoding, PreTrainedModel, PreTrainedTokenizerBase

MOST_TOKENS = 512
"""Longest input of a model that does not state its limit."""

_BATCH = 16
"""Texts encoded at a time: with long answers, larger batches are slower."""

_WORD_BATCH = 256
"""Single words encoded at a time."""


@dataclass(frozen=True)
class TokenCloud:
    """The tokens of a text, without the model's special ones.

    Attributes:
        vectors: Each of length 1, shape (n_tokens, n_dimensions), of the model's last layer.
        is_word: Whether a token has a letter or a digit, shape (n_tokens,).
        is_start: Whether a token is the first piece of its word, shape (n_tokens,).
        n_cut: Tokens beyond the model's longest input, which are left out.
    """

    ids: tuple[int, ...]
    vectors: NDArray[np.float32]
    is_word: NDArray[np.bool_]
    is_start: NDArray[np.bool_]
    n_cut: int = 0

    def select(self, where: NDArray[np.bool_]) -> TokenCloud:
        """Return only these tokens; `where` has shape (n_tokens,)."""
        ids = tuple(token for token, keep in zip(self.ids, where, strict=True) if keep)
        return TokenCloud(
            ids, self.vectors[where], self.is_word[where], self.is_start[where], self.n_cut
        )


class TokenEncoder:
    """Turns texts into clouds of token vectors. Loads its model at the first call.

    Args:
        model: `MINILM`, or an encoder's name on Hugging Face's hub, or its folder.

    Raises:
        ExtraError: What loads it is not installed; the packaged one needs it here too.
    """

    def __init__(self, model: str = MINILM) -> None:
        need(*EXTRAS["hub"])
        self.name = model
        self.digest = MINILM_SAFETENSORS_SHA256 if model == MINILM else ""
        self._loaded: tuple[PreTrainedModel, PreTrainedTokenizerBase] | None = None

    def encode(self, texts: Sequence[str]) -> list[TokenCloud]:
        """Return the cloud of each text; empty for a text without a word.

        Raises:
            SettingsError: The model is unavailable.
        """
        return [self._cloud(text) for text in texts]

    def encode_alone(self, words: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vector of each word read by itself: the last layer's at the first position.

        That is [CLS] in a BERT. YESciEval's program made its vectors so, from words in lower case.

        Returns:
            By word, shape (n_dimensions,), of any length.

        Raises:
            SettingsError: The model is unavailable.
        """
        import torch

        model, tokenizer = self._model()
        distinct = list(dict.fromkeys(words))
        found: dict[str, NDArray[np.float32]] = {}
        for start in range(0, len(distinct), _WORD_BATCH):
            part = distinct[start : start + _WORD_BATCH]
            with quiet_loading():
                batch = _pad_words(tokenizer, part)
            with torch.inference_mode():
                states = model(**batch).last_hidden_state[:, 0].float().numpy()
            found |= dict(zip(part, states, strict=True))
        return found

    def bertscore_f1(
        self, references: Sequence[str], candidates: Sequence[str]
    ) -> list[float | None]:
        """Return BERTScore's F1 (Zhang et al. 2020) by bert-score, of the model's last layer.

        Without rarity weights and without rescaling, as is the package's default.

        Returns:
            In [-1, 1], 1 for equal texts, higher is more alike; None where a text has no word.

        Raises:
            SettingsError: The model is unavailable.
            ExtraError: bert-score is not installed.
        """
        pairs = list(zip(references, candidates, strict=True))
        having = [i for i, (one, two) in enumerate(pairs) if one.split() and two.split()]
        found: list[float | None] = [None] * len(pairs)
        if not having:
            return found
        need("bert_score")
        from bert_score.utils import bert_cos_score_idf

        model, tokenizer = self._model()
        weights: defaultdict[int, float] = defaultdict(lambda: 1.0)
        for token in (tokenizer.cls_token_id, tokenizer.sep_token_id):
            if isinstance(token, int):
                weights[token] = 0.0
        chosen = [pairs[i] for i in having]
        scores = bert_cos_score_idf(
            model,
            [one for one, _ in chosen],
            [two for _, two in chosen],
            tokenizer,
            weights,
            batch_size=_BATCH,
            device="cpu",
        )
        for i, score in zip(having, scores[:, 2].tolist(), strict=True):
            found[i] = float(score)
        return found

    def _model(self) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        if self._loaded is None:
            from transformers import AutoModel, AutoTokenizer

            from ragassay.models.layers import load_minilm

            source = str(minilm_folder()) if self.name == MINILM else self.name
            with loading(self.name):
                tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
                if self.name == MINILM:
                    model = load_minilm()
                else:
                    model = AutoModel.from_pretrained(source, trust_remote_code=False).eval()
            if tokenizer.model_max_length > 1_000_000:
                known = getattr(model.config, "max_position_embeddings", MOST_TOKENS)
                # A tokenizer published without a limit; RoBERTa's positions start at 2.
                tokenizer.model_max_length = min(MOST_TOKENS, known)
            self._loaded = model, tokenizer
        return self._loaded

    def _cloud(self, text: str) -> TokenCloud:
        import numpy as np
        import torch

        model, tokenizer = self._model()
        with quiet_loading():
            n_tokens = len(tokenizer(text, add_special_tokens=False)["input_ids"])
        batch = tokenizer(text, truncation=True, return_tensors="pt")
        with torch.inference_mode():
            states = model(**batch).last_hidden_state[0]
        vectors = torch.nn.functional.normalize(states.float(), dim=-1).numpy()
        ids, words = batch["input_ids"][0].tolist(), batch.word_ids(0)
        kept = np.array([word is not None for word in words], dtype=bool)
        pieces = tokenizer.convert_ids_to_tokens(ids)
        return TokenCloud(
            ids=tuple(ids),
            vectors=vectors,
            is_word=np.array([_has_letter(piece) for piece in pieces], dtype=bool),
            is_start=np.array([i == 0 or words[i - 1] != w for i, w in enumerate(words)]),
            n_cut=max(0, n_tokens - int(kept.sum())),
        ).select(kept)


def _pad_words(tokenizer: PreTrainedTokenizerBase, words: Sequence[str]) -> BatchEncoding:
    """Return words as a batch, padded at the end, whatever the tokenizer pads with."""
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer(
        list(words), truncation=True, padding=True, padding_side="right", return_tensors="pt"
    )


def _has_letter(piece: str) -> bool:
    return any(unicodedata.category(character)[0] in "LN" for character in piece)
