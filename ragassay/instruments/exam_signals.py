"""Measure how well a passage covers the items of a test bank: similarities and the verifier."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.models.entailment import NEUTRAL, SUPPORTS, EntailmentModel
from ragassay.records import ExamItem
from ragassay.retrievers.rerank import TextEncoder, best_matches, encoded
from ragassay.text.reading import passage_of_sentences
from ragassay.text.sentences import sentences_of
from ragassay.text.words import tokenize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_LOG_ODDS = 6.0
"""Largest log-odds of a probability, of either sign."""


@dataclass(frozen=True)
class Measured:
    """The measures of an item and a passage.

    Attributes:
        signals: By name; of each more means better covered. `sentence`: highest cosine of item and
            sentence; `bank`: its mean over all items; `tokens`: mean cosine of the item's tokens
            with the passage's closest ones; `least`: the lowest of these; `words`: share of the
            item's words in the passage; `supports`, `settles`: log-odds by the verifier that the
            passage supports the item as a claim, and that it does not leave it open.
        sentence: The sentence closest to the item.
    """

    signals: Mapping[str, float]
    sentence: str


def measure(
    items: Sequence[ExamItem], passage: str, embedder: TextEncoder, verifier: EntailmentModel
) -> list[Measured]:
    """Measure a passage against all items of a bank.

    Args:
        items: The bank's items; `bank` is their mean, so a part of a bank gives another one.
        passage: Some text.
        embedder: Gives the similarities; of tokens too, where it can.
        verifier: Gives the log-odds.
    """
    import numpy as np

    sentences = sentences_of(passage) or [passage.strip()]
    found = encoded(embedder, [*sentences, *(item.text for item in items)])
    read, asked = found[: len(sentences)], found[len(sentences) :]
    tokens = np.concatenate([one.tokens for one in read])
    cosines = np.array([[float(a.vector @ one.vector) for one in read] for a in asked])
    cosines = cosines.reshape(len(items), len(sentences))
    bank = float(cosines.max(axis=1).mean()) if len(items) else 0.0
    words = set(tokenize(passage))
    pairs = [(item.text, passage_of_sentences(item.text, sentences)) for item in items]
    shares = verifier.probabilities(pairs)
    rows: list[Measured] = []
    for item, one, row, share in zip(items, asked, cosines, shares, strict=True):
        own = tokenize(item.text)
        signals = {
            "sentence": float(row.max()),
            "bank": bank,
            **_token_signals(one.tokens, tokens),
            "words": sum(word in words for word in own) / len(own) if own else 0.0,
            "supports": _log_odds(float(share[SUPPORTS])),
            "settles": -_log_odds(float(share[NEUTRAL])),
        }
        rows.append(Measured(signals, sentences[int(row.argmax())]))
    return rows


def _token_signals(
    item: NDArray[np.floating], passage: NDArray[np.floating]
) -> Mapping[str, float]:
    matches = best_matches(item, passage)
    if not len(matches):
        return {"tokens": 0.0, "least": 0.0}
    return {"tokens": float(matches.mean()), "least": float(matches.min())}


def _log_odds(share: float) -> float:
    odds = math.log(max(share, 1e-9) / max(1 - share, 1e-9))
    return max(-MOST_LOG_ODDS, min(MOST_LOG_ODDS, odds))
