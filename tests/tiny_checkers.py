"""Tiny models with the architectures of published fact checkers and deterministic weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lazy import LazyModule
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

torch = LazyModule("torch")
transformers = LazyModule("transformers")

CHECKED_TEXT = (
    "Brelozant lowers pressure in adults with migraine. It raised pain in 12 of 340 men, and the "
    "trial ended early. Zetamab did not change mood; sleep improved by 4.5 points. predict: "
    "Determine if the hypothesis is true given the premise? Premise: Hypothesis: Summarize the "
    "following text: passage 1: output:"
)


def set_weights(model: Any) -> None:
    """Set a model's weights by a formula, independent of random generators."""
    with torch.no_grad():
        for n, (name, weights) in enumerate(sorted(model.named_parameters())):
            steps = torch.arange(weights.numel(), dtype=torch.float64) * 1.7 + n
            scale = 0.02 if "norm" in name.lower() else 0.9
            shift = 1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0
            weights.copy_((torch.sin(steps * steps) * scale + shift).view_as(weights))


def _piece_tokenizer(marks: Sequence[str], *, is_bytes: bool) -> Tokenizer:
    """Return a tokenizer of `CHECKED_TEXT`, byte-level as in RoBERTa or with marked spaces."""
    inner = Tokenizer(models.BPE(unk_token=None if is_bytes else "<unk>"))
    alphabet: list[str] = []
    if is_bytes:
        inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    else:
        inner.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=list(marks), initial_alphabet=alphabet, show_progress=False
    )
    inner.train_from_iterator([CHECKED_TEXT], trainer)
    return inner


def _roberta_tokenizer() -> Any:
    inner = _piece_tokenizer(("<s>", "<pad>", "</s>", "<unk>", "<mask>"), is_bytes=True)
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token="<s>",
        cls_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        sep_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
    )


def _marked_tokenizer(marks: dict[str, str], single: str, pair: str = "") -> Any:
    names = list(dict.fromkeys(marks.values()))
    inner = _piece_tokenizer(names, is_bytes=False)
    used = [mark for mark in names if mark in f"{single} {pair}"]
    inner.post_processor = processors.TemplateProcessing(
        single=single,
        pair=pair or f"{single} $B",
        special_tokens=[(mark, names.index(mark)) for mark in used],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, model_input_names=["input_ids", "attention_mask"], **marks
    )


def _t5_tokenizer() -> Any:
    marks = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return _marked_tokenizer(marks, "$A </s>", "$A </s> $B </s>")


def _bert_tokenizer() -> Any:
    marks = {
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "bos_token": "[CLS]",
        "eos_token": "[SEP]",
        "sep_token": "[SEP]",
        "unk_token": "<unk>",
    }
    return _marked_tokenizer(marks, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]")


_SMALL: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "num_labels": 2,
}
_T5_SHAPE: dict[str, Any] = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}


def tiny_minicheck(folder: Path, architecture: str) -> str:
    """Write a MiniCheck fact checker (roberta, deberta-v2 or t5) to a folder."""
    model: Any
    if architecture == "roberta":
        tokenizer = _roberta_tokenizer()
        # RoBERTa's positions start after the padding position.
        shape = {**_SMALL, "max_position_embeddings": 514, "pad_token_id": 1}
        config = transformers.RobertaConfig(vocab_size=len(tokenizer), type_vocab_size=1, **shape)
        model = transformers.RobertaForSequenceClassification(config)
    elif architecture == "deberta-v2":
        tokenizer = _bert_tokenizer()
        model = transformers.DebertaV2ForSequenceClassification(
            transformers.DebertaV2Config(
                vocab_size=len(tokenizer),
                relative_attention=True,
                position_biased_input=False,
                pos_att_type=["p2c", "c2p"],
                type_vocab_size=0,
                **{**_SMALL, "position_buckets": 16},
            )
        )
    else:
        tokenizer = _t5_tokenizer()
        model = transformers.T5ForConditionalGeneration(
            transformers.T5Config(vocab_size=330, **{**_T5_SHAPE, "decoder_start_token_id": 0})
        )
    set_weights(model)
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def tiny_hhem(folder: Path) -> tuple[str, str]:
    """Write the weights of a fact checker in HHEM's format, and the folder of its base."""
    tokenizer, base = _t5_tokenizer(), folder / "base"
    config = transformers.T5Config(vocab_size=330, **_T5_SHAPE)
    config.save_pretrained(base)
    tokenizer.save_pretrained(base)
    model = transformers.T5ForTokenClassification(config)
    set_weights(model)
    weights = {f"t5.{name}": value.clone() for name, value in model.state_dict().items()}
    weights.pop("t5.transformer.encoder.embed_tokens.weight", None)
    weights_folder = folder / "hhem"
    weights_folder.mkdir()
    from safetensors.torch import save_file

    save_file(weights, weights_folder / "model.safetensors")
    return str(weights_folder), str(base)


def tiny_lettucedetect(folder: Path) -> str:
    """Write a token classifier with ModernBERT's architecture to a folder."""
    tokenizer = _bert_tokenizer()
    config = transformers.ModernBertConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=4096,
        pad_token_id=0,
        cls_token_id=1,
        bos_token_id=1,
        sep_token_id=2,
        eos_token_id=2,
        **{**_SMALL, "global_attn_every_n_layers": 1},
    )
    model = transformers.ModernBertForTokenClassification(config)
    set_weights(model)
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
