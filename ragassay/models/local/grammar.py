"""JSON schemas as bounds on the next token, by llguidance."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from ragassay.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llguidance import LLMatcher
    from numpy.typing import NDArray
    from transformers import PreTrainedTokenizerFast

N_KEPT = 256
"""Compiled schemas that are kept, the latest: a server's clients may send any number."""


class GrammarBook:
    """The grammars of one tokenizer, each schema compiled once while it is in use.

    Args:
        tokenizer: The model's fast tokenizer.
        n_vocab: Width of the model's output; may exceed the tokenizer's vocabulary.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast, n_vocab: int) -> None:
        import llguidance.hf

        self._tokens = llguidance.hf.from_tokenizer(tokenizer, n_vocab=n_vocab, slices=[])
        self._n_vocab = n_vocab
        self._compiled: OrderedDict[str, LLMatcher] = OrderedDict()
        self.pieces = [self._tokens.decode_str([i]) for i in range(n_vocab)]

    def matcher(self, schema: str) -> LLMatcher:
        """Return a matcher at the start of a reply.

        Raises:
            RefusedError: The schema is no JSON, or holds what llguidance cannot enforce.
        """
        from llguidance import LLMatcher

        if schema not in self._compiled:
            try:
                grammar = LLMatcher.grammar_from_json_schema(
                    json.loads(schema), defaults={"whitespace_flexible": False}
                )
            except ValueError as error:
                raise RefusedError(f"the reply's schema is not usable: {error}") from error
            # Level 0: llguidance would print what is wrong, which the error below says.
            matcher = LLMatcher(self._tokens, grammar, log_level=0)
            if matcher.is_error():
                raise RefusedError(f"the reply's schema is not usable: {matcher.get_error()}")
            self._compiled[schema] = matcher
            if len(self._compiled) > N_KEPT:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(schema)
        return self._compiled[schema].deep_copy()

    def allowed(self, matchers: Sequence[LLMatcher | None]) -> NDArray[np.bool_]:
        """Return which tokens may come next, shape (n_matchers, n_vocab); for None, all of them."""
        n_words = (self._n_vocab + 31) // 32
        bits = np.full((len(matchers), n_words), -1, dtype=np.int32)
        for row, matcher in zip(bits, matchers, strict=True):
            if matcher is not None:
                matcher.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)
        flags = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")
        return flags[:, : self._n_vocab].view(bool)
