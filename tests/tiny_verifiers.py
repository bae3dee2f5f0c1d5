"""Tiny random models of each verifier kind, in folders and files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lazy import LazyModule
from tiny_graders import bert_config, bert_tokenizer, teach, tiny_t5, words_tokenizer
from tokenizers import processors

torch = LazyModule("torch")
transformers = LazyModule("transformers")

TEXT = (
    "alpha beta gamma lowers raises pressure pain in the trial of adults . , : premise hypothesis "
    "Claim Reference Answer attributable not support contradict neutral Attributable Contradictory "
    "Extrapolatory 0 1 Instruction Input Response"
)
NLI_LABELS = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")


def tiny_writer(folder: Path, reply: str = "") -> str:
    """Write a T5 to a folder, random or trained to give one reply to all prompts."""
    return tiny_t5(folder, reply, words=TEXT)


def tiny_causal(folder: Path, reply: str = "") -> str:
    """Write a LLaMA to a folder, random or trained to continue "Response :" with one text."""
    inner = words_tokenizer(("<s>", "</s>", "<unk>"), "<unk>", f"{TEXT} ###")
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    torch.manual_seed(5)
    shape = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    config = transformers.LlamaConfig(vocab_size=len(tokenizer), num_attention_heads=2, **shape)
    model = transformers.LlamaForCausalLM(config)
    if reply:
        tokens = tokenizer([f"alpha lowers Response : {reply}"], return_tensors="pt").input_ids
        teach(model, 80, input_ids=tokens, labels=tokens)
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def _pair_tokenizer() -> transformers.PreTrainedTokenizerFast:
    return bert_tokenizer(TEXT, model_input_names=["input_ids", "attention_mask"])


def tiny_inference(folder: Path, labels: Sequence[str] = NLI_LABELS) -> str:
    """Write a random natural language inference classifier to a folder."""
    tokenizer = _pair_tokenizer()
    torch.manual_seed(7)
    config = bert_config(
        len(tokenizer),
        initializer_range=0.8,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )
    transformers.BertForSequenceClassification(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def tiny_alignscore(folder: Path) -> tuple[str, str]:
    """Write a random checkpoint with the published keys, and the folder of its encoder.

    The keys are those of AlignScore's program: the encoder, its language modelling head, three
    heads, and trainer state.
    """
    tokenizer = _pair_tokenizer()
    torch.manual_seed(9)
    config = transformers.RobertaConfig(
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
    encoder = transformers.RobertaModel(config)
    encoder.save_pretrained(base)
    tokenizer.save_pretrained(base)
    heads = {"bin_layer": 2, "tri_layer": 3, "reg_layer": 1, "mlm_head.dense": 16}
    state = {f"base_model.{key}": value for key, value in encoder.state_dict().items()}
    for name, n_out in heads.items():
        layer = torch.nn.Linear(16, n_out)
        state |= {f"{name}.{key}": value for key, value in layer.state_dict().items()}
    # The published files are older and contain these.
    state["base_model.embeddings.position_ids"] = torch.arange(80)[None]
    checkpoint = folder / "AlignScore-tiny.ckpt"
    torch.save({"epoch": 3, "state_dict": state, "hyper_parameters": {"lr": 1e-5}}, checkpoint)
    return str(checkpoint), str(base)


def tiny_convolution(path: Path) -> str:
    """Write random weights with the shape of SummaC-Conv."""
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


def tiny_encoder(folder: Path) -> str:
    """Write a random BERT with its pooler to a folder, in the format of transformers."""
    tokenizer = _pair_tokenizer()
    torch.manual_seed(3)
    config = bert_config(len(tokenizer), initializer_range=0.8)
    transformers.BertModel(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
