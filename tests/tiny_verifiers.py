"""Tiny random models of the kinds that verify claims, in folders and files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tiny_graders import BERT_MARKS, tiny_t5, words_tokenizer
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    ModernBertConfig,
    ModernBertForTokenClassification,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForSequenceClassification,
    RobertaModel,
    T5Config,
    T5ForConditionalGeneration,
    T5ForTokenClassification,
)

TEXT = (
    "alpha beta gamma lowers raises pressure pain in the trial of adults . , : premise hypothesis "
    "Claim Reference Answer attributable not support contradict neutral Attributable Contradictory "
    "Extrapolatory 0 1 Instruction Input Response"
)
NLI_LABELS = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")


def tiny_writer(folder: Path, reply: str = "") -> str:
    """A T5 in a folder, random, or trained to reply to whatever prompt with one text."""
    return tiny_t5(folder, reply, words=TEXT)


def tiny_causal(folder: Path, reply: str = "") -> str:
    """A LLaMA in a folder, random, or trained to go on from "Response :" with one text."""
    inner = words_tokenizer(("<s>", "</s>", "<unk>"), "<unk>", f"{TEXT} ###")
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    torch.manual_seed(5)
    shape = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    config = LlamaConfig(vocab_size=len(tokenizer), num_attention_heads=2, **shape)
    model = LlamaForCausalLM(config)
    if reply:
        tokens = tokenizer([f"alpha lowers Response : {reply}"], return_tensors="pt").input_ids
        _teach(model, 80, input_ids=tokens, labels=tokens)
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def _teach(model, n_steps: int, **batch: torch.Tensor) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(n_steps):
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def _pair_tokenizer() -> PreTrainedTokenizerFast:
    inner = words_tokenizer(BERT_MARKS, "[UNK]", TEXT)
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=64,
        model_input_names=["input_ids", "attention_mask"],
    )


def tiny_inference(folder: Path, labels: Sequence[str] = NLI_LABELS) -> str:
    """A random classifier of natural language inference in a folder."""
    tokenizer = _pair_tokenizer()
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        initializer_range=0.8,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def tiny_alignscore(folder: Path) -> tuple[str, str]:
    """A random checkpoint with the keys of the published ones, and the folder of its encoder.

    Keys are those of AlignScore's program: the encoder, its language head, and three heads, beside
    what its trainer notes.
    """
    tokenizer = _pair_tokenizer()
    torch.manual_seed(9)
    config = RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=80,
        type_vocab_size=1,
        pad_token_id=0,
        initializer_range=0.8,
    )
    base = folder / "encoder"
    encoder = RobertaModel(config)
    encoder.save_pretrained(base)
    tokenizer.save_pretrained(base)
    heads = {"bin_layer": 2, "tri_layer": 3, "reg_layer": 1, "mlm_head.dense": 16}
    state = {f"base_model.{key}": value for key, value in encoder.state_dict().items()}
    for name, n_out in heads.items():
        layer = torch.nn.Linear(16, n_out)
        state |= {f"{name}.{key}": value for key, value in layer.state_dict().items()}
    # The published files are older, and store these.
    state["base_model.embeddings.position_ids"] = torch.arange(80)[None]
    checkpoint = folder / "AlignScore-tiny.ckpt"
    torch.save({"epoch": 3, "state_dict": state, "hyper_parameters": {"lr": 1e-5}}, checkpoint)
    return str(checkpoint), str(base)


def tiny_convolution(path: Path) -> str:
    """Random weights of the shape of SummaC-Conv's."""
    torch.manual_seed(11)
    torch.save(
        {
            "mlp.weight": torch.randn(1, 23),
            "mlp.bias": torch.randn(1),
            "layer_final.weight": torch.randn(2, 3),
            "layer_final.bias": torch.randn(2),
        },
        path,
    )
    return str(path)


CHECKED_TEXT = (
    "Brelozant lowers pressure in adults with migraine. It raised pain in 12 of 340 men, and the "
    "trial ended early. Zetamab did not change mood; sleep improved by 4.5 points. predict: "
    "Determine if the hypothesis is true given the premise? Premise: Hypothesis: Summarize the "
    "following text: passage 1: output:"
)


def set_weights(model: torch.nn.Module) -> None:
    """Give a model weights by a formula, which no generator of random numbers can change."""
    with torch.no_grad():
        for n, (name, weights) in enumerate(sorted(model.named_parameters())):
            steps = torch.arange(weights.numel(), dtype=torch.float64) * 1.7 + n
            scale = 0.02 if "norm" in name.lower() else 0.9
            shift = 1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0
            weights.copy_((torch.sin(steps * steps) * scale + shift).view_as(weights))


def _piece_tokenizer(marks: Sequence[str], *, is_bytes: bool) -> Tokenizer:
    """Word pieces of `CHECKED_TEXT`: of bytes, as RoBERTa has them, or with marked spaces."""
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


def _roberta_tokenizer() -> PreTrainedTokenizerFast:
    inner = _piece_tokenizer(("<s>", "<pad>", "</s>", "<unk>", "<mask>"), is_bytes=True)
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token="<s>",
        cls_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        sep_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
    )


def _marked_tokenizer(
    marks: dict[str, str], single: str, pair: str = ""
) -> PreTrainedTokenizerFast:
    names = list(dict.fromkeys(marks.values()))
    inner = _piece_tokenizer(names, is_bytes=False)
    used = [mark for mark in names if mark in f"{single} {pair}"]
    inner.post_processor = processors.TemplateProcessing(
        single=single,
        pair=pair or f"{single} $B",
        special_tokens=[(mark, names.index(mark)) for mark in used],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, model_input_names=["input_ids", "attention_mask"], **marks
    )


def _t5_tokenizer() -> PreTrainedTokenizerFast:
    marks = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return _marked_tokenizer(marks, "$A </s>", "$A </s> $B </s>")


def _bert_tokenizer() -> PreTrainedTokenizerFast:
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
    """A fact checker of MiniCheck's architectures, roberta, deberta-v2 or t5, in a folder."""
    model: torch.nn.Module
    if architecture == "roberta":
        tokenizer = _roberta_tokenizer()
        # RoBERTa's positions begin behind the padding's.
        shape = {**_SMALL, "max_position_embeddings": 514, "pad_token_id": 1}
        config = RobertaConfig(vocab_size=len(tokenizer), type_vocab_size=1, **shape)
        model = RobertaForSequenceClassification(config)
    elif architecture == "deberta-v2":
        tokenizer = _bert_tokenizer()
        model = DebertaV2ForSequenceClassification(
            DebertaV2Config(
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
        model = T5ForConditionalGeneration(
            T5Config(vocab_size=330, **{**_T5_SHAPE, "decoder_start_token_id": 0})
        )
    set_weights(model)
    model.eval().save_pretrained(folder)  # type: ignore[operator]
    tokenizer.save_pretrained(folder)
    return str(folder)


def tiny_hhem(folder: Path) -> tuple[str, str]:
    """The weights of a fact checker as HHEM stores them, and the folder of its base."""
    tokenizer, base = _t5_tokenizer(), folder / "base"
    config = T5Config(vocab_size=330, **_T5_SHAPE)
    config.save_pretrained(base)
    tokenizer.save_pretrained(base)
    model = T5ForTokenClassification(config)
    set_weights(model)
    weights = {f"t5.{name}": value.clone() for name, value in model.state_dict().items()}
    weights.pop("t5.transformer.encoder.embed_tokens.weight", None)
    weights_folder = folder / "hhem"
    weights_folder.mkdir()
    save_file(weights, weights_folder / "model.safetensors")
    return str(weights_folder), str(base)


def tiny_lettucedetect(folder: Path) -> str:
    """A labeller of tokens of ModernBERT's architecture in a folder."""
    tokenizer = _bert_tokenizer()
    config = ModernBertConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=4096,
        pad_token_id=0,
        cls_token_id=1,
        bos_token_id=1,
        sep_token_id=2,
        eos_token_id=2,
        **{**_SMALL, "global_attn_every_n_layers": 1},
    )
    model = ModernBertForTokenClassification(config)
    set_weights(model)
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
