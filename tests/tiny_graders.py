"""Tiny random encoder-decoders and readers with word-level tokenizers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lazy import LazyModule
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from ragassay.prompts.texts import load_grader_prompts

torch = LazyModule("torch")
transformers = LazyModule("transformers")

TEXT = "alpha lowers pressure in the trial . what does it lower ? zeta unanswerable yes no Yes No"
T5_MARKS, BERT_MARKS = ("<pad>", "</s>", "<unk>"), ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def words_tokenizer(marks: Sequence[str], unknown: str, text: str) -> Tokenizer:
    splitter = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(True)])
    words = [word for word, _ in splitter.pre_tokenize_str(text)]
    vocabulary = {word: n for n, word in enumerate(dict.fromkeys([*marks, *words]))}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token=unknown))
    inner.pre_tokenizer = splitter
    return inner


def tiny_t5(folder: Path, reply: str = "", steps: int = 60, words: str = "") -> str:
    """Write a T5 to a folder, random or trained to give one reply to all prompts."""
    known = words or f"{TEXT} {load_grader_prompts().model_dump_json()} 0 1 2 3 4 5"
    inner = words_tokenizer(T5_MARKS, "<unk>", known)
    inner.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    torch.manual_seed(5)
    config = transformers.T5Config(
        vocab_size=len(tokenizer),
        d_model=16,
        d_kv=8,
        d_ff=16,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
        dropout_rate=0.0,
    )
    model = transformers.T5ForConditionalGeneration(config)
    if reply:
        batch = tokenizer(["alpha lowers pressure", "what does it lower ?"], padding=True)
        inputs = {name: torch.tensor(batch[name]) for name in ("input_ids", "attention_mask")}
        teach(model, steps, **inputs, labels=torch.tensor([tokenizer(reply).input_ids] * 2))
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def teach(model, n_steps: int, **batch: torch.Tensor) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(n_steps):
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def bert_tokenizer(
    text: str, pair: str = "[CLS] $A [SEP] $B [SEP]", **more: object
) -> transformers.PreTrainedTokenizerFast:
    """Return a tokenizer of the words in a text, with BERT's special tokens."""
    inner = words_tokenizer(BERT_MARKS, "[UNK]", text)
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair=pair, special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=64,
        **more,
    )


def bert_config(n_words: int, **more: object) -> transformers.BertConfig:
    return transformers.BertConfig(
        vocab_size=n_words,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        **more,
    )


def tiny_reader(folder: Path) -> str:
    tokenizer = bert_tokenizer(TEXT, "[CLS] $A [SEP] $B:1 [SEP]:1")
    torch.manual_seed(5)
    config = bert_config(len(tokenizer), initializer_range=0.5)
    transformers.BertForQuestionAnswering(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
