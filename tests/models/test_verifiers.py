"""Verifiers by the names of settings: the shipped ones, their mean, and who stands in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ragassay.model_names import (
    EMBEDDED,
    MEAN_VERIFIER,
    MINILM_VERIFIER,
    SHIPPED_VERIFIERS,
    SMOLLM2_VERIFIER,
)
from ragassay.models.adapters import SMOLLM2
from ragassay.models.cards import load_card
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, SUPPORTS
from ragassay.models.verifiers import (
    FallbackVerifier,
    MeanVerifier,
    load_adapted_verifier,
    load_minilm_verifier,
    open_entailment_model,
)

PAIRS = [("Alpha lowers pressure.", "Alpha lowered pressure in a trial."), ("Beta.", "Gamma.")]


@dataclass
class Fixed:
    """Says the same of every pair."""

    shares: tuple[float, float, float]
    digest: str
    name: str = "fixed"

    def predict_probabilities(self, pairs):
        return np.array([self.shares for _ in pairs]).reshape(len(pairs), 3)


def test_of_several_the_mean_is_said():
    sure, unsure = Fixed((0.9, 0.1, 0.0), "1"), Fixed((0.3, 0.4, 0.3), "2")
    found = MeanVerifier("both", [sure, unsure])
    assert found.predict_probabilities(PAIRS) == pytest.approx(np.array([[0.6, 0.25, 0.15]] * 2))
    assert found.predict_probabilities([]).shape == (0, 3)
    assert found.name == "both"


def test_the_digest_of_the_mean_changes_with_each_of_its_models():
    one, other = Fixed((1.0, 0.0, 0.0), "1"), Fixed((1.0, 0.0, 0.0), "2")
    digests = {MeanVerifier("m", models).digest for models in ([one, one], [one, other], [other])}
    assert len(digests) == 3 and all(len(digest) == 64 for digest in digests)


def test_the_cards_are_of_the_shipped_weights(tmp_path: Path):
    for verifier in (load_minilm_verifier(), load_adapted_verifier(SMOLLM2, tmp_path)):
        card = load_card(verifier.name)
        assert card is not None and card.digest == verifier.digest
    card = load_card(MEAN_VERIFIER)
    assert card is not None and card.digest == open_entailment_model(MEAN_VERIFIER, tmp_path).digest


def test_the_embedded_verifier_stands_in_for_what_cannot_be_had_and_says_so(tmp_path: Path):
    absent = str(tmp_path / "absent")
    model = open_entailment_model(absent, tmp_path)
    assert isinstance(model, FallbackVerifier)
    assert model.name == f"{MINILM_VERIFIER} in place of {absent}"
    assert model.digest == open_entailment_model(EMBEDDED, tmp_path).digest


@pytest.mark.integration
@pytest.mark.parametrize("name", [MINILM_VERIFIER, SMOLLM2_VERIFIER])
def test_a_verifier_repeats_and_does_not_depend_on_its_company(name: str, weights_cache: Path):
    model = open_entailment_model(name, weights_cache)
    together = model.predict_probabilities(PAIRS)
    assert together.sum(axis=1) == pytest.approx([1, 1])
    assert np.array_equal(together[1:], model.predict_probabilities(PAIRS[1:]))
    assert model.predict_probabilities([]).shape == (0, 3)


@pytest.mark.integration
@pytest.mark.parametrize("name", SHIPPED_VERIFIERS)
def test_a_verifier_tells_a_claim_from_its_negation_and_from_another_subject(
    name: str, weights_cache: Path
):
    passage = "In a trial of 200 adults, brelozant reduced the number of migraine days by half."
    same, opposite, negated, other = open_entailment_model(
        name, weights_cache
    ).predict_probabilities(
        [
            ("Brelozant reduces migraine days.", passage),
            ("Brelozant increases migraine days.", passage),
            ("Brelozant does not reduce migraine days.", passage),
            ("Aspirin causes stroke.", passage),
        ]
    )
    assert same.argmax() == SUPPORTS
    assert negated.argmax() == CONTRADICTS
    assert other.argmax() == NEUTRAL
    # Leans, and no more: the cards say how often a contradiction is missed.
    assert opposite[SUPPORTS] < same[SUPPORTS]
