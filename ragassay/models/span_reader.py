"""Find answers as spans of a passage, by readers that were fine-tuned on SQuAD 2.0."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragassay.models.hosting import computed_by_host
from ragassay.models.hub import loading

if TYPE_CHECKING:
    import torch

N_TOKENS = 512
"""Longest question and passage together."""

N_ANSWER_TOKENS = 30
"""Longest answer."""

N_BATCH = 16
"""Questions that are computed together."""


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

    Args:
        name: A name on the hub, or a folder.
    """

    def __init__(self, name: str) -> None:
        self.name, self.made_of = name, (name,)
        self._loaded: tuple[Any, Any] | None = None
        self._lock = threading.Lock()

    @computed_by_host
    def read(self, questions: Sequence[str], passage: str) -> list[Span]:
        """Return the best span for each question; of a long passage the end is not read.

        Raises:
            SettingsError: The model is unavailable.
        """
        import torch

        spans: list[Span] = []
        with self._lock, torch.inference_mode():
            tokenizer, model = self._load()
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

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            import torch
            from transformers import AutoModelForQuestionAnswering, AutoTokenizer

            with loading(self.name):
                tokenizer = AutoTokenizer.from_pretrained(self.name, trust_remote_code=False)
                model = AutoModelForQuestionAnswering.from_pretrained(
                    self.name, dtype=torch.float32, trust_remote_code=False
                )
            device = "cuda" if torch.cuda.is_available() else "cpu"
            self._loaded = tokenizer, model.eval().to(device)
        return self._loaded


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
