"""The prompts and replies of the embedded judge."""

from __future__ import annotations

from dataclasses import dataclass


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
class Reply:
    """A reply and what it took.

    Attributes:
        text: The reply.
        tokens: Its tokens. Under a schema, probabilities are renormalised over what the schema
            allows; a token that it forces has log-probability 0 and no alternatives.
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
