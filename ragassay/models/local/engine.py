"""Greedy decoding of many prompts at once, each computed only where it differs from the others.

The prompts of a batch become one radix tree. Its new nodes are computed as packed rows under an
ancestor mask; then all prompts decode together, one token each a step. A JSON schema, where one is
given, bounds every token (llguidance), and what the schema forces is not asked of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ragassay.errors import PromptTooLongError
from ragassay.models.local.chat import ChatEncoder
from ragassay.models.local.kv_cache import ATTENTION, PackedPass, SlotStore, grouped_attention
from ragassay.models.local.radix import Node, RadixTree

if TYPE_CHECKING:
    from llguidance import LLMatcher
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

N_TOKENS_A_PASS = 768
"""Prompt tokens computed in one forward pass: large enough for full speed, small enough that the
mask and the scores stay in cache."""

N_SLOTS_KEPT = 16_384
"""Key/value slots kept between batches: about two answers with their sources."""


@dataclass(frozen=True)
class Prompt:
    """A chat to answer.

    Attributes:
        messages: Role and content of each message, in order.
        schema: JSON schema, as JSON, that the reply must satisfy; None for free text.
        max_tokens: The reply is cut after so many tokens.
        n_top: How many alternatives to report for each token.
    """

    messages: tuple[tuple[str, str], ...]
    schema: str | None = None
    max_tokens: int = 256
    n_top: int = 5

    @property
    def text(self) -> str:
        """The contents of the messages, one after the other."""
        return "".join(content for _, content in self.messages)


@dataclass(frozen=True)
class TokenChoice:
    """A token of a reply: its text, its log-probability, and its best alternatives."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Reply:
    """What the model wrote.

    Attributes:
        text: The reply.
        tokens: Its tokens. Under a schema, probabilities are renormalised over what the schema
            allows; a token that it forces has log-probability 0.
        n_prompt_tokens: Length of the prompt.
        n_computed_tokens: How many of the prompt's tokens had to be computed for the batch's
            first prompt that needed them; the sum over a batch is the batch's cost.
        is_cut: Whether `max_tokens` ended it.
    """

    text: str
    tokens: tuple[TokenChoice, ...]
    n_prompt_tokens: int
    n_computed_tokens: int
    is_cut: bool


@dataclass(eq=False)
class _Branch:
    """A prompt being answered.

    Attributes:
        prefix: All known tokens but the last; what the tree stores.
        pending: Tokens that the model has not been fed yet; at first the last known one.
        position: Position of the first pending token.
    """

    prompt: Prompt
    n_prompt_tokens: int
    prefix: list[int]
    pending: list[int]
    position: int
    matcher: LLMatcher | None
    leaf: Node | None = None
    n_computed: int = 0
    chosen: list[TokenChoice] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    is_done: bool = False
    is_cut: bool = False

    @property
    def path(self) -> list[Node]:
        return self.leaf.path() if self.leaf is not None else []


class Engine:
    """A causal language model that answers batches of prompts.

    Not safe for concurrent use: one thread owns it.

    Args:
        model: A decoder-only transformers model, in evaluation mode.
        tokenizer: Its fast tokenizer.
    """

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        import llguidance.hf
        from transformers import AttentionInterface

        AttentionInterface.register(ATTENTION, grouped_attention)
        model.set_attn_implementation(ATTENTION)
        self._model = model
        self._tokenizer = tokenizer
        self._chat = ChatEncoder(tokenizer)
        self._grammar_tokens = llguidance.hf.from_tokenizer(tokenizer, slices=[])
        self._n_vocab = model.config.vocab_size
        self._eos = tokenizer.eos_token_id
        self._pieces = [self._grammar_tokens.decode_str([i]) for i in range(len(tokenizer))]
        self._grammars: dict[str, str] = {}
        self._reset()

    @property
    def context_length(self) -> int:
        """Most tokens that prompt and reply may have together."""
        return int(self._model.config.max_position_embeddings)

    def _reset(self) -> None:
        self._tree = RadixTree()
        self._store = SlotStore(self._model.config, self._model.dtype)

    def check_length(self, prompt: Prompt) -> None:
        """Refuse a prompt that leaves no room for its reply.

        Raises:
            PromptTooLongError: Prompt and longest reply exceed the context.
        """
        n_tokens = len(self._chat.encode(prompt.messages))
        if n_tokens + prompt.max_tokens > self.context_length:
            raise PromptTooLongError(
                f"prompt of {n_tokens} tokens and reply of {prompt.max_tokens} exceed the "
                f"model's context of {self.context_length}"
            )

    @torch.inference_mode()
    def answer(
        self, prompts: Sequence[Prompt], on_done: Callable[[int, Reply], None] | None = None
    ) -> list[Reply]:
        """Answer prompts together.

        Args:
            prompts: Any number; those that share prefixes cost the shared part once.
            on_done: Called with position and reply as each one ends, before the batch does.

        Returns:
            Replies in the order of `prompts`.
        """
        branches = [self._start(prompt) for prompt in prompts]
        replies: dict[int, Reply] = {}
        is_finished = False
        try:
            self._prefill(branches)
            for position in self._decode(branches):
                replies[position] = self._reply(branches[position])
                if on_done is not None:
                    on_done(position, replies[position])
            is_finished = True
        finally:
            if not is_finished:
                self._reset()
        return [replies[position] for position in range(len(branches))]

    def _start(self, prompt: Prompt) -> _Branch:
        tokens = self._chat.encode(prompt.messages)
        matcher = self._matcher(prompt.schema)
        forced = matcher.compute_ff_tokens() if matcher else []
        if matcher and forced:
            matcher.consume_tokens(forced)
        known = tokens + forced
        return _Branch(
            prompt,
            n_prompt_tokens=len(tokens),
            prefix=known[:-1],
            pending=known[-1:],
            position=len(known) - 1,
            matcher=matcher,
            chosen=[TokenChoice(self._pieces[t], 0.0) for t in forced],
            written=list(forced),
        )

    def _matcher(self, schema: str | None) -> LLMatcher | None:
        if schema is None:
            return None
        import json

        from llguidance import LLMatcher

        if schema not in self._grammars:
            self._grammars[schema] = LLMatcher.grammar_from_json_schema(
                json.loads(schema), defaults={"whitespace_flexible": False}
            )
        return LLMatcher(self._grammar_tokens, self._grammars[schema])

    def _prefill(self, branches: Sequence[_Branch]) -> None:
        """Compute what of the prompts no earlier batch has left behind."""
        for branch in branches:
            self._tree.insert(branch.prefix)
        # Later prompts split the nodes of earlier ones, so leaves are looked up when all are in.
        leaves = [self._tree.insert(branch.prefix) for branch in branches]
        if self._store.n_slots > N_SLOTS_KEPT:
            self._evict(leaves)
        counted: set[int] = set()
        for branch, leaf in zip(branches, leaves, strict=True):
            branch.leaf = leaf
            fresh = [n for n in leaf.path() if not n.is_computed and id(n) not in counted]
            counted.update(id(n) for n in fresh)
            branch.n_computed = sum(len(n.tokens) for n in fresh)
        for group in _passes(self._tree.missing(leaves)):
            self._compute(group)

    def _evict(self, leaves: Sequence[Node]) -> None:
        """Keep the slots that this batch uses, and no others."""
        self._tree.keep(leaves)
        nodes = [node for node in self._tree if node.is_computed]
        self._store = self._store.gather([slot for node in nodes for slot in node.slots])
        start = 0
        for node in nodes:
            node.slots = range(start, start + len(node.tokens))
            start += len(node.tokens)

    def _compute(self, parts: Sequence[tuple[Node, int, int]]) -> None:
        """Run the model over runs of tokens of nodes, packed into one row."""
        seen, mask = _ancestor_mask(parts)
        tokens = [t for node, start, end in parts for t in node.tokens[start:end]]
        positions = [
            node.start + i for node, start, end in parts for i in range(start, end)
        ]
        new = self._store.reserve(len(tokens))
        self._forward_base(
            tokens,
            positions,
            mask,
            PackedPass(self._store, new, torch.as_tensor(seen, dtype=torch.long)),
        )
        offset = new.start
        for node, start, end in parts:
            node.slots = (*node.slots, *range(offset, offset + end - start))
            offset += end - start

    def _forward_base(
        self, tokens: list[int], positions: list[int], mask: np.ndarray, cache: PackedPass
    ) -> torch.Tensor:
        """Hidden states, shape (1, n_tokens, hidden_size)."""
        added = torch.zeros(mask.shape, dtype=self._model.dtype)
        added.masked_fill_(torch.from_numpy(~mask), torch.finfo(self._model.dtype).min)
        base: Any = self._model.base_model
        return base(
            input_ids=torch.tensor([tokens]),
            position_ids=torch.tensor([positions]),
            attention_mask=added[None, None],
            past_key_values=cache,
            use_cache=True,
        ).last_hidden_state

    def _decode(self, branches: Sequence[_Branch]) -> Iterator[int]:
        """Decode all branches together; yield the positions of those that end, as they end."""
        live = list(range(len(branches)))
        store, owned = self._private_store(branches)
        while live:
            logits, owned = self._step([branches[i] for i in live], live, store, owned)
            for row, i in enumerate(live):
                self._choose(branches[i], logits[row])
            ended = [i for i in live if branches[i].is_done]
            yield from ended
            live = [i for i in live if not branches[i].is_done]
            n_useful = int(owned[live].any(axis=0).sum()) if live else 0
            if live and n_useful < store.n_slots // 2:
                store, owned = _compacted(store, owned, live)

    def _private_store(self, branches: Sequence[_Branch]) -> tuple[SlotStore, np.ndarray]:
        """Copies of the slots that the branches see, and who sees which: (n_branches, n_slots)."""
        columns: dict[int, int] = {}
        paths = [[s for node in b.path for s in node.slots] for b in branches]
        for path in paths:
            for slot in path:
                columns.setdefault(slot, len(columns))
        owned = np.zeros((len(branches), len(columns)), dtype=bool)
        for row, path in enumerate(paths):
            owned[row, [columns[slot] for slot in path]] = True
        return self._store.gather(list(columns)), owned

    def _step(
        self, branches: list[_Branch], rows: list[int], store: SlotStore, owned: np.ndarray
    ) -> tuple[torch.Tensor, np.ndarray]:
        """Feed each branch its pending tokens; return the logits after the last of each."""
        lengths = [len(b.pending) for b in branches]
        tokens = [t for b in branches for t in b.pending]
        positions = [b.position + i for b in branches for i in range(len(b.pending))]
        grown = np.zeros((owned.shape[0], owned.shape[1] + len(tokens)), dtype=bool)
        grown[:, : owned.shape[1]] = owned
        mask = np.zeros((len(tokens), grown.shape[1]), dtype=bool)
        offset = 0
        for row, n in zip(rows, lengths, strict=True):
            own = slice(owned.shape[1] + offset, owned.shape[1] + offset + n)
            mask[offset : offset + n, : owned.shape[1]] = owned[row]
            mask[offset : offset + n, own] = np.tri(n, dtype=bool)
            grown[row, own] = True
            offset += n
        cache = PackedPass(store, store.reserve(len(tokens)), None)
        hidden = self._forward_base(tokens, positions, mask, cache)
        for branch in branches:
            branch.position += len(branch.pending)
        last = torch.as_tensor(np.cumsum(lengths) - 1)
        return self._model.lm_head(hidden[0, last]).float(), grown

    def _choose(self, branch: _Branch, logits: torch.Tensor) -> None:
        """Take the likeliest token that the schema allows, and all that it forces after it."""
        if branch.matcher is not None:
            from llguidance.torch import (
                allocate_token_bitmask,
                apply_token_bitmask_inplace,
                fill_next_token_bitmask,
            )

            bits = allocate_token_bitmask(1, self._n_vocab)
            fill_next_token_bitmask(branch.matcher, bits, 0)
            apply_token_bitmask_inplace(logits[None], bits)
        logprobs = torch.log_softmax(logits, dim=-1)
        token = int(torch.argmax(logprobs))
        if token == self._eos:
            branch.is_done = True
            return
        best = torch.topk(logprobs, max(1, branch.prompt.n_top))
        top = tuple(
            (self._pieces[int(t)], float(p))
            for p, t in zip(best.values, best.indices, strict=True)
            if p > -torch.inf
        )
        branch.chosen.append(TokenChoice(self._pieces[token], float(logprobs[token]), top))
        branch.written.append(token)
        branch.pending = [token]
        self._follow(branch, token)
        if not branch.is_done and len(branch.written) >= branch.prompt.max_tokens:
            branch.is_done = branch.is_cut = True

    def _follow(self, branch: _Branch, token: int) -> None:
        """Tell the grammar of a token; append what it forces next."""
        if branch.matcher is None:
            return
        branch.matcher.consume_token(token)
        forced = branch.matcher.compute_ff_tokens()
        if forced:
            branch.matcher.consume_tokens(forced)
            branch.pending.extend(forced)
            branch.written.extend(forced)
            branch.chosen.extend(TokenChoice(self._pieces[t], 0.0) for t in forced)
        branch.is_done = branch.matcher.is_stopped()

    def _reply(self, branch: _Branch) -> Reply:
        kept = [t for t in branch.written if t != self._eos]
        return Reply(
            text=self._tokenizer.decode(kept, skip_special_tokens=True),
            tokens=tuple(branch.chosen),
            n_prompt_tokens=branch.n_prompt_tokens,
            n_computed_tokens=branch.n_computed,
            is_cut=branch.is_cut,
        )


def _passes(nodes: Sequence[Node]) -> list[list[tuple[Node, int, int]]]:
    """Cut nodes (parents first) into passes of at most `N_TOKENS_A_PASS` tokens."""
    passes: list[list[tuple[Node, int, int]]] = [[]]
    room = N_TOKENS_A_PASS
    for node in nodes:
        start = 0
        while start < len(node.tokens):
            if room == 0:
                passes.append([])
                room = N_TOKENS_A_PASS
            end = min(len(node.tokens), start + room)
            passes[-1].append((node, start, end))
            room -= end - start
            start = end
    return [p for p in passes if p]


def _ancestor_mask(parts: Sequence[tuple[Node, int, int]]) -> tuple[list[int], np.ndarray]:
    """Which computed slots a pass sees, and which token sees which.

    Returns:
        The slots, and a mask of shape (n_new, n_slots + n_new), true where visible.
    """
    columns: dict[int, int] = {}
    for node, _, _ in parts:
        for ancestor in node.path():
            for slot in ancestor.slots:
                columns.setdefault(slot, len(columns))
    n_new = sum(end - start for _, start, end in parts)
    mask = np.zeros((n_new, len(columns) + n_new), dtype=bool)
    own: dict[int, slice] = {}
    offset = 0
    for node, start, end in parts:
        rows = slice(offset, offset + end - start)
        for ancestor in node.path():
            mask[rows, [columns[s] for s in ancestor.slots]] = True
            if id(ancestor) in own:
                fresh = own[id(ancestor)]
                mask[rows, len(columns) + fresh.start : len(columns) + fresh.stop] = True
        here = slice(len(columns) + offset, len(columns) + offset + end - start)
        mask[rows, here] = np.tri(end - start, dtype=bool)
        own[id(node)] = rows
        offset += end - start
    return list(columns), mask


def _compacted(
    store: SlotStore, owned: np.ndarray, live: Sequence[int]
) -> tuple[SlotStore, np.ndarray]:
    """Drop the slots that no live branch sees."""
    useful = np.flatnonzero(owned[list(live)].any(axis=0))
    return store.gather(useful.tolist()), owned[:, useful]
