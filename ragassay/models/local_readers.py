"""Local models that read a passage: the FLAN-T5 family, readers fine-tuned on SQuAD."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragassay.models.hosting import computed_by_host
from ragassay.models.weights import LazyModel, half_on_gpu, load_pretrained

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray


N_TOKENS = 512
"""Longest prompt: what these models were trained on."""

N_NEW_TOKENS = 64
"""Longest text that is written."""

N_BATCH = 16
"""Prompts that are computed together."""

Prompt = tuple[str, str, str]
"""What comes before the passage, the passage, and what comes after it."""


class Text2Text:
    """An encoder-decoder of transformers; loaded at the first call, safe across threads.

    It computes on the GPU where there is one, in single precision unless told otherwise.

    Args:
        n_tokens: Longest prompt.
        is_halved: Whether it computes in bfloat16 on a GPU: models of 11 billion weights fit then.
    """

    def __init__(self, name: str, n_tokens: int = N_TOKENS, is_halved: bool = False) -> None:
        self.name, self._n_tokens = name, n_tokens
        self.made_of = (name, n_tokens, is_halved)
        self.model = LazyModel(
            lambda: load_pretrained(
                "AutoModelForSeq2SeqLM", name, half_on_gpu() if is_halved else "float32"
            )
        )

    @computed_by_host
    def fits(self, prompt: Prompt) -> bool:
        """Return whether all but the passage is short enough."""
        with self.model.lend() as (tokenizer, _):
            return room_for(tokenizer, prompt, self._n_tokens) >= 0

    @computed_by_host
    def shares(self, prompts: Sequence[Prompt], words: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability that a reply starts with a word, shape (n_prompts, n_words).

        From the first decoded position on, over all that the model may say: a row sums to less than
        1 where it would rather say something else.

        Raises:
            SettingsError: The model is unavailable.
        """
        import numpy as np

        rows: list[NDArray[np.float64]] = []
        with self.model.lend() as (tokenizer, model):
            spelled = [tokenizer(word, add_special_tokens=False).input_ids for word in words]
            for batch in _batches(tokenizer, prompts, model.device, self._n_tokens):
                rows.append(_start_shares(model, batch, spelled).cpu().double().numpy())
        return np.concatenate(rows) if rows else np.zeros((0, len(words)))

    @computed_by_host
    def write_replies(self, prompts: Sequence[Prompt]) -> list[str]:
        """Return the likeliest reply to each prompt, word by word, without sampling.

        Raises:
            SettingsError: The model is unavailable.
        """
        texts: list[str] = []
        with self.model.lend() as (tokenizer, model):
            for batch in _batches(tokenizer, prompts, model.device, self._n_tokens):
                tokens = model.generate(
                    **batch, do_sample=False, num_beams=1, max_new_tokens=N_NEW_TOKENS
                )
                texts += tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return [text.strip() for text in texts]


def room_for(tokenizer: Any, prompt: Prompt, n_tokens: int = N_TOKENS) -> int:
    """Return how many tokens of the passage fit."""
    before, _, after = prompt
    return n_tokens - len(tokenizer(f"{before}\n{after}", split_special_tokens=True).input_ids)


def fit_prompt(tokenizer: Any, prompt: Prompt, n_tokens: int = N_TOKENS) -> str:
    """Return a prompt with as much of its passage as fits; what is asked is never cut."""
    before, passage, after = prompt
    room = room_for(tokenizer, prompt, n_tokens)
    found = tokenizer(
        passage, add_special_tokens=False, return_offsets_mapping=True, split_special_tokens=True
    )
    ends = [end for _, end in found.offset_mapping]
    if len(ends) > max(room, 0):
        passage = passage[: ends[room - 1]] if room > 0 else ""
    return f"{before}{passage}{after}"


def _batches(
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
            # Judged text is plain text, even where it spells one of the model's own marks.
            split_special_tokens=True,
        )
        yield {name: batch[name].to(device) for name in ("input_ids", "attention_mask")}


def _start_shares(
    model: Any, batch: dict[str, torch.Tensor], spelled: Sequence[Sequence[int]]
) -> torch.Tensor:
    """Return the probability of each word's tokens, shape (n_prompts, n_words).

    The encoder runs once; the decoder reads each word behind each prompt.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    n_prompts, n_words = len(batch["input_ids"]), len(spelled)
    device = batch["input_ids"].device
    rows = [torch.tensor(tokens, device=device) for tokens in spelled]
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
"""Longest answer."""


@dataclass(frozen=True)
class Span:
    """The best span of a passage as an answer.

    Attributes:
        text: The span; empty where the passage has none.
        probability: That it answers the question, against no answer: the logistic of the margin
            between the span's score and that of the first token (Rajpurkar et al. 2018).
    """

    text: str
    probability: float


class SpanReader:
    """A model of extractive question answering; loaded at the first call, safe across threads.

    It computes in single precision, on the GPU where there is one.
    """

    def __init__(self, name: str) -> None:
        self.name, self.made_of = name, (name,)
        self.model = LazyModel(
            lambda: load_pretrained("AutoModelForQuestionAnswering", name, "float32")
        )

    @computed_by_host
    def read(self, questions: Sequence[str], passage: str) -> list[Span]:
        """Return the best span for each question; of a long passage the end is not read.

        Raises:
            SettingsError: The model is unavailable.
        """
        spans: list[Span] = []
        with self.model.lend() as (tokenizer, model):
            for start in range(0, len(questions), N_BATCH):
                asked = list(questions[start : start + N_BATCH])
                batch = tokenizer(
                    asked,
                    [passage] * len(asked),
                    padding=True,
                    truncation="only_second",
                    max_length=min(N_TOKENS, tokenizer.model_max_length),
                    return_offsets_mapping=True,
                    return_tensors="pt",
                    split_special_tokens=True,
                )
                offsets = batch.pop("offset_mapping")
                found = model(**batch.to(model.device))
                for row in range(len(asked)):
                    in_passage = [part == 1 for part in batch.sequence_ids(row)]
                    scores = found.start_logits[row].cpu(), found.end_logits[row].cpu()
                    spans.append(_best_span(*scores, in_passage, offsets[row].tolist(), passage))
        return spans


def _best_span(
    starts: torch.Tensor,
    ends: torch.Tensor,
    in_passage: Sequence[bool],
    offsets: Sequence[Sequence[int]],
    passage: str,
) -> Span:
    import torch

    outside = ~torch.tensor(in_passage)
    sums = starts.float().masked_fill(outside, -math.inf)[:, None] + ends.float().masked_fill(
        outside, -math.inf
    )
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
