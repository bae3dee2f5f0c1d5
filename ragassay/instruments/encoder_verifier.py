"""Verify a claim against a passage with a natural language inference model.

Because there is no prompt, the verified text cannot contain instructions for the model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ragassay.metrics.stats.calibration import explain_undecided, find_bound
from ragassay.metrics.stats.uncertainty import round_entropy
from ragassay.models.embeddings import Embedder, find_closest_cosine
from ragassay.models.entailment import (
    COLUMNS,
    CONTRADICTS,
    NO_LABEL,
    SUPPORTS,
    EntailmentModel,
    as_contradiction,
    as_neutral,
    can_read_documents,
    find_unsupported_spans,
    get_label_count,
    get_model_bounds,
)
from ragassay.records import VERDICT_SETS, Comparison, EvidenceSpan, Failure, Usage, Verdict
from ragassay.text.differences import (
    Difference,
    find_absent_numbers,
    find_difference,
    has_number_of_others,
)
from ragassay.text.faults import compare_languages
from ragassay.text.roles import explain_unconfirmed
from ragassay.text.search import ALL_WORDS, N_WORDS, extract_passage
from ragassay.text.sentences import extract_sentences

RELEVANT = 0.3
"""Cosine similarity between claim and passage below which a neutral passage is "not relevant".
Natural language inference models have no such label."""


UNWITNESSED = Failure.leave_open(
    'the tentative label is "contradicts", but no number, direction or negation differs'
)

OTHER_LANGUAGE = Failure.leave_open(
    "sentence and passage are in different languages, for which the model was not evaluated"
)


def explain_difference(difference: Difference) -> Failure:
    """Return why a claim that seems supported is undecided: its direction or negation differs."""
    change = f"{difference.kind} differs: {difference.words}"
    return Failure.leave_open(f'the tentative label is "supports", but a {change}')


def weigh_labels(
    shares: Sequence[float], difference: Difference | None, is_partial: bool = False
) -> Sequence[float]:
    """Adjust the label probabilities to a difference found by a rule.

    If the text states another value for a number in the claim, the probability of "supports" is
    added to that of "contradicts". Otherwise, if `is_partial`, a number of the claim comes from
    another cited document, and the text cannot contradict the claim as a whole.
    """
    if difference and difference.kind == "number":
        return as_contradiction(shares)
    is_contradiction = max(shares) == shares[CONTRADICTS]
    return as_neutral(shares) if is_partial and is_contradiction else shares


def choose_bound_kind(best: int, verdict: Verdict, difference: Difference | None) -> str:
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
        self._labels = VERDICT_SETS[2 if get_label_count(model) == 2 else n_labels]
        self._n_words = ALL_WORDS if can_read_documents(model) else N_WORDS
        self.bounds = get_model_bounds(model)
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
                a part of its document. See `find_difference`.
        """
        passage = extract_passage(claim, text, title, self._n_words)
        shares = self.model.predict_probabilities([(claim, passage)])[0].tolist()
        if any(map(math.isnan, shares)):
            return Comparison(None, None, Usage(), failure=NO_LABEL)
        sentences = extract_sentences(text)
        difference = find_difference(claim, sentences, title, beside)
        absent = () if beside is None else find_absent_numbers(claim, sentences, title, beside)
        if self._by_rule:
            is_partial = bool(beside) and has_number_of_others(claim, sentences, title, beside)
            shares = weigh_labels(shares, difference, is_partial)
        best = max(range(len(shares)), key=shares.__getitem__)
        verdict, bits = (
            self._choose_verdict(best, claim, text),
            round_entropy(self._merge_shares(shares)),
        )
        confidence = round(shares[best], 4)
        doubt = self._find_doubt(best, verdict, confidence, claim, sentences, difference)
        words = difference.words if difference and best == CONTRADICTS else ""
        decided = None if doubt else verdict
        tentative_label = verdict if doubt else None
        spans = find_unsupported_spans(self.model, (claim, passage))
        return Comparison(
            decided, confidence, Usage(), bits, tentative_label, doubt, words, absent, spans
        )

    def _find_doubt(
        self,
        best: int,
        verdict: Verdict,
        confidence: float,
        claim: str,
        sentences: Sequence[str],
        difference: Difference | None,
    ) -> Failure | None:
        bound = find_bound(
            self.bounds, COLUMNS[best], "verdict", choose_bound_kind(best, verdict, difference)
        )
        if bound is not None:
            is_asked = bound.least_cosine is not None
            cosine = find_closest_cosine(claim, sentences, self._embedder) if is_asked else None
            if doubt := explain_undecided(bound, verdict, confidence, cosine):
                return doubt
        if self._by_rule and verdict == "contradicts" and difference is None:
            return UNWITNESSED
        if self._by_rule and verdict == "supports" and difference is not None:
            return explain_difference(difference)
        if self.bounds and compare_languages(" ".join(sentences), claim):
            return OTHER_LANGUAGE
        if (
            self.bounds
            and verdict == "supports"
            and (words := explain_unconfirmed(claim, sentences))
        ):
            return Failure.leave_open(words)
        return None

    def _merge_shares(self, shares: Sequence[float]) -> Sequence[float]:
        """Return the probability of each label.

        "neutral" and "not_relevant" share one probability.
        """
        if "neutral" in self._labels:
            return shares
        return shares[SUPPORTS], sum(shares) - shares[SUPPORTS]

    def _choose_verdict(self, best: int, claim: str, text: str) -> Verdict:
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
