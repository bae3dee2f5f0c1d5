"""Models that say whether a passage supports a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from case_tables import each_case
from fakes import WordEmbedder

from ragassay.errors import SettingsError
from ragassay.model_names import MINILM_VERIFIER
from ragassay.models.correctness import (
    COSINE,
    JUDGE,
    CosineCorrectness,
    EntailmentCorrectness,
    open_correctness_model,
)
from ragassay.models.embeddings import Embedder
from ragassay.models.verifiers import load_minilm_verifier
from ragassay.records import Bound


@pytest.mark.integration
def test_the_cosine_is_a_model_of_correctness(tmp_path: Path):
    model = open_correctness_model(COSINE, Embedder(), tmp_path)
    assert isinstance(model, CosineCorrectness)
    same, other = model.score_pairs([("Gout.", "Gout."), ("Gout.", "The train was late.")])
    assert same == pytest.approx(1, abs=1e-5)
    assert other < model.threshold
    assert model.score_pairs([]).shape == (0,)


def test_the_setting_names_the_model(tmp_path: Path):
    embedder = Embedder()
    assert open_correctness_model(JUDGE, embedder, tmp_path) is None
    found = open_correctness_model(MINILM_VERIFIER, embedder, tmp_path)
    assert isinstance(found, EntailmentCorrectness)
    assert found.name == load_minilm_verifier().name
    with pytest.raises(SettingsError, match="not a correctness classifier"):
        open_correctness_model(str(tmp_path / "none.json"), embedder, tmp_path)


def test_a_cosine_counts_from_the_threshold_of_its_embedder_or_of_the_setting(tmp_path: Path):
    simcse = Embedder("princeton-nlp/sup-simcse-roberta-large")
    for name, threshold in (("cosine", 0.75), ("cosine:0.6", 0.6), ("cosine:-0.1", -0.1)):
        model = open_correctness_model(name, simcse, tmp_path)
        assert model is not None and model.threshold == threshold
    for wrong in ("cosine:high", "cosine:1.5", "cosine:nan"):
        with pytest.raises(SettingsError, match="pass a cosine from -1 to 1"):
            open_correctness_model(wrong, simcse, tmp_path)


class Fixed:
    """Gives each pair the probabilities that stand in its passage."""

    name, digest = "fixed", ""
    bounds = tuple(
        Bound(label=label, threshold=0.8, risk=0.2, delta=0.1, n=100)
        for label in ("supports", "neutral")
    )

    def predict_probabilities(self, pairs):
        return np.array([[float(share) for share in text.split()] for _, text in pairs])


SURE, UNSURE, OTHER = ".9 .05 .05", ".6 .2 .2", ".05 .05 .9"


@pytest.mark.parametrize(
    ("passages", "is_doubted"),
    [
        ([SURE], False),
        ([UNSURE], True),
        ([OTHER], False),
        # One that surely supports is enough; one that might, or might not, leaves it open.
        ([UNSURE, SURE], False),
        ([OTHER, UNSURE], True),
        ([OTHER, ".3 .1 .6"], True),
        # No bound is known for contradictions.
        ([".3 .5 .2"], False),
    ],
)
def test_correctness_is_in_doubt_where_the_verifier_could_not_tell(passages, is_doubted):
    doubt = EntailmentCorrectness(Fixed()).find_doubt([("Gout.", text) for text in passages])  # type: ignore[arg-type]
    assert (doubt.reason if doubt else None) == ("undecided" if is_doubted else None)


@pytest.mark.parametrize("sentence", ["Gout hurts.", "The train was late."])
def test_support_needs_a_close_sentence_where_its_bound_says_so(monkeypatch, sentence):
    supports = Bound(label="supports", threshold=0.5, least_cosine=0.75, risk=0.2, delta=0.1, n=9)
    monkeypatch.setattr(Fixed, "bounds", (supports,))
    monkeypatch.setattr(
        Fixed, "predict_probabilities", lambda self, pairs: np.array([[0.9, 0.05, 0.05]])
    )
    pair = ("Gout hurts.", f"A title.\n{sentence}")
    doubt = EntailmentCorrectness(Fixed(), WordEmbedder()).find_doubt([pair])  # type: ignore[arg-type]
    assert (doubt is None) == (sentence == "Gout hurts.")
    # Nothing is close where nobody measures it.
    assert EntailmentCorrectness(Fixed()).find_doubt([pair]) is not None  # type: ignore[arg-type]


@each_case(
    ("claim", "others", "is_sure"),
    [
        ("Pain fell by 2 days.", [], True),
        ("Pain fell by 3 days.", [], False),
        ("Pain rose by 2 days.", [], False),
        ("Pain fell by 3 days.", ["A title.\nIn women pain fell by 3 days."], True),
    ],
)
def test_a_passage_with_another_number_or_direction_supports_nothing(
    monkeypatch, claim, others, is_sure
):
    shares = np.array([[0.9, 0.05, 0.05]])
    monkeypatch.setattr(
        Fixed, "bounds", (Bound(label="contradicts", threshold=None, risk=0.2, delta=0.1, n=9),)
    )
    monkeypatch.setattr(
        Fixed, "probabilities", lambda self, pairs: np.repeat(shares, len(pairs), axis=0)
    )
    pairs = [(claim, "A title.\nPain fell by 2 days."), *((claim, text) for text in others)]
    doubt = EntailmentCorrectness(Fixed()).find_doubt(pairs)  # type: ignore[arg-type]
    assert (doubt is None) == is_sure
    assert is_sure or 'label "contradicts"' in doubt.detail


def test_a_model_without_bounds_is_never_in_doubt(monkeypatch):
    monkeypatch.setattr(Fixed, "bounds", ())
    assert EntailmentCorrectness(Fixed()).find_doubt([("Gout.", UNSURE)]) is None  # type: ignore[arg-type]
