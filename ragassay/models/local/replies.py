"""The prompts and replies of the embedded judge, and chat messages as tokens."""

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
    """A chat to answer.

    Attributes:
        messages: Role and content of each message, in order.
        schema: JSON schema, as JSON, that the reply must satisfy; None for free text.
        max_tokens: The reply is cut after so many tokens; at least 1.
        n_top: How many alternatives to report for each token; 0 for none.
    """

    messages: tuple[tuple[str, str], ...]
    schema: str | None = None
    max_tokens: int = 256
    n_top: int = 5

    @property
    def text(self) -> str:
        """Return the contents of the messages, joined."""
        return "".join(content for _, content in self.messages)


@dataclass(frozen=True)
class TokenChoice:
    """A token of a reply: its text, its log-probability, and its best alternatives.

    The alternatives are in order, the likeliest first, and hold the token itself.
    """

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class GeneratedReply:
    """A reply and what it took.

    Attributes:
        tokens: Its tokens. Under a schema, probabilities are renormalised over what the schema
            allows; a token that it forces has log-probability 0 and no alternatives.
        n_computed_tokens: How many of the prompt's tokens were computed for it; those that a batch
            shares count for its first prompt.
        is_cut: Whether `max_tokens` ended it.
    """

    text: str
    tokens: tuple[TokenChoice, ...]
    n_prompt_tokens: int
    n_computed_tokens: int
    is_cut: bool


def common_prefix_length(left: Sequence[object], right: Sequence[object]) -> int:
    """Return how many leading items two sequences share."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(left), len(right)))


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
