"""Says whether a passage bears out a claim by a model of natural language inference.

No prompt and no language model: what is judged cannot talk to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.agents.verifier import Finding
from ragassay.metrics.uncertainty import rounded_bits
from ragassay.models.embeddings import Embedder
from ragassay.models.entailment import CONTRADICTS, N_SENTENCES, SUPPORTS, EntailmentModel, titled
from ragassay.records import VERDICT_SETS, EvidenceSpan, Usage, Verdict
from ragassay.retrievers.closest import closest_text
from ragassay.sentences import sentences_of

RELEVANT = 0.3
"""Cosine of claim and passage below which what is neither support nor contradiction is of another
subject. Inference models know three labels; the fourth is this one's."""


class EncoderVerifier:
    """A claim and a passage in, a verdict out; citations and evidence both ask it.

    Args:
        model: Compares the two.
        embedder: Chooses the sentences of a long passage, and tells what is of another subject.
        n_labels: How many verdicts there are: of 4 the finest is said that is among them.
    """

    def __init__(self, model: EntailmentModel, embedder: Embedder, n_labels: int = 4) -> None:
        self.model, self._embedder = model, embedder
        self._labels = VERDICT_SETS[n_labels]

    def verify(self, claim: str, passage: EvidenceSpan) -> Finding:
        """Compare a sentence with a passage."""
        return self.compare(claim, passage.text, passage.title)

    def compare(self, claim: str, text: str, title: str = "") -> Finding:
        """Compare any claim with any text, of a document with a title."""
        read = closest_text(claim, sentences_of(text), self._embedder, N_SENTENCES)
        shares = self.model.probabilities([(claim, titled(title, read))])[0].tolist()
        best = max(range(len(shares)), key=shares.__getitem__)
        verdict, bits = self._verdict(best, claim, read), rounded_bits(self._by_label(shares))
        return Finding(verdict, round(shares[best], 4), Usage(), bits)

    def _by_label(self, shares: Sequence[float]) -> Sequence[float]:
        """What each label has; of four, one of neutral and not relevant has all of both."""
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
