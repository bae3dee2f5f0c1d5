"""Make up log-probabilities in the form of the chat-completions protocol."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

TopLogprob: TypeAlias = tuple[str, float]

_TOKEN = re.compile(r"\d+| ?[^\W\d]+|\s+|[^\w\s]")
_RATINGS = ("1", "2", "3", "4", "5")
_OTHERS = tuple(
    f" {word}"
    for word in (
        *("the", "a", "of", "and", "in", "is", "to", "not", "with", "for"),
        *("or", "by", "was", "are", "that", "no", "as", "on", "this", "it", "at"),
    )
)
_CERTAINTY = 0.999
_NEVER = -50.0


def tokenise(text: str) -> tuple[str, ...]:
    """Split a text into numbers, words, white space and single signs; joined, they equal the text.

    A word keeps the space before it, as in the vocabularies of real models.

    Example:
        >>> tokenise('{"score":4}')
        ('{', '"', 'score', '"', ':', '4', '}')
        >>> tokenise("in 20 adults")
        ('in', ' ', '20', ' adults')
    """
    return tuple(_TOKEN.findall(text))


def build_logprobs(
    text: str, n_top: int, seed: str
) -> Mapping[str, Sequence[Mapping[str, object]]]:
    """Build the `logprobs` object of a choice, with one entry of `content` for each token.

    Args:
        text: The reply; the tokens joined are this text.
        n_top: The number of alternatives of each token, itself included; 0 to 20.
        seed: The same seed gives the same numbers in any process.
    """
    return {
        "content": [
            _entry(token, _distribution(token, f"{seed}|{position}"), n_top)
            for position, token in enumerate(tokenise(text))
        ]
    }


def _distribution(token: str, seed: str) -> tuple[TopLogprob, ...]:
    return _rating_distribution(token, seed) if token in _RATINGS else _word_distribution(token)


def _rating_distribution(token: str, seed: str) -> tuple[TopLogprob, ...]:
    """Return probabilities of "1" to "5", peaked at the token; likeliest first. They sum to 1."""
    digest = hashlib.sha256(seed.encode()).digest()
    sharpness = 0.7 + 2.0 * digest[0] / 255
    lean = 0.4 * (digest[1] / 255 - 0.5)
    chosen = int(token)
    weights = {
        rating: math.exp(-sharpness * abs(int(rating) - chosen) + lean * (int(rating) - chosen))
        for rating in _RATINGS
    }
    total = sum(weights.values())
    ratings = [(rating, math.log(weight / total)) for rating, weight in weights.items()]
    ratings.sort(key=lambda pair: (-pair[1], pair[0]))
    return (*ratings, *((other, _NEVER - rank) for rank, other in enumerate(_OTHERS)))


@lru_cache(maxsize=4096)
def _word_distribution(token: str) -> tuple[TopLogprob, ...]:
    """Return the token, nearly certain, and alternatives, each half as likely as the one before."""
    others = [other for other in _OTHERS if other != token]
    alternatives = (
        (other, math.log((1 - _CERTAINTY) / 2 ** (rank + 1))) for rank, other in enumerate(others)
    )
    return ((token, math.log(_CERTAINTY)), *alternatives)


def _entry(token: str, distribution: Sequence[TopLogprob], n_top: int) -> Mapping[str, object]:
    top = [_token(*pair) for pair in distribution[:n_top]]
    return {**_token(*distribution[0]), "top_logprobs": top}


def _token(token: str, logprob: float) -> Mapping[str, object]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}
