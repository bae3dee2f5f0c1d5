"""Turn chat messages into tokens; no content can pass for the chat's own marks."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_SLOT = "\x00{}\x00"


class ChatEncoder:
    """Render the model's chat template around contents that are tokenised as plain text.

    A content that spells `<|im_end|>` becomes the ordinary tokens of these characters: the
    template's marks are the only special tokens of a prompt.

    Args:
        tokenizer: A fast tokenizer with a chat template.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self._tokenizer = tokenizer
        self._cached = functools.lru_cache(maxsize=256)(self._encode)

    def encode(self, messages: tuple[tuple[str, str], ...]) -> list[int]:
        """Return the tokens of the chat, ending where the assistant's reply starts."""
        return list(self._cached(messages))

    def _encode(self, messages: tuple[tuple[str, str], ...]) -> tuple[int, ...]:
        frame = self._tokenizer.apply_chat_template(
            [{"role": r, "content": _SLOT.format(n)} for n, (r, _) in enumerate(messages)],
            tokenize=False,
            add_generation_prompt=True,
        )
        assert isinstance(frame, str)  # as `tokenize=False` promises
        tokens: list[int] = []
        for n, (_, content) in enumerate(messages):
            before, frame = frame.split(_SLOT.format(n), 1)
            tokens += self._tokenizer.encode(before, add_special_tokens=False)
            tokens += self._tokenizer.encode(
                content, add_special_tokens=False, split_special_tokens=True
            )
        return (*tokens, *self._tokenizer.encode(frame, add_special_tokens=False))
