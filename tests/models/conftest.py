"""A tiny random model with grouped-query attention, and a plain one with the same weights."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from ragassay.models.local.engine import Engine

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator(["the migraine trial of the drug and the placebo"] * 3, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|im_end|>")
    fast.chat_template = TEMPLATE
    return fast


def tiny_model(n_vocab: int) -> LlamaForCausalLM:
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=n_vocab,
        hidden_size=48,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        initializer_range=0.3,
        bos_token_id=None,
        eos_token_id=1,
    )
    return LlamaForCausalLM(config).eval()


@dataclass
class Plain:
    """The same weights under transformers' own attention and cache."""

    model: LlamaForCausalLM

    @torch.inference_mode()
    def greedy(self, tokens: list[int], n: int) -> list[int]:
        ids = torch.tensor([tokens])
        out = self.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=n,
            do_sample=False,
            pad_token_id=0,
        )
        return out[0, len(tokens) :].tolist()

    @torch.inference_mode()
    def logits(self, tokens: list[int]) -> torch.Tensor:
        """Shape (n_tokens, n_vocab)."""
        return self.model(torch.tensor([tokens])).logits[0]


@pytest.fixture(scope="session")
def plain(tokenizer: PreTrainedTokenizerFast) -> Plain:
    return Plain(tiny_model(len(tokenizer)))


@pytest.fixture
def engine(tokenizer: PreTrainedTokenizerFast) -> Engine:
    return Engine(tiny_model(len(tokenizer)), tokenizer)
