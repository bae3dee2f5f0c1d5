"""Greedy decoding of many prompts at once, each computed only where it differs from the others.

The prompts of a batch become one radix tree. Its new nodes are computed as packed rows under an
ancestor mask; then all prompts decode together, one token each a step. A JSON schema, where one is
given, bounds every token, and what the schema forces is not asked of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, cast

import torch

from ragassay.errors import PromptTooLongError
from ragassay.models.local.chat import ChatEncoder
from ragassay.models.local.decoding import Branch, Chooser
from ragassay.models.local.grammar import GrammarBook
from ragassay.models.local.kv_cache import ATTENTION, PackedPass, SlotStore, grouped_attention
from ragassay.models.local.passes import Part, Visibility, ancestor_mask, cut_into_passes
from ragassay.models.local.radix import Node, RadixTree
from ragassay.models.local.replies import Prompt, Reply, TokenChoice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

__all__ = ["Engine", "Prompt", "Reply", "TokenChoice"]

N_TOKENS_A_PASS = 384
"""Prompt tokens computed in one forward pass: enough for full speed, few enough that little of
the attention falls on slots of other prompts."""

N_SLOTS_KEPT = 16_384
"""Key/value slots kept between batches: about two answers with their sources."""

USEFUL_SHARE = 0.9
"""While decoding, slots are copied together when less than this share of them is still seen."""


def cache_keyword(model: torch.nn.Module) -> str:
    """Return the name by which a model of transformers takes its cache: 5.24 renamed it."""
    return "cache" if "cache" in signature(model.forward).parameters else "past_key_values"


class Engine:
    """A causal language model that answers batches of prompts.

    Not safe for concurrent use: one thread owns it.

    Args:
        model: A decoder-only transformers model, in evaluation mode, whose logits are its
            `lm_head` applied to its hidden states.
        tokenizer: Its fast tokenizer.
    """

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
        from transformers import AttentionInterface

        AttentionInterface.register(ATTENTION, grouped_attention)
        model.set_attn_implementation(ATTENTION)
        self._model = model
        self._cache_keyword = cache_keyword(model.base_model)
        self._tokenizer = tokenizer
        self._chat = ChatEncoder(tokenizer)
        # In bfloat16, logits around 20 are multiples of 1/8: too coarse for the probabilities of
        # ratings. The last product is therefore always float32.
        head: Any = model.get_output_embeddings()
        self._head_weight = head.weight.detach().float()
        chooser_book = GrammarBook(tokenizer, len(self._head_weight))
        self._chooser = Chooser(chooser_book, _ends(model, tokenizer))
        self._reset()

    @property
    def context_length(self) -> int:
        """Return the most tokens that prompt and reply may have together."""
        return int(self._model.config.max_position_embeddings)

    def _reset(self) -> None:
        self._tree = RadixTree()
        self._store = SlotStore(self._model.config, self._model.dtype)

    def check(self, prompt: Prompt) -> None:
        """Refuse a prompt that cannot be answered.

        Raises:
            PromptTooLongError: Prompt and longest reply exceed the context.
            RefusedError: The schema is not usable.
        """
        n_tokens = self._start(prompt).n_prompt_tokens
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

    def _start(self, prompt: Prompt) -> Branch:
        return self._chooser.start(prompt, self._chat.encode(prompt.messages))

    def _prefill(self, branches: Sequence[Branch]) -> None:
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
        for parts in cut_into_passes(self._tree.missing(leaves), N_TOKENS_A_PASS):
            self._compute(parts)

    def _evict(self, leaves: Sequence[Node]) -> None:
        """Keep the slots that this batch uses, and no others."""
        self._tree.keep(leaves)
        nodes = [node for node in self._tree if node.is_computed]
        self._store = self._store.gather([slot for node in nodes for slot in node.slots])
        start = 0
        for node in nodes:
            node.slots = range(start, start + len(node.tokens))
            start += len(node.tokens)

    def _compute(self, parts: Sequence[Part]) -> None:
        """Run the model over parts of nodes, packed into one row."""
        seen, mask = ancestor_mask(parts)
        tokens = [token for part in parts for token in part.tokens]
        positions = [position for part in parts for position in part.positions]
        new = self._store.reserve(len(tokens))
        self._hidden(tokens, positions, mask, PackedPass(self._store, new, seen))
        offset = new.start
        for part in parts:
            end = offset + len(part.tokens)
            part.node.slots = (*part.node.slots, *range(offset, end))
            offset = end

    def _hidden(
        self,
        tokens: list[int],
        positions: list[int],
        mask: NDArray[np.bool_],
        cache: PackedPass,
    ) -> torch.Tensor:
        """Return hidden states, shape (n_tokens, hidden_size)."""
        # Added, not boolean: each layer would convert a boolean mask anew.
        added = torch.zeros(mask.shape, dtype=self._model.dtype)
        added.masked_fill_(torch.from_numpy(~mask), torch.finfo(added.dtype).min)
        config, base = self._model.config, cast("Any", self._model.base_model)
        n_rows = config.num_attention_heads // config.num_key_value_heads
        states = base(
            input_ids=torch.tensor([tokens]),
            position_ids=torch.tensor([positions]),
            attention_mask=added.repeat(n_rows, 1)[None, None],
            use_cache=True,
            **{self._cache_keyword: cache},
        ).last_hidden_state
        return states[0]

    def _decode(self, branches: Sequence[Branch]) -> Iterator[int]:
        """Decode all branches together; yield the positions of those that end, as they end."""
        yield from (i for i, branch in enumerate(branches) if branch.is_done)
        live = [i for i, branch in enumerate(branches) if not branch.is_done]
        sight = Visibility([branch.slots for branch in branches])
        store = self._store.gather(sight.slots)
        while live:
            logits = self._step([branches[i] for i in live], live, store, sight)
            self._chooser.choose([branches[i] for i in live], logits)
            yield from (i for i in live if branches[i].is_done)
            live = [i for i in live if not branches[i].is_done]
            useful = sight.useful(live)
            if len(useful) < USEFUL_SHARE * store.n_slots:
                sight.keep(useful)
                store = store.gather(useful.tolist())

    def _step(
        self, branches: list[Branch], rows: list[int], store: SlotStore, sight: Visibility
    ) -> torch.Tensor:
        """Feed each branch its pending tokens; return the logits after the last of each."""
        lengths = [len(branch.pending) for branch in branches]
        tokens = [token for branch in branches for token in branch.pending]
        positions = [b.position + i for b in branches for i in range(len(b.pending))]
        mask = sight.extend(rows, lengths)
        hidden = self._hidden(
            tokens, positions, mask, PackedPass(store, store.reserve(len(tokens)))
        )
        for branch in branches:
            branch.position += len(branch.pending)
        last = torch.tensor(lengths).cumsum(0) - 1
        return torch.nn.functional.linear(hidden[last].float(), self._head_weight)

    def _reply(self, branch: Branch) -> Reply:
        return Reply(
            text=str(self._tokenizer.decode(branch.written, skip_special_tokens=True)),
            tokens=tuple(branch.chosen),
            n_prompt_tokens=branch.n_prompt_tokens,
            n_computed_tokens=branch.n_computed,
            is_cut=branch.is_cut,
        )


def _ends(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> frozenset[int]:
    """Return the tokens that end a reply: the tokenizer's, and those the model's settings name."""
    config: Any = model.generation_config
    named = config.eos_token_id if config is not None else None
    also = named if isinstance(named, list) else [named]
    return frozenset(t for t in (tokenizer.eos_token_id, *also) if isinstance(t, int))
