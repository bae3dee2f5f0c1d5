"""A tiny random model, and a plain one with the same weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest
from lazy import LazyModule
from tiny_llama import tiny_model, tiny_tokenizer

from ragassay.models.local.engine import Engine

torch = LazyModule("torch")
transformers = LazyModule("transformers")


@pytest.fixture(scope="session")
def tokenizer() -> transformers.PreTrainedTokenizerFast:
    return tiny_tokenizer()


@dataclass(eq=False)
class Plain:
    """The same weights under transformers' own attention and cache, which many tests ask alike."""

    model: transformers.LlamaForCausalLM

    @cache  # noqa: B019 - one for the session
    def greedy(self, tokens: tuple[int, ...], n: int) -> list[int]:
        with torch.inference_mode():
            ids = torch.tensor([tokens])
            out = self.model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=n,
                do_sample=False,
                pad_token_id=0,
            )
            return out[0, len(tokens) :].tolist()

    @cache  # noqa: B019
    def logits(self, tokens: tuple[int, ...]) -> torch.Tensor:
        """Shape (n_tokens, n_vocab)."""
        with torch.inference_mode():
            return self.model(torch.tensor([tokens])).logits[0]


@pytest.fixture(scope="session")
def plain(tokenizer: transformers.PreTrainedTokenizerFast) -> Plain:
    return Plain(tiny_model(len(tokenizer)))


@pytest.fixture
def engine(tokenizer: transformers.PreTrainedTokenizerFast) -> Engine:
    return Engine(tiny_model(len(tokenizer)), tokenizer)
