"""The packaged encoder on ONNX Runtime computes what torch computes with the published weights.

The package has them in half precision, which the bounds here allow for: cosines differ by less than
a millionth, probabilities by a thousandth. With the same weights the last digits alone differ.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from ragassay.errors import SettingsError
from ragassay.model_names import MINILM
from ragassay.models.adapters import CLOSEST, SIGNALS, WHOLE
from ragassay.models.cross_encoder import CrossEncoder
from ragassay.models.entailment import load_pair_encoder
from ragassay.models.minilm import MiniLMPairs, MiniLMTexts
from ragassay.models.token_vectors import MOST_TOKENS, TokenEncoder
from training.encoder_weights import published_folder

pytestmark = pytest.mark.integration

TEXTS = (
    "",
    "Drug A helps.",
    "  It rained [SEP] today  ",
    "na\u00efve caf\u00e9 \u200b \u4e2d\u6587 p < 0.001",
    "Aspirin 100 mg reduced the risk of stroke (HR 0.75) in 1,200 adults. " * 30,
)


def test_vectors_of_texts_and_tokens_are_those_of_sentence_transformers():
    from sentence_transformers import SentenceTransformer

    model, texts = SentenceTransformer(str(published_folder()), device="cpu"), MiniLMTexts()
    for text in TEXTS:
        (row,) = model.encode([text], output_value=None, show_progress_bar=False)
        vector, tokens = texts.embed_text_and_tokens(text)
        expected = row["sentence_embedding"].numpy()
        unit = vector / np.linalg.norm(vector)
        assert np.allclose(unit, expected, rtol=0, atol=5e-4)
        assert 1 - unit @ expected < 1e-6
        is_special = np.isin(row["input_ids"].numpy(), model.tokenizer.all_special_ids)
        assert np.allclose(tokens, row["token_embeddings"].numpy()[~is_special], rtol=0, atol=5e-3)
        assert texts.count_text_tokens([text]) == [len(row["input_ids"])]
        assert np.allclose(texts.embed_texts([text, text]), vector, atol=1e-5)


@pytest.mark.parametrize("adapter", [WHOLE, CLOSEST, SIGNALS], ids=lambda one: one.model)
def test_probabilities_of_pairs_are_those_of_torch(adapter, tmp_path):
    claims = ["Nothing.", *TEXTS[1:]]
    pairs = [*zip(claims, TEXTS, strict=True), *zip(claims, TEXTS[::-1], strict=True)]
    found = MiniLMPairs(adapter).predict_probabilities(pairs)
    assert MiniLMPairs(adapter).predict_probabilities([]).shape == (0, 3)
    ours, published = load_pair_encoder(MINILM, tmp_path), load_pair_encoder(MINILM, tmp_path)
    weights = load_file(published_folder() / "model.safetensors")
    published.base.load_state_dict(weights, strict=False)
    for encoder, bound in ((ours, 1e-5), (published, 2e-3)):
        expected = CrossEncoder.load(adapter, encoder).predict_probabilities(pairs)
        assert np.allclose(found, expected, rtol=0, atol=bound)


def test_the_default_runs_without_torch(tmp_path):
    sample = Path(__file__).parents[2] / "examples" / "sample"
    program = (
        "import ragassay, sys;"
        "answer = 'Brelozant lowered migraine days by 1.9 a month [PMID 99000101].';"
        "found = ragassay.evaluate([{'question': 'Does brelozant help?', 'answer': answer}],"
        f" corpus={str(sample / 'abstracts.jsonl')!r}, out={str(tmp_path / 'run')!r});"
        "print(len(found), {'torch', 'transformers', 'sentence_transformers'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=os.environ | {"RAGASSAY_EVALUATION__SIGNALS": "true"},
    )
    assert done.stdout.split() == ["1", "set()"], done.stderr


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
