"""Measure pairs of texts, with the vectors of each text computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from ragassay.metrics.similarity import (
    SIMILARITY_KINDS,
    TEXT_MEASURES,
    SimilarityKind,
    words_of,
)
from ragassay.metrics.transport import (
    inverse_document_frequencies,
    mover_score,
    rarity_weights,
    transport_distance,
)
from ragassay.models.token_vectors import TokenCloud, TokenEncoder

Pair = tuple[str, str]
"""The texts of a reference and of a candidate."""

WordReading = Literal["context", "alone"]
"""How word mover's distance gets its vectors: each token in its text, each of length 1; or each
word read by itself, as YESciEval's program does (`TokenEncoder.encode_alone`)."""

READINGS: Mapping[WordReading, str] = {
    "context": "each token in its text",
    "alone": "each word by itself",
}
"""The readings in words."""

_N_AT_A_TIME = 512
"""Pairs of texts whose vectors BERTScore keeps at a time."""


class MeasuredTexts:
    """Measures of pairs of texts, with vectors computed once."""

    def __init__(
        self, pairs: Sequence[Pair], encoder: TokenEncoder, reading: WordReading = "context"
    ) -> None:
        self._pairs = pairs
        self._encoder = encoder
        self._reading: WordReading = reading
        self._clouds: dict[str, TokenCloud] | None = None

    def values(self, kind: SimilarityKind) -> dict[Pair, float | None]:
        """Return the measure of each pair, reference first."""
        pairs = self._pairs
        if kind.is_symmetric:
            pairs = list(dict.fromkeys((min(pair), max(pair)) for pair in pairs))
        found = dict(zip(pairs, self._computed(kind.key, pairs), strict=True))
        if kind.is_symmetric:
            found |= {(two, one): value for (one, two), value in found.items()}
        return found

    def wmds(self) -> dict[Pair, float | None]:
        """Return word mover's distance of each pair."""
        return self.values(SIMILARITY_KINDS["wmd"])

    def notes(self) -> tuple[str, ...]:
        """Return notes on what was left out."""
        n_cut = sum(cloud.n_cut > 0 for cloud in (self._clouds or {}).values())
        if not n_cut:
            return ()
        return (f"{n_cut} texts were longer than the embedding model reads, and were cut",)

    def _computed(self, key: str, pairs: Sequence[Pair]) -> list[float | None]:
        if key in TEXT_MEASURES:
            measure = TEXT_MEASURES[key]
            return [measure(one, two) for one, two in pairs]
        if key == "bertscore":
            return self._bertscores(pairs)
        distance = self._moverscore() if key == "moverscore" else self._wmd()
        return [distance(one, two) for one, two in pairs]

    def _bertscores(self, pairs: Sequence[Pair]) -> list[float | None]:
        found: list[float | None] = []
        for start in range(0, len(pairs), _N_AT_A_TIME):
            part = pairs[start : start + _N_AT_A_TIME]
            found += self._encoder.bertscore_f1([one for one, _ in part], [two for _, two in part])
        return found

    def _wmd(self) -> Callable[[str, str], float | None]:
        if self._reading == "alone":
            return self._wmd_alone()
        words = {text: cloud.kept(cloud.is_word) for text, cloud in self._encoded().items()}
        return lambda one, two: transport_distance(words[one].vectors, words[two].vectors)

    def _wmd_alone(self) -> Callable[[str, str], float | None]:
        import numpy as np

        words = {text: words_of(text) for pair in self._pairs for text in pair}
        vectors = self._encoder.encode_alone([word for one in words.values() for word in one])
        clouds = {
            text: np.array([vectors[word] for word in one]).reshape(len(one), -1)
            for text, one in words.items()
        }
        return lambda one, two: transport_distance(clouds[one], clouds[two])

    def _moverscore(self) -> Callable[[str, str], float | None]:
        clouds = self._encoded()
        words = {text: c.kept(c.is_word & c.is_start) for text, c in clouds.items()}
        rarity = inverse_document_frequencies([cloud.ids for cloud in words.values()])
        weights = {text: rarity_weights(cloud.ids, rarity) for text, cloud in words.items()}

        def score(one: str, two: str) -> float | None:
            ends = words[one].vectors, words[two].vectors
            return mover_score(transport_distance(*ends, weights[one], weights[two]))

        return score

    def _encoded(self) -> dict[str, TokenCloud]:
        if self._clouds is None:
            texts = list(dict.fromkeys(text for pair in self._pairs for text in pair))
            self._clouds = dict(zip(texts, self._encoder.encode(texts), strict=True))
        return self._clouds
