"""Compute a distribution over a field's labels from a model's tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ragassay.agents.replies import read_reply
from ragassay.agents.sampling import Decision, Samples

_LEAD = ' \t\r\n":'
_END = re.compile(r'[\s",}\]]')


def choice_distribution(
    logprobs: Any, field: str, labels: Sequence[str]
) -> dict[str, float] | None:
    """Return the probability of each label where the reply's JSON has `field`.

    The tokens of the field's value are found by position. A token, with the part of the value
    before it, counts for the only label that it starts. If it starts several, the next token
    decides where it is the one that was written; otherwise it counts for none. The probability
    outside the alternatives is not distributed: the distribution is renormalised over them.

    Args:
        logprobs: `choices[0].logprobs` of the reply; None where the model returns none;
            a `Decision` or `Samples` may stand in their place.
        field: The field's name.
        labels: All possible values of the field.

    Returns:
        Probabilities by label, in the order of `labels`, summing to 1; None where they cannot be
        determined.
    """
    if isinstance(logprobs, Decision | Samples):
        return logprobs.shares(field, labels)
    tokens = list(getattr(logprobs, "content", None) or ())
    weights = dict.fromkeys(labels, 0.0)
    written, reach, was_open = "", 1.0, False
    for token, piece in _value_tokens(tokens, field):
        options = [(o.token, _probability(o.logprob)) for o in token.top_logprobs or ()]
        was_open = was_open or bool(options)
        if all(text != token.token for text, _ in options):
            # A token that the grammar forces has no alternatives.
            options.append((token.token, _probability(token.logprob)))
        for text, probability in options:
            meant = _meant(written, piece if text == token.token else text, labels)
            if len(meant) == 1:
                weights[meant[0]] += reach * probability
        chosen = _clean(written, piece)
        if len(_meant(written, piece, labels)) < 2 and chosen:
            break
        written += chosen
        reach *= dict(options)[token.token]
    total = sum(weights.values())
    if not was_open or not total > 0:
        return None
    return {label: weight / total for label, weight in weights.items()}


def _value_tokens(tokens: Sequence[Any], field: str) -> Iterator[tuple[Any, str]]:
    """Return the tokens of a field's value, each with its part of the value."""
    try:
        value = read_reply("".join(token.token for token in tokens), (field,))[field]
    except ValueError:
        return
    start = 0
    for token in tokens:
        end = start + len(token.token)
        if end > value.start and start < value.end:
            yield token, token.token[max(0, value.start - start) : value.end - start]
        start = end


def _meant(written: str, text: str, labels: Sequence[str]) -> list[str]:
    """Return the labels that the written part and this text may become."""
    clean = _clean(written, text)
    begun = written + clean
    if not clean:
        return list(labels) if not written else []
    return [begun] if begun in labels else [label for label in labels if label.startswith(begun)]


def _clean(written: str, text: str) -> str:
    """Return a token's part of a value, without quotes, outer space and what follows."""
    return _END.split(text if written else text.lstrip(_LEAD), maxsplit=1)[0]


def _probability(logprob: float) -> float:
    return math.exp(min(0.0, logprob)) if math.isfinite(logprob) else 0.0
