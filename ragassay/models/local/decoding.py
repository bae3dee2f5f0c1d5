"""One reply in the making, and the choice of the next token of many."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from ragassay.models.local.radix import Node
from ragassay.models.local.replies import Prompt, TokenChoice

if TYPE_CHECKING:
    from llguidance import LLMatcher

    from ragassay.models.local.grammar import GrammarBook


@dataclass(eq=False)
class Branch:
    """A prompt being answered.

    Attributes:
        prefix: All tokens known at the start but the last; what the tree stores.
        pending: Tokens that the model has not been fed yet; at first the last known one.
        position: Position of the first pending token.
    """

    prompt: Prompt
    matcher: LLMatcher | None
    n_prompt_tokens: int
    prefix: list[int] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)
    position: int = 0
    leaf: Node | None = None
    n_computed: int = 0
    chosen: list[TokenChoice] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    is_done: bool = False
    is_cut: bool = False

    @property
    def slots(self) -> list[int]:
        """Return the slots of its prefix."""
        path = self.leaf.path() if self.leaf is not None else []
        return [slot for node in path for slot in node.slots]


class Chooser:
    """Choose greedily under each branch's grammar.

    Args:
        book: The tokenizer's grammars.
        ends: Tokens that end a reply.
    """

    def __init__(self, book: GrammarBook, ends: Set[int]) -> None:
        self._book = book
        self._ends = ends

    def start(self, prompt: Prompt, tokens: Sequence[int]) -> Branch:
        """Return a branch with its prompt's tokens and those that the schema forces after them.

        Raises:
            RefusedError: The schema is not usable.
        """
        matcher = self._book.matcher(prompt.schema) if prompt.schema is not None else None
        branch = Branch(prompt, matcher, len(tokens))
        self._force(branch)
        known = [*tokens, *branch.written]
        branch.prefix, branch.pending = known[:-1], known[-1:]
        branch.position = len(branch.prefix)
        return branch

    def choose(self, branches: Sequence[Branch], logits: torch.Tensor) -> None:
        """Append to each branch its likeliest allowed token, and all that is forced after it.

        Args:
            branches: Those that go on.
            logits: shape (n_branches, n_vocab), float32; overwritten.
        """
        matchers = [branch.matcher for branch in branches]
        if any(matcher is not None for matcher in matchers):
            allowed = torch.from_numpy(self._book.allowed(matchers))
            logits.masked_fill_(~allowed, -torch.inf)
        logprobs = torch.log_softmax(logits, dim=-1)
        n_top = max(branch.prompt.n_top for branch in branches)
        top = torch.topk(logprobs, min(n_top, logprobs.shape[-1]))
        # argmax, not the first of topk: only argmax takes the first of equals for sure.
        for branch, token, row, best, ids in zip(
            branches,
            logprobs.argmax(dim=-1).tolist(),
            logprobs,
            top.values.tolist(),
            top.indices.tolist(),
            strict=True,
        ):
            if token in self._ends:
                branch.is_done = True
                continue
            ranked = list(zip(ids, best, strict=True))[: branch.prompt.n_top]
            self._append(branch, token, float(row[token]), ranked)

    def _append(
        self, branch: Branch, token: int, logprob: float, ranked: list[tuple[int, float]]
    ) -> None:
        pieces = self._book.pieces
        top = tuple((pieces[t], p) for t, p in ranked if p > -torch.inf)
        branch.chosen.append(TokenChoice(pieces[token], logprob, top))
        branch.written.append(token)
        n_before = len(branch.written) - 1
        if branch.matcher is not None:
            branch.matcher.consume_token(token)
        self._force(branch)
        branch.pending = branch.written[n_before:]

    def _force(self, branch: Branch) -> None:
        """Append what the grammar forces; end the branch where it, or the limit, is reached."""
        matcher, limit = branch.matcher, branch.prompt.max_tokens
        if matcher is None:
            branch.is_done = branch.is_cut = len(branch.written) >= limit
            return
        forced = [t for t in matcher.compute_ff_tokens() if t not in self._ends]
        if forced:
            matcher.consume_tokens(forced)
            branch.written += forced
            branch.chosen += [TokenChoice(self._book.pieces[t], 0.0) for t in forced]
        is_whole = matcher.is_stopped() and not matcher.is_error()
        is_over = len(branch.written) >= limit + is_whole
        branch.is_cut = is_over or matcher.is_error()
        branch.is_done = is_whole or branch.is_cut
        del branch.written[limit:], branch.chosen[limit:]
