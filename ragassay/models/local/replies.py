"""Prompts and replies of the embedded judge, and chat tokenization."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_SLOT = "\x00{}\x00"


@dataclass(frozen=True)
class Prompt:
    """Chat to answer.

    Attributes:
        messages: Role and content of each message, in order.
        schema: JSON schema that the reply must satisfy, as JSON text, or None for free text.
        max_tokens: Maximum reply length, at least 1.
        n_top: Number of alternatives to report for each token.
    """

    messages: tuple[tuple[str, str], ...]
    schema: str | None = None
    max_tokens: int = 256
    n_top: int = 5

    @property
    def text(self) -> str:
        """Return the concatenated message contents."""
        return "".join(content for _, content in self.messages)


@dataclass(frozen=True)
class TokenChoice:
    """Token of a reply, with its log-probability and the most likely alternatives.

    Alternatives are sorted, most likely first, and include the token itself.
    """

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class GeneratedReply:
    """Generated reply, with its token counts.

    Attributes:
        tokens: Reply tokens. If there is a schema, probabilities are renormalized over the allowed
            tokens. A token forced by the schema has a log-probability of 0 and no alternatives.
        n_computed_tokens: Number of prompt tokens computed for this reply. Tokens shared by several
            prompts of a batch are counted for the first one.
        is_cut: Whether the reply reached `max_tokens`.
    """

    text: str
    tokens: tuple[TokenChoice, ...]
    n_prompt_tokens: int
    n_computed_tokens: int
    is_cut: bool


def measure_common_prefix(left: Sequence[object], right: Sequence[object]) -> int:
    """Return the length of the longest common prefix of two sequences."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(left), len(right)))


class ChatEncoder:
    """Encode chats with the model's chat template, treating message contents as plain text.

    Special tokens in a prompt come only from the template. If a message contains `<|im_end|>`, it
    is encoded as ordinary characters.

    Args:
        tokenizer: Fast tokenizer with a chat template.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self._tokenizer = tokenizer
        self._cached = functools.lru_cache(maxsize=256)(self._encode)

    def encode(self, messages: tuple[tuple[str, str], ...]) -> list[int]:
        """Return the tokens of the chat, up to the start of the assistant's reply."""
        return list(self._cached(messages))

    def _encode(self, messages: tuple[tuple[str, str], ...]) -> tuple[int, ...]:
        frame = self._tokenizer.apply_chat_template(
            [{"role": r, "content": _SLOT.format(n)} for n, (r, _) in enumerate(messages)],
            tokenize=False,
            add_generation_prompt=True,
        )
        assert isinstance(frame, str)  # because of `tokenize=False`
        tokens: list[int] = []
        for n, (_, content) in enumerate(messages):
            before, frame = frame.split(_SLOT.format(n), 1)
            tokens += self._tokenizer.encode(before, add_special_tokens=False)
            tokens += self._tokenizer.encode(
                content, add_special_tokens=False, split_special_tokens=True
            )
        return (*tokens, *self._tokenizer.encode(frame, add_special_tokens=False))
