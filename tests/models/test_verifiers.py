"""Verifiers by the names of settings, classifiers of the hub, and remembered verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from tiny_verifiers import tiny_inference

from ragassay.errors import SettingsError
from ragassay.model_names import (
    EMBEDDED,
    MEAN_VERIFIER,
    MINILM_VERIFIER,
    SHIPPED_VERIFIERS,
)
from ragassay.models.adapters import SMOLLM2
from ragassay.models.cards import load_card
from ragassay.models.entailment import (
    CONTRADICTS,
    NEUTRAL,
    SUPPORTS,
    CachedEntailment,
    NliModel,
    map_entailment_columns,
)
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
    """Gives the same shares to every pair."""

    shares: tuple[float, float, float]
    digest: str

    def predict_probabilities(self, pairs):
        return np.array([self.shares for _ in pairs]).reshape(len(pairs), 3)


def test_the_mean_of_several_has_a_digest_of_all():
    sure, unsure = Fixed((0.9, 0.1, 0.0), "1"), Fixed((0.3, 0.4, 0.3), "2")
    found = MeanVerifier("both", [sure, unsure])
    assert found.predict_probabilities(PAIRS) == pytest.approx(np.array([[0.6, 0.25, 0.15]] * 2))
    assert found.predict_probabilities([]).shape == (0, 3)
    assert found.name == "both"
    others = (MeanVerifier("both", models).digest for models in ([sure, sure], [unsure]))
    digests = {found.digest, *others}
    assert len(digests) == 3 and all(len(digest) == 64 for digest in digests)


def test_the_cards_are_of_the_shipped_weights(tmp_path):
    for verifier in (load_minilm_verifier(), load_adapted_verifier(SMOLLM2, tmp_path)):
        assert load_card(verifier.name).digest == verifier.digest
    assert load_card(MEAN_VERIFIER).digest == open_entailment_model(MEAN_VERIFIER, tmp_path).digest


def test_the_embedded_verifier_stands_in_for_what_cannot_be_had_and_says_so(tmp_path):
    absent = str(tmp_path / "absent")
    model = open_entailment_model(absent, tmp_path)
    assert isinstance(model, FallbackVerifier)
    assert model.name == f"{MINILM_VERIFIER} in place of {absent}"
    assert model.digest == open_entailment_model(EMBEDDED, tmp_path).digest


@pytest.mark.integration
@pytest.mark.parametrize("name", SHIPPED_VERIFIERS)
def test_a_verifier_tells_a_claim_from_its_negation_and_from_another_subject(name, weights_cache):
    passage = "In a trial of 200 adults, brelozant reduced the number of migraine days by half."
    claims = (
        "Brelozant reduces migraine days.",
        "Brelozant increases migraine days.",
        "Brelozant does not reduce migraine days.",
        "Aspirin causes stroke.",
    )
    model = open_entailment_model(name, weights_cache)
    found = model.predict_probabilities([(claim, passage) for claim in claims])
    assert found.sum(axis=1) == pytest.approx([1] * 4)
    assert np.array_equal(found[3:], model.predict_probabilities([(claims[3], passage)]))
    assert model.predict_probabilities([]).shape == (0, 3)
    same, opposite, negated, other = found
    assert same.argmax() == SUPPORTS
    assert negated.argmax() == CONTRADICTS
    assert other.argmax() == NEUTRAL
    # Leans, and no more: the cards say how often a contradiction is missed.
    assert opposite[SUPPORTS] < same[SUPPORTS]


@pytest.mark.parametrize(
    ("labels", "columns"),
    [
        (("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), (CONTRADICTS, NEUTRAL, SUPPORTS)),
        (("entailment", "not_entailment"), (SUPPORTS, NEUTRAL)),
        (("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"), (SUPPORTS, CONTRADICTS, NEUTRAL)),
    ],
)
def test_labels_are_told_by_their_names(labels, columns):
    assert map_entailment_columns(dict(enumerate(labels))) == dict(enumerate(columns))


@pytest.mark.parametrize("labels", [("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), ("no", "entailed")])
def test_a_classifier_of_the_hub_gives_probabilities(tmp_path, labels):
    found = NliModel(tiny_inference(tmp_path, labels)).predict_probabilities(PAIRS)
    assert found.shape == (2, 3)
    assert found.sum(axis=1) == pytest.approx([1, 1])


def test_a_classifier_of_something_else_is_refused_by_its_labels(tmp_path):
    with pytest.raises(SettingsError, match="happy, sad"):
        NliModel(tiny_inference(tmp_path, ("happy", "sad")))


def test_a_remembered_model_is_asked_once_about_a_pair_while_it_is_kept():
    class Counting:
        name, digest = "counting", ""
        asked: ClassVar[list[str]] = []

        def predict_probabilities(self, pairs):
            self.asked.extend(claim for claim, _ in pairs)
            return np.array([[len(claim), 0.0, 0.0] for claim, _ in pairs])

    model = CachedEntailment(Counting(), n_kept=2)
    found = model.predict_probabilities([("a", "x"), ("bb", "x"), ("a", "x")])
    assert found[:, 0].tolist() == [1, 2, 1]
    assert model.predict_probabilities([("bb", "x"), ("ccc", "x")])[:, 0].tolist() == [2, 3]
    assert Counting.asked == ["a", "bb", "ccc"]
    # Two are kept: the first was forgotten.
    assert model.predict_probabilities([("a", "x")])[:, 0].tolist() == [1]
    assert Counting.asked == ["a", "bb", "ccc", "a"]
    assert model.predict_probabilities([]).shape == (0, 3)
