"""Answer batches of prompts with greedy decoding in transformers, constrained by JSON schemas.

The common prefix of a batch is computed once, and each prompt continues from a copy of its
key-value cache. Recent prefixes are cached for later batches.
"""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import TYPE_CHECKING, Any

import torch

from ragassay.errors import PromptTooLongError, RefusedError
from ragassay.models.local.replies import (
    ChatEncoder,
    GeneratedReply,
    Prompt,
    TokenChoice,
    measure_common_prefix,
)

if TYPE_CHECKING:
    from llguidance import LLMatcher
    from transformers import DynamicCache, PreTrainedModel, PreTrainedTokenizerFast

N_TOKENS_KEPT = 16_384
"""Maximum number of cached prefix tokens, enough for several answers with their sources."""

N_SCHEMAS_KEPT = 256
"""Maximum number of compiled schemas to cache, because a server's clients can send any number."""


@dataclass(eq=False)
class _BatchRow:
    """State of a prompt in a batch.

    Attributes:
        tokens: Prompt tokens, followed by tokens that the schema forces at the reply's start.
        pending: Reply tokens that the schema forces and that the model has not read yet.
    """

    prompt: Prompt
    matcher: LLMatcher | None
    tokens: list[int]
    n_prompt_tokens: int
    n_computed: int = 0
    written: list[int] = field(default_factory=list)
    choices: list[TokenChoice] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)
    is_done: bool = False
    is_cut: bool = False


class Engine:
    """Causal language model that answers batches of prompts. Not thread-safe."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
        import llguidance.hf
        from transformers import GenerationConfig

        self.model, self.tokenizer = model, tokenizer
        self.chat = ChatEncoder(tokenizer)
        self._ends = _list_end_tokens(model, tokenizer)
        # Replaces the model's own settings, such as a repetition penalty.
        model.generation_config = GenerationConfig(
            do_sample=False, eos_token_id=sorted(self._ends), pad_token_id=min(self._ends)
        )
        # The output layer is in float32: bfloat16 rounds logits around 20 to multiples of 1/8.
        shared: Any = model.get_output_embeddings()
        head = copy.deepcopy(shared).float()
        head.register_forward_pre_hook(lambda _, inputs: (inputs[0].float(),))
        model.set_output_embeddings(head)
        self._n_vocab = len(head.weight)
        self._vocabulary = llguidance.hf.from_tokenizer(tokenizer, n_vocab=self._n_vocab, slices=[])
        self.pieces = [self._vocabulary.decode_str([i]) for i in range(self._n_vocab)]
        self._compiled = functools.lru_cache(maxsize=N_SCHEMAS_KEPT)(self._compile)
        # The argument was renamed in transformers 5.24.
        names = signature(model.base_model.forward).parameters
        self._cache_keyword = "cache" if "cache" in names else "past_key_values"
        self.forget()

    @property
    def context_length(self) -> int:
        """Return the maximum number of tokens in the prompt and reply together."""
        return int(self.model.config.max_position_embeddings)

    def forget(self) -> None:
        """Clear the cache of prefixes."""
        self.prefixes: list[tuple[list[int], DynamicCache]] = []

    def check(self, prompt: Prompt) -> None:
        """Raise `PromptTooLongError` or `RefusedError` if a prompt cannot be answered."""
        n_tokens = self._start(prompt).n_prompt_tokens
        if n_tokens + prompt.max_tokens > self.context_length:
            raise PromptTooLongError(
                f"a prompt of {n_tokens} tokens and a reply of {prompt.max_tokens} exceed the "
                f"model's context length of {self.context_length}"
            )

    @torch.inference_mode()
    def answer(
        self,
        prompts: Sequence[Prompt],
        on_done: Callable[[int, GeneratedReply], None] = lambda index, reply: None,
    ) -> list[GeneratedReply]:
        """Answer prompts as one batch.

        Args:
            prompts: Prompts, whose common prefix is computed once.
            on_done: Function that is called with the index and the reply when a reply is finished.

        Returns:
            Replies in the order of `prompts`.
        """
        rows = [self._start(prompt) for prompt in prompts]

        def report(row: _BatchRow) -> None:
            on_done(rows.index(row), self._build_reply(row))

        for row in rows:
            if row.is_done:
                report(row)
        if unfinished := [row for row in rows if not row.is_done]:
            self._generate(unfinished, report)
        return [self._build_reply(row) for row in rows]

    def _start(self, prompt: Prompt) -> _BatchRow:
        tokens = self.chat.encode(prompt.messages)
        matcher = self._compiled(prompt.schema).deep_copy() if prompt.schema is not None else None
        row = _BatchRow(prompt, matcher, tokens, len(tokens))
        self._force(row)
        row.tokens, row.pending = tokens + row.pending, []
        return row

    def _compile(self, schema: str) -> LLMatcher:
        from llguidance import LLMatcher

        try:
            grammar = LLMatcher.grammar_from_json_schema(
                json.loads(schema), defaults={"whitespace_flexible": False}
            )
        except ValueError as error:
            raise RefusedError(f"invalid reply schema: {error}") from error
        # Level 0 stops llguidance from printing the error that is raised below.
        matcher = LLMatcher(self._vocabulary, grammar, log_level=0)
        if matcher.is_error():
            raise RefusedError(f"invalid reply schema: {matcher.get_error()}")
        return matcher

    def _generate(self, rows: Sequence[_BatchRow], report: Callable[[_BatchRow], None]) -> None:
        from transformers import LogitsProcessorList, StoppingCriteriaList

        cache, n = self._prepare_prefix(rows)
        width = max(len(row.tokens) for row in rows)
        ids = torch.full((len(rows), width), min(self._ends))
        seen = torch.zeros_like(ids)
        for index, row in enumerate(rows):
            row.n_computed += len(row.tokens) - n - 1  # The last token counts as part of the reply.
            # The padding follows the shared prefix.
            places = [*range(n), *range(width - len(row.tokens) + n, width)]
            ids[index, places] = torch.tensor(row.tokens)
            seen[index, places] = 1

        def choose(_: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
            return self._choose(rows, logits, report)

        def are_done(*_: Any, **__: Any) -> torch.Tensor:
            return torch.tensor([row.is_done for row in rows])

        model: Any = self.model
        model.generate(
            ids,
            attention_mask=seen,
            max_new_tokens=max(row.prompt.max_tokens for row in rows),
            logits_processor=LogitsProcessorList([choose]),
            stopping_criteria=StoppingCriteriaList([are_done]),
            **{self._cache_keyword: cache},
        )

    def _prepare_prefix(self, rows: Sequence[_BatchRow]) -> tuple[DynamicCache, int]:
        """Return the key-value cache of the common prefix, copied for each row, and its length.

        The last token of a row is not part of the prefix, because `generate` needs an input.
        """
        first = rows[0].tokens
        tokens = first[: min(measure_common_prefix(first[:-1], row.tokens[:-1]) for row in rows)]
        best, n_best = None, 0
        for kept, cache in self.prefixes:
            n = measure_common_prefix(kept, tokens)
            if n > n_best:
                best, n_best = cache, n
        cache = self._copy_cache(best, n_best, 1)
        if len(tokens) > n_best:
            base: Any = self.model.base_model
            inputs = {self._cache_keyword: cache}
            base(input_ids=torch.tensor([tokens[n_best:]]), use_cache=True, **inputs)
            kept = [(t, c) for t, c in self.prefixes if t != tokens[: len(t)]]
            self.prefixes = [(tokens, cache), *kept]
            while sum(len(t) for t, _ in self.prefixes) > N_TOKENS_KEPT:
                self.prefixes.pop()
        rows[0].n_computed = len(tokens) - n_best
        return self._copy_cache(cache, len(tokens), len(rows)), len(tokens)

    def _copy_cache(self, cache: DynamicCache | None, n_tokens: int, n_rows: int) -> DynamicCache:
        from transformers import DynamicCache

        copied = DynamicCache(config=self.model.config)
        if cache is not None and n_tokens:
            copied.layers = [copy.copy(layer) for layer in cache.layers]
            if n_left_out := cache.get_seq_length() - n_tokens:
                copied.crop(-n_left_out)
            copied.batch_repeat_interleave(n_rows)
        return copied

    def _choose(
        self, rows: Sequence[_BatchRow], logits: torch.Tensor, report: Callable[[_BatchRow], None]
    ) -> torch.Tensor:
        """Append the most likely allowed token to each row, and the tokens that the schema forces.

        Returns scores, shape (n_rows, n_vocab), whose maximum is the next token of each row.
        """
        logprobs = logits.masked_fill(~self._mask_next_tokens(rows), -torch.inf).log_softmax(dim=-1)
        n_top = max(row.prompt.n_top for row in rows)
        top = torch.topk(logprobs, min(n_top, self._n_vocab))
        # topk does not guarantee the order of equal values. argmax returns the first.
        best = logprobs.argmax(dim=-1).tolist()
        fed = list(best)
        for index, (row, token) in enumerate(zip(rows, best, strict=True)):
            if row.is_done:
                continue
            if row.pending:
                fed[index] = row.pending.pop(0)
                continue
            if token in self._ends:
                row.is_done = True
            else:
                ranked = zip(top.indices[index].tolist(), top.values[index].tolist(), strict=True)
                alternatives = tuple(
                    (self.pieces[t], p) for t, p in [*ranked][: row.prompt.n_top] if p > -torch.inf
                )
                logprob = float(logprobs[index, token])
                row.choices.append(TokenChoice(self.pieces[token], logprob, alternatives))
                row.written.append(token)
                if row.matcher is not None:
                    row.matcher.consume_token(token)
                self._force(row)
            if row.is_done:
                report(row)
        return torch.nn.functional.one_hot(torch.tensor(fed), self._n_vocab).float()

    def _mask_next_tokens(self, rows: Sequence[_BatchRow]) -> torch.Tensor:
        masks = torch.ones((len(rows), self._n_vocab), dtype=torch.bool)
        for row, mask in zip(rows, masks, strict=True):
            if row.matcher is not None and not row.pending and not row.is_done:
                biases = bytearray(row.matcher.compute_logit_bias())  # 0 for forbidden tokens
                mask.copy_(torch.frombuffer(biases, dtype=torch.uint8))
        return masks

    def _force(self, row: _BatchRow) -> None:
        """Append the tokens that the schema forces. End the reply if it is complete or too long."""
        matcher, limit = row.matcher, row.prompt.max_tokens
        if matcher is None:
            row.is_done = row.is_cut = len(row.written) >= limit
            return
        forced = [t for t in matcher.compute_ff_tokens() if t not in self._ends]
        if forced:
            matcher.consume_tokens(forced)
            row.written += forced
            row.pending += forced
            row.choices += [TokenChoice(self.pieces[t], 0.0) for t in forced]
        is_complete = matcher.is_stopped() and not matcher.is_error()
        row.is_cut = len(row.written) >= limit + is_complete or matcher.is_error()
        row.is_done = is_complete or row.is_cut
        del row.written[limit:], row.choices[limit:]

    def _build_reply(self, row: _BatchRow) -> GeneratedReply:
        return GeneratedReply(
            text=str(self.tokenizer.decode(row.written, skip_special_tokens=True)),
            tokens=tuple(row.choices),
            n_prompt_tokens=row.n_prompt_tokens,
            n_computed_tokens=row.n_computed,
            is_cut=row.is_cut,
        )


def _list_end_tokens(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> frozenset[int]:
    config: Any = model.generation_config
    eos = config.eos_token_id if config is not None else None
    ids = (tokenizer.eos_token_id, *(eos if isinstance(eos, list) else [eos]))
    return frozenset(token for token in ids if isinstance(token, int))
