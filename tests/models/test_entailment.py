"""Classifiers of natural language inference, and what is remembered of them."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from ragassay.errors import SettingsError
from ragassay.models.entailment import (
    CONTRADICTS,
    NEUTRAL,
    SUPPORTS,
    CachedEntailment,
    NliModel,
    map_entailment_columns,
)

PAIRS = [("Alpha lowers pressure.", "Alpha lowered pressure in a trial."), ("Beta.", "Gamma.")]


@pytest.mark.parametrize(
    ("labels", "columns"),
    [
        (("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), (CONTRADICTS, NEUTRAL, SUPPORTS)),
        (("entailment", "not_entailment"), (SUPPORTS, NEUTRAL)),
        (("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"), (SUPPORTS, CONTRADICTS, NEUTRAL)),
    ],
)
def test_labels_are_told_by_their_names(labels: tuple[str, ...], columns: tuple[int, ...]):
    assert map_entailment_columns(dict(enumerate(labels))) == dict(enumerate(columns))


def tiny_model(folder: Path, labels: tuple[str, ...]) -> str:
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "alpha", "lowers", "pressure", "trial", "."]
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(vocab_size=len(words), intermediate_size=16, **shape)
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: i for i, label in enumerate(labels)}
    BertForSequenceClassification(config).save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize("labels", [("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), ("no", "entailed")])
def test_a_classifier_of_the_hub_gives_probabilities(tmp_path: Path, labels: tuple[str, ...]):
    model = NliModel(tiny_model(tmp_path, labels))
    found = model.predict_probabilities(PAIRS)
    assert found.shape == (2, 3)
    assert found.sum(axis=1) == pytest.approx([1, 1])


def test_a_classifier_of_something_else_is_refused_by_its_labels(tmp_path: Path):
    with pytest.raises(SettingsError, match="happy, sad"):
        NliModel(tiny_model(tmp_path, ("happy", "sad")))


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
