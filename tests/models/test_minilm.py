"""The packaged encoder on ONNX Runtime computes what torch computes with the published weights.

The package has them in half precision, which the bounds here allow for: cosines differ by less than
a millionth, probabilities by a thousandth. With the same weights the last digits alone differ.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from ragassay.model_names import MINILM
from ragassay.models.adapters import CLOSEST, SIGNALS, WHOLE, Adapter
from ragassay.models.cross_encoder import CrossEncoder
from ragassay.models.entailment import load_pair_encoder
from ragassay.models.minilm import MiniLMPairs, MiniLMTexts
from training.encoder_weights import published_folder

pytestmark = pytest.mark.integration

TEXTS = (
    "",
    "Drug A helps.",
    "  It rained [SEP] today  ",
    "na\u00efve caf\u00e9 \u200b \u4e2d\u6587 p < 0.001",
    "Aspirin 100 mg reduced the risk of stroke (HR 0.75) in 1,200 adults. " * 30,
)


def test_vectors_of_texts_and_tokens_are_those_of_sentence_transformers() -> None:
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
def test_probabilities_of_pairs_are_those_of_torch(adapter: Adapter, tmp_path: Path) -> None:
    claims = ["Nothing.", *TEXTS[1:]]
    pairs = [*zip(claims, TEXTS, strict=True), *zip(claims, TEXTS[::-1], strict=True)]
    found = MiniLMPairs(adapter).predict_probabilities(pairs)
    encoder = load_pair_encoder(MINILM, tmp_path)
    expected = CrossEncoder.load(adapter, encoder).predict_probabilities(pairs)
    assert np.allclose(found, expected, rtol=0, atol=1e-5)
    published = load_pair_encoder(MINILM, tmp_path)
    weights = load_file(published_folder() / "model.safetensors")
    published.base.load_state_dict(weights, strict=False)
    expected = CrossEncoder.load(adapter, published).predict_probabilities(pairs)
    assert np.allclose(found, expected, rtol=0, atol=2e-3)


def test_no_pair_gives_no_row() -> None:
    assert MiniLMPairs(WHOLE).predict_probabilities([]).shape == (0, 3)


def test_the_default_runs_without_torch(tmp_path: Path) -> None:
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
