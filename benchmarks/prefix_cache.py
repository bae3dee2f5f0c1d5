"""Nine rubrics of one answer by the embedded judge: is its engine worth its lines?

    python benchmarks/prefix_cache.py

Three ways, in turn, in one process:

- independent: `transformers.generate` for each rubric, nothing shared;
- prefix: `transformers.generate` for all rubrics as one batch, over a `DynamicCache` of their
  common prefix that was computed once and copied for each;
- engine: ragassay's own, which holds the prefix once for all of them.

All three write under the same schema by llguidance, greedily. Printed are seconds, processor
seconds (what counts on a machine that others use), and whether they wrote the same with the same
log-probabilities; for that, `--dtype float32`.
"""

from __future__ import annotations

import argparse
import functools
import json
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from local_judge import rubric_prompts
from transformers import (
    AutoModelForCausalLM,
    DynamicCache,
    LogitsProcessorList,
    StoppingCriteriaList,
)

from ragassay.model_names import SMOLLM2
from ragassay.models.local.chat import ChatEncoder
from ragassay.models.local.engine import cache_keyword
from ragassay.models.local.grammar import GrammarBook
from ragassay.models.local.loading import load_engine
from ragassay.models.local.radix import common_prefix_length
from ragassay.models.weights import best_dtype, smollm2_folder
from ragassay.settings import Settings

Written = list[tuple[list[str], list[float]]]
"""Of each rubric: the tokens, and their log-probabilities."""


class Bounds:
    """llguidance under `generate`: bounds each next token, ends each finished reply."""

    def __init__(self, book: GrammarBook, schemas: Sequence[str]) -> None:
        self._book = book
        self._matchers = [book.matcher(schema) for schema in schemas]
        self.written: Written = [([], []) for _ in schemas]

    def bound(self, ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        allowed = torch.from_numpy(self._book.allowed(self._matchers))
        for row, matcher in zip(allowed, self._matchers, strict=True):
            if forced := matcher.compute_ff_tokens():  # of several that spell the same text
                row[:] = False
                row[forced[0]] = True
        self._logprobs = scores.float().masked_fill(~allowed, -torch.inf).log_softmax(-1)
        return self._logprobs

    def ended(self, ids: torch.Tensor, scores: Any, **kwargs: Any) -> torch.Tensor:
        for row, (matcher, token) in enumerate(
            zip(self._matchers, ids[:, -1].tolist(), strict=True)
        ):
            if not matcher.is_stopped():
                matcher.consume_token(token)
                self.written[row][0].append(self._book.pieces[token])
                self.written[row][1].append(float(self._logprobs[row, token]))
        return torch.tensor([matcher.is_stopped() for matcher in self._matchers])


@torch.inference_mode()
def generate(model: Any, book: GrammarBook, prompts: list[Any], tokens: list[list[int]]) -> Written:
    """One batch over what its prompts share, padded between that and their ends."""
    n = min(common_prefix_length(tokens[0], other) for other in tokens)
    n = min(n, *(len(sequence) - 1 for sequence in tokens))
    cache = DynamicCache(config=model.config)
    given = {cache_keyword(model.base_model): cache}
    if len(tokens) > 1:
        model.base_model(torch.tensor([tokens[0][:n]]), use_cache=True, **given)
        cache.batch_repeat_interleave(len(tokens))
    width = max(map(len, tokens))
    gaps = [width - len(sequence) for sequence in tokens]
    ids = [t[:n] + [0] * gap + t[n:] for t, gap in zip(tokens, gaps, strict=True)]
    seen = [[1] * n + [0] * gap + [1] * (width - n - gap) for gap in gaps]
    bounds = Bounds(book, [prompt.schema for prompt in prompts])
    model.generate(
        torch.tensor(ids),
        attention_mask=torch.tensor(seen),
        **given,
        max_new_tokens=max(prompt.max_tokens for prompt in prompts),
        do_sample=False,
        pad_token_id=0,
        logits_processor=LogitsProcessorList([bounds.bound]),
        stopping_criteria=StoppingCriteriaList([bounds.ended]),
    )
    return bounds.written


def ways(dtype: str, n_rubrics: int) -> dict[str, Callable[[], Written]]:
    folder = Settings().literature.cache_dir
    engine = load_engine(SMOLLM2, folder, dtype)
    # Of its own: the engine registers its attention with the model that it is given.
    chosen = best_dtype() if dtype == "auto" else getattr(torch, dtype)
    model = AutoModelForCausalLM.from_pretrained(smollm2_folder(folder), dtype=chosen).eval()
    book = GrammarBook(engine._tokenizer, model.config.vocab_size)
    chat = ChatEncoder(engine._tokenizer)
    prompts: list[Any] = rubric_prompts()[:n_rubrics]
    tokens = [chat.encode(prompt.messages) for prompt in prompts]

    def independent() -> Written:
        pairs = zip(prompts, tokens, strict=True)
        return [generate(model, book, [prompt], [sequence])[0] for prompt, sequence in pairs]

    def by_engine() -> Written:
        engine._reset()
        replies = engine.answer(prompts)
        return [([t.text for t in r.tokens], [t.logprob for t in r.tokens]) for r in replies]

    prefix = functools.partial(generate, model, book, prompts, tokens)
    engine.answer(prompts[:1])
    return {"engine": by_engine, "prefix": prefix, "independent": independent}


def compare(dtype: str, n_rubrics: int, n_runs: int) -> None:
    found = ways(dtype, n_rubrics)
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in found}
    written: dict[str, Written] = {}
    for _ in range(n_runs):
        for name, ask in found.items():
            start = time.perf_counter(), time.process_time()
            written[name] = ask()
            now = time.perf_counter(), time.process_time()
            spent[name].append((now[0] - start[0], now[1] - start[1]))
    whole = spent["independent"]
    for name, runs in spent.items():
        pairs = zip(written[name], written["independent"], strict=True)
        same = [(mine, theirs) for mine, theirs in pairs if mine[0] == theirs[0]]
        apart = [abs(a - b) for m, t in same for a, b in zip(m[1], t[1], strict=True)]
        row: dict[str, object] = {"way": name, "same_replies": f"{len(same)} of {n_rubrics}"}
        row["largest_difference"] = round(max(apart, default=0.0), 6)
        for i, unit in enumerate(("s", "processor_s")):
            row[unit] = round(statistics.median(run[i] for run in runs), 2)
            ratios = [w[i] / run[i] for w, run in zip(whole, runs, strict=True)]
            row[f"times_faster_by_{unit}"] = round(statistics.median(ratios), 2)
        print(json.dumps(row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rubrics", type=int, default=9)
    parser.add_argument("--dtype", default="auto", choices=["auto", "bfloat16", "float32"])
    given = parser.parse_args()
    compare(given.dtype, given.rubrics, given.runs)


if __name__ == "__main__":
    main()
