"""Verify a claim against a passage with a natural language inference model.

There is no prompt and no language model: judged text cannot instruct it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.metrics.risk import bound_of, undecided
from ragassay.metrics.uncertainty import rounded_bits
from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import (
    COLUMNS,
    CONTRADICTS,
    SUPPORTS,
    EntailmentModel,
    bounds_of,
)
from ragassay.records import VERDICT_SETS, Comparison, EvidenceSpan, Usage, Verdict
from ragassay.text.reading import passage_of

RELEVANT = 0.3
"""Cosine of claim and passage below which a neutral passage is not relevant. Inference models
know three labels; this threshold makes the fourth."""


class EncoderVerifier:
    """Verifies a claim against a passage; used for citations and evidence.

    Args:
        model: The inference model.
        embedder: Detects passages about another subject.
        n_labels: The number of verdicts; the finest available of the 4 is given.
    """

    def __init__(self, model: EntailmentModel, embedder: Embedder, n_labels: int = 4) -> None:
        self.model, self._embedder = model, embedder
        self._labels = VERDICT_SETS[n_labels]
        self.bounds = bounds_of(model)

    @property
    def identity(self) -> tuple[str, ...]:
        """Name, digest and bounds: all that its verdicts depend on besides the texts."""
        return (self.model.name, self.model.digest, *(b.model_dump_json() for b in self.bounds))

    def verify(self, claim: str, passage: EvidenceSpan) -> Comparison:
        """Verify a sentence against a passage."""
        return self.compare(claim, passage.text, passage.title)

    def compare(self, claim: str, text: str, title: str = "") -> Comparison:
        """Verify any claim against any text of a titled document.

        Undecided where the model is less sure than its bound for this label.
        """
        shares = self.model.probabilities([(claim, passage_of(claim, text, title))])[0].tolist()
        best = max(range(len(shares)), key=shares.__getitem__)
        verdict, bits = self._verdict(best, claim, text), rounded_bits(self._by_label(shares))
        confidence = round(shares[best], 4)
        bound = bound_of(self.bounds, COLUMNS[best], "verdict")
        doubt = undecided(bound, verdict, confidence) if bound else None
        if doubt:
            return Comparison(None, confidence, Usage(), bits, leaning=verdict, failure=doubt)
        return Comparison(verdict, confidence, Usage(), bits)

    def _by_label(self, shares: Sequence[float]) -> Sequence[float]:
        """Return the probability of each label; neutral and not relevant share one."""
        if "neutral" in self._labels:
            return shares
        return shares[SUPPORTS], sum(shares) - shares[SUPPORTS]

    def _verdict(self, best: int, claim: str, text: str) -> Verdict:
        if best == SUPPORTS:
            return "supports"
        if "neutral" not in self._labels:
            return "not_attributable"
        if best == CONTRADICTS:
            return "contradicts"
        if "not_relevant" not in self._labels:
            return "neutral"
        vectors = self._embedder.encode([claim, text])
        return "neutral" if float(vectors[0] @ vectors[1]) >= RELEVANT else "not_relevant"
