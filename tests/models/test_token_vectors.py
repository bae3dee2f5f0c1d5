"""Tokens in context, by the real embedded model."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from ragassay.errors import SettingsError
from ragassay.models.token_vectors import MOST_TOKENS, TokenEncoder
from training.encoder_weights import published_folder

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def encoder() -> TokenEncoder:
    return TokenEncoder()


def test_tokens_know_what_they_are(encoder):
    (cloud,) = encoder.encode(["Acetylsalicylic acid, 100 mg."])
    # acetyl ##sal ##ic ##yl ##ic (or alike), acid, comma, 100, mg, full stop.
    assert cloud.is_start.sum() == 6
    assert not cloud.is_start[1]
    assert (~cloud.is_word).sum() == 2
    assert len(cloud.ids) == len(cloud.vectors) == len(cloud.is_word)
    assert np.allclose(np.linalg.norm(cloud.vectors, axis=1), 1, atol=1e-5)
    words = cloud.select(cloud.is_word & cloud.is_start)
    assert len(words.ids) == len(words.vectors) == 4


def test_a_text_without_a_word_is_empty(encoder):
    (cloud,) = encoder.encode([""])
    assert (cloud.ids, cloud.vectors.shape[0], cloud.n_cut) == ((), 0, 0)


def test_the_same_token_differs_in_another_context(encoder):
    one, two = encoder.encode(["a cold patient", "a common cold"])
    assert one.ids[1] == two.ids[2]
    assert one.vectors[1] @ two.vectors[2] < 0.99


def test_what_is_too_long_is_cut_and_counted(encoder):
    (cloud,) = encoder.encode(["dose " * (MOST_TOKENS + 88)])
    assert len(cloud.ids) == MOST_TOKENS - 2
    assert cloud.n_cut == 90


def test_bertscore_is_the_harmonic_mean_of_the_best_matches(encoder):
    one, two = "Aspirin lowers the risk of stroke.", "Stroke is rarer with aspirin."
    (score,) = encoder.bertscore_f1([one], [two])
    first, second = encoder.encode([one, two])
    cosines = second.vectors @ first.vectors.T
    precision, recall = cosines.max(axis=1).mean(), cosines.max(axis=0).mean()
    # The library lets a token match a special one too, which is seldom the closest.
    assert score == pytest.approx(2 * precision * recall / (precision + recall), abs=0.02)


def test_bertscore_of_equal_and_of_empty_texts(encoder):
    texts = ["Aspirin thins blood.", "", "Statins."]
    same = encoder.bertscore_f1(texts, texts)
    assert same == [pytest.approx(1.0, abs=1e-5), None, pytest.approx(1.0, abs=1e-5)]
    assert encoder.bertscore_f1([], []) == []
    assert encoder.bertscore_f1([""], ["x"]) == [None]


def test_a_pair_scores_the_same_in_any_company(encoder):
    pair = ("Aspirin thins blood.", "Blood is thinned by aspirin.")
    other = ("A much longer sentence on something else altogether, with many words.", "Short.")
    (alone,) = encoder.bertscore_f1([pair[0]], [pair[1]])
    beside = encoder.bertscore_f1([pair[0], other[0]], [pair[1], other[1]])
    assert beside[0] == pytest.approx(alone, abs=1e-5)


def test_a_model_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SettingsError, match="is unavailable"):
        TokenEncoder(str(tmp_path / "nowhere")).encode(["text"])


def test_a_tokenizer_without_a_limit_gets_one(tmp_path):
    shutil.copytree(published_folder(), tmp_path / "model")
    config = tmp_path / "model" / "tokenizer_config.json"
    fields = json.loads(config.read_text())
    fields.pop("model_max_length", None)
    config.write_text(json.dumps(fields))
    (cloud,) = TokenEncoder(str(tmp_path / "model")).encode(["dose " * 600])
    assert (len(cloud.ids), cloud.n_cut) == (MOST_TOKENS - 2, 90)
