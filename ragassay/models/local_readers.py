"""Local question answering models: the FLAN-T5 family, and extractive models trained on SQuAD."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragassay.models.hosting import run_on_host
from ragassay.models.weights import LazyModel, choose_gpu_dtype, load_pretrained

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray


N_TOKENS = 512
"""Maximum prompt length in tokens, as used in training these models."""

N_NEW_TOKENS = 64

N_BATCH = 16

Prompt = tuple[str, str, str]
"""Prompt in three parts: text before the passage, the passage, and text after the passage."""


class Text2Text:
    """Encoder-decoder model from transformers, loaded on first use. Thread-safe.

    The model runs in float32, or in bfloat16 on a GPU if `is_halved` is set, so that 11 billion
    parameters fit.
    """

    def __init__(self, name: str, n_tokens: int = N_TOKENS, is_halved: bool = False) -> None:
        self.name, self._n_tokens = name, n_tokens
        self.made_of = (name, n_tokens, is_halved)
        self.model = LazyModel(
            lambda: load_pretrained(
                "AutoModelForSeq2SeqLM", name, choose_gpu_dtype() if is_halved else "float32"
            )
        )

    @run_on_host
    def can_fit_prompt(self, prompt: Prompt) -> bool:
        """Return whether the prompt without its passage fits into the model's input."""
        with self.model.lend() as (tokenizer, _):
            return compute_passage_budget(tokenizer, prompt, self._n_tokens) >= 0

    @run_on_host
    def predict_word_shares(
        self, prompts: Sequence[Prompt], words: Sequence[str]
    ) -> NDArray[np.float64]:
        """Return the probability that the reply starts with each word.

        The result has shape (n_prompts, n_words). Rows may sum to less than 1, because replies can
        start with other words.
        """
        import numpy as np

        rows: list[NDArray[np.float64]] = []
        with self.model.lend() as (tokenizer, model):
            word_ids = [tokenizer(word, add_special_tokens=False).input_ids for word in words]
            for batch in _tokenize_batches(tokenizer, prompts, model.device, self._n_tokens):
                rows.append(_start_shares(model, batch, word_ids).cpu().double().numpy())
        return np.concatenate(rows) if rows else np.zeros((0, len(words)))

    @run_on_host
    def write_replies(self, prompts: Sequence[Prompt]) -> list[str]:
        """Return the reply to each prompt, using greedy decoding."""
        texts: list[str] = []
        with self.model.lend() as (tokenizer, model):
            for batch in _tokenize_batches(tokenizer, prompts, model.device, self._n_tokens):
                tokens = model.generate(
                    **batch, do_sample=False, num_beams=1, max_new_tokens=N_NEW_TOKENS
                )
                texts += tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return [text.strip() for text in texts]


def compute_passage_budget(tokenizer: Any, prompt: Prompt, n_tokens: int = N_TOKENS) -> int:
    """Return the number of tokens available for the passage."""
    before, _, after = prompt
    return n_tokens - len(tokenizer(f"{before}\n{after}", split_special_tokens=True).input_ids)


def fit_prompt(tokenizer: Any, prompt: Prompt, n_tokens: int = N_TOKENS) -> str:
    """Return a prompt whose passage is truncated to fit. The text around the passage is kept."""
    before, passage, after = prompt
    n_free = compute_passage_budget(tokenizer, prompt, n_tokens)
    encoding = tokenizer(
        passage, add_special_tokens=False, return_offsets_mapping=True, split_special_tokens=True
    )
    ends = [end for _, end in encoding.offset_mapping]
    if len(ends) > max(n_free, 0):
        passage = passage[: ends[n_free - 1]] if n_free > 0 else ""
    return f"{before}{passage}{after}"


def _tokenize_batches(
    tokenizer: Any, prompts: Sequence[Prompt], device: torch.device, n_tokens: int
) -> Iterator[dict[str, torch.Tensor]]:
    texts = [fit_prompt(tokenizer, prompt, n_tokens) for prompt in prompts]
    for start in range(0, len(texts), N_BATCH):
        batch = tokenizer(
            texts[start : start + N_BATCH],
            padding=True,
            truncation=True,
            max_length=n_tokens,
            return_tensors="pt",
            # Evaluated text is plain text, even if it contains the model's special tokens.
            split_special_tokens=True,
        )
        yield {name: batch[name].to(device) for name in ("input_ids", "attention_mask")}


def _start_shares(
    model: Any, batch: dict[str, torch.Tensor], word_ids: Sequence[Sequence[int]]
) -> torch.Tensor:
    import torch
    from torch.nn.utils.rnn import pad_sequence

    n_prompts, n_words = len(batch["input_ids"]), len(word_ids)
    device = batch["input_ids"].device
    rows = [torch.tensor(tokens, device=device) for tokens in word_ids]
    words = pad_sequence(rows, batch_first=True)
    is_word = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
    first = torch.full((n_words, 1), model.config.decoder_start_token_id, device=device)
    states = model.get_encoder()(**batch).last_hidden_state
    logits = model(
        encoder_outputs=(states.repeat_interleave(n_words, 0),),
        attention_mask=batch["attention_mask"].repeat_interleave(n_words, 0),
        decoder_input_ids=torch.cat([first, words[:, :-1]], 1).repeat(n_prompts, 1),
    ).logits
    logs = logits.float().log_softmax(-1)
    word_logs = logs.gather(-1, words.repeat(n_prompts, 1)[..., None])[..., 0]
    return (word_logs * is_word.repeat(n_prompts, 1)).sum(-1).exp().view(n_prompts, n_words)


N_ANSWER_TOKENS = 30


@dataclass(frozen=True)
class Span:
    """Span of a passage that best answers a question.

    Attributes:
        text: Text of the span, or "" if there is no answer.
        probability: Probability that the span answers the question: the sigmoid of the difference
            between its score and the score of the first token, which stands for no answer
            (Rajpurkar et al. 2018).
    """

    text: str
    probability: float


class SpanReader:
    """Extractive question answering model, loaded on first use. Thread-safe.

    The model runs in float32, on a GPU if available.
    """

    def __init__(self, name: str) -> None:
        self.name, self.made_of = name, (name,)
        self.model = LazyModel(
            lambda: load_pretrained("AutoModelForQuestionAnswering", name, "float32")
        )

    @run_on_host
    def read(self, questions: Sequence[str], passage: str) -> list[Span]:
        """Return the best span for each question. Passages that are too long are truncated."""
        spans: list[Span] = []
        with self.model.lend() as (tokenizer, model):
            for start in range(0, len(questions), N_BATCH):
                chunk = list(questions[start : start + N_BATCH])
                batch = tokenizer(
                    chunk,
                    [passage] * len(chunk),
                    padding=True,
                    truncation="only_second",
                    max_length=min(N_TOKENS, tokenizer.model_max_length),
                    return_offsets_mapping=True,
                    return_tensors="pt",
                    split_special_tokens=True,
                )
                offsets = batch.pop("offset_mapping")
                output = model(**batch.to(model.device))
                for row in range(len(chunk)):
                    in_passage = [part == 1 for part in batch.sequence_ids(row)]
                    scores = output.start_logits[row].cpu(), output.end_logits[row].cpu()
                    spans.append(
                        _choose_best_span(*scores, in_passage, offsets[row].tolist(), passage)
                    )
        return spans


def _choose_best_span(
    starts: torch.Tensor,
    ends: torch.Tensor,
    in_passage: Sequence[bool],
    offsets: Sequence[Sequence[int]],
    passage: str,
) -> Span:
    import torch

    outside = ~torch.tensor(in_passage)
    start_scores = starts.float().masked_fill(outside, -math.inf)
    sums = start_scores[:, None] + ends.float().masked_fill(outside, -math.inf)
    allowed = torch.ones_like(sums, dtype=torch.bool).triu().tril(N_ANSWER_TOKENS - 1)
    sums = sums.masked_fill(~allowed, -math.inf)
    best = int(sums.argmax())
    first, last = divmod(best, len(in_passage))
    score = float(sums[first, last])
    if score == -math.inf:
        return Span("", 0.0)
    margin = score - float(starts[0] + ends[0])
    text = passage[offsets[first][0] : offsets[last][1]].strip()
    return Span(text, float(torch.tensor(margin).double().sigmoid()))
