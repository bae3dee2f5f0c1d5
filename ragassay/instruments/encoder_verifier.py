"""Verify a claim against a passage with a natural language inference model.

Because there is no prompt, the verified text cannot contain instructions for the model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ragassay.metrics.stats.calibration import bound_of, explain_undecided
from ragassay.metrics.stats.uncertainty import rounded_bits
from ragassay.models.embeddings import Embedder, closest_cosine
from ragassay.models.entailment import (
    COLUMNS,
    CONTRADICTS,
    NO_LABEL,
    SUPPORTS,
    EntailmentModel,
    as_contradiction,
    bounds_of,
    labels_known,
    reads_whole,
    unsupported_spans,
)
from ragassay.records import VERDICT_SETS, Comparison, EvidenceSpan, Failure, Usage, Verdict
from ragassay.text.differences import Difference, absent_numbers, difference_of
from ragassay.text.faults import languages
from ragassay.text.roles import unconfirmed_roles
from ragassay.text.search import ALL_WORDS, N_WORDS, passage_of
from ragassay.text.sentences import sentences_of

RELEVANT = 0.3
"""Cosine similarity between claim and passage below which a neutral passage is "not relevant".
Natural language inference models have no such label."""


UNWITNESSED = Failure.left_open(
    'the tentative label is "contradicts", but no number, direction or negation differs'
)

OTHER_LANGUAGE = Failure.left_open(
    "sentence and passage are in different languages, for which the model was not evaluated"
)


def explain_difference(difference: Difference) -> Failure:
    """Return why a claim that seems supported is undecided: its direction or negation differs."""
    change = f"{difference.kind} differs: {difference.words}"
    return Failure.left_open(f'the tentative label is "supports", but a {change}')


def weigh_labels(shares: Sequence[float], difference: Difference | None) -> Sequence[float]:
    """Adjust the label probabilities to a difference found by a rule.

    If the text states another value for a number in the claim, the probability of "supports" is
    added to that of "contradicts".
    """
    if difference is None or difference.kind != "number":
        return shares
    return as_contradiction(shares)


def kind_of(best: int, verdict: Verdict, difference: Difference | None) -> str:
    """Return the kind of the bound that the most likely label must meet."""
    if best == CONTRADICTS:
        return "number" if difference and difference.kind == "number" else "words"
    return verdict


class EncoderVerifier:
    """Verifies a claim against a passage, for citations and evidence.

    Args:
        embedder: Embedder that detects passages about another subject.
        n_labels: Maximum number of verdict labels. A model with two labels returns only two.
        by_rule: Whether rules adjust the model's verdicts. By default, they do if the model has
            confidence bounds, which were fitted together with the rules.
    """

    def __init__(
        self,
        model: EntailmentModel,
        embedder: Embedder,
        n_labels: int = 4,
        by_rule: bool | None = None,
    ) -> None:
        self.model, self._embedder = model, embedder
        # Models without a contradiction label only use "supports" and "not attributable".
        self._labels = VERDICT_SETS[2 if labels_known(model) == 2 else n_labels]
        self._n_words = ALL_WORDS if reads_whole(model) else N_WORDS
        self.bounds = bounds_of(model)
        self._by_rule = bool(self.bounds) if by_rule is None else by_rule

    @property
    def identity(self) -> tuple[str, ...]:
        """Name, digest and bounds of the model, which determine the verdict on given texts."""
        return (self.model.name, self.model.digest, *(b.model_dump_json() for b in self.bounds))

    def verify(self, claim: str, passage: EvidenceSpan) -> Comparison:
        """Verify a claim against a passage of a document."""
        return self.compare(claim, passage.text, passage.title)

    def compare(
        self, claim: str, text: str, title: str = "", beside: Sequence[str] | None = None
    ) -> Comparison:
        """Verify a claim against text from a document.

        The verdict is undecided if the model's confidence, or the cosine between the claim and the
        most similar sentence, is below the bound of the label. With rules, "contradicts" is also
        undecided if no number, direction or negation differs, and "supports" if one differs. With
        bounds, the verdict is also undecided if the texts are in different languages, or if the
        claim compares two things and the text does not confirm which one is higher.

        Args:
            beside: Texts of the other documents that the sentence cites, or None if `text` is only
                a part of its document. See `difference_of`.
        """
        passage = passage_of(claim, text, title, self._n_words)
        shares = self.model.probabilities([(claim, passage)])[0].tolist()
        if any(map(math.isnan, shares)):
            return Comparison(None, None, Usage(), failure=NO_LABEL)
        sentences = sentences_of(text)
        difference = difference_of(claim, sentences, title, beside)
        absent = () if beside is None else absent_numbers(claim, sentences, title, beside)
        if self._by_rule:
            shares = weigh_labels(shares, difference)
        best = max(range(len(shares)), key=shares.__getitem__)
        verdict, bits = self._verdict(best, claim, text), rounded_bits(self._by_label(shares))
        confidence = round(shares[best], 4)
        doubt = self._doubt(best, verdict, confidence, claim, sentences, difference)
        words = difference.words if difference and best == CONTRADICTS else ""
        decided = None if doubt else verdict
        tentative_label = verdict if doubt else None
        spans = unsupported_spans(self.model, (claim, passage))
        return Comparison(
            decided, confidence, Usage(), bits, tentative_label, doubt, words, absent, spans
        )

    def _doubt(
        self,
        best: int,
        verdict: Verdict,
        confidence: float,
        claim: str,
        sentences: Sequence[str],
        difference: Difference | None,
    ) -> Failure | None:
        bound = bound_of(self.bounds, COLUMNS[best], "verdict", kind_of(best, verdict, difference))
        if bound is not None:
            is_asked = bound.least_cosine is not None
            cosine = closest_cosine(claim, sentences, self._embedder) if is_asked else None
            if doubt := explain_undecided(bound, verdict, confidence, cosine):
                return doubt
        if self._by_rule and verdict == "contradicts" and difference is None:
            return UNWITNESSED
        if self._by_rule and verdict == "supports" and difference is not None:
            return explain_difference(difference)
        if self.bounds and languages(" ".join(sentences), claim):
            return OTHER_LANGUAGE
        if self.bounds and verdict == "supports" and (words := unconfirmed_roles(claim, sentences)):
            return Failure.left_open(words)
        return None

    def _by_label(self, shares: Sequence[float]) -> Sequence[float]:
        """Return the probability of each label.

        "neutral" and "not_relevant" share one probability.
        """
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
