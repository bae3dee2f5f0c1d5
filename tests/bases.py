"""Tiny random base models in folders, in the layout of the hub."""

from __future__ import annotations

from pathlib import Path

from lazy import LazyModule
from tiny_llama import tiny_model, tiny_tokenizer
from tokenizers.processors import TemplateProcessing

torch = LazyModule("torch")
transformers = LazyModule("transformers")

ARCHITECTURES = ("llama", "qwen3", "bert")
SIZES = {
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
}


def save_base(folder: Path, architecture: str, start: str = "") -> str:
    """Write a three-layer model with its tokenizer, and return its name.

    Args:
        folder: Folder to create.
        architecture: One of `ARCHITECTURES`.
        start: Token that the tokenizer prepends to every text.
    """
    tokenizer = tiny_tokenizer()
    if start:
        known = [(start, tokenizer.convert_tokens_to_ids(start))]
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
            single=f"{start} $A", special_tokens=known
        )
    n_vocab = len(tokenizer)
    torch.manual_seed(5)
    if architecture == "bert":
        model = transformers.BertModel(transformers.BertConfig(vocab_size=n_vocab, **SIZES))
    elif architecture == "qwen3":
        model = transformers.Qwen3ForCausalLM(
            transformers.Qwen3Config(vocab_size=n_vocab, head_dim=8, num_key_value_heads=2, **SIZES)
        )
    else:
        model = tiny_model(n_vocab)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
