"""Embedding models are pooled as their names say: compared with transformers itself."""

from __future__ import annotations

import numpy as np
import pytest
from lazy import LazyModule
from tiny_verifiers import tiny_encoder

from ragassay.errors import SettingsError
from ragassay.models.embeddings import Embedder

torch = LazyModule("torch")
transformers = LazyModule("transformers")

TEXTS = ["alpha lowers pressure", "beta raises pain in the trial of adults ."]
INSTRUCTION = "Instruct: Retrieve semantically similar text\nQuery: "


def pooled(folder: str, text: str, pooling: str) -> np.ndarray:
    """Return the vector that transformers' own outputs give, of length 1."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder)
    with torch.no_grad():
        found = model.eval()(**tokenizer([text], return_tensors="pt"))
    states = found.last_hidden_state[0]
    vector = {
        "mean": states.mean(0),
        "cls": states[0],
        "lasttoken": states[-1],
        "pooler": found.pooler_output[0],
    }[pooling]
    return torch.nn.functional.normalize(vector, dim=0).numpy()


@pytest.mark.parametrize(
    ("name", "pooling", "prefix"),
    [
        ("sup-simcse-roberta-large", "pooler", ""),
        ("sup-simcse-bert-base-uncased", "pooler", ""),
        ("unsup-simcse-roberta-large", "cls", ""),
        ("bge-small-en-v1.5", "cls", ""),
        ("specter2_base", "cls", ""),
        ("MedCPT-Query-Encoder", "cls", ""),
        ("SapBERT-from-PubMedBERT-fulltext", "cls", ""),
        ("e5-small-v2", "mean", "query: "),
        ("e5-mistral-7b-instruct", "lasttoken", INSTRUCTION),
        ("scibert_scivocab_uncased", "mean", ""),
        ("gte-small", "mean", ""),
        ("no-name-we-know", "mean", ""),
    ],
)
def test_a_model_is_pooled_as_its_name_says(tmp_path, name, pooling, prefix):
    folder = tiny_encoder(tmp_path / name)
    embedder = Embedder(folder)
    right = np.stack([pooled(folder, prefix + text, pooling) for text in TEXTS])
    assert embedder.encode(TEXTS) == pytest.approx(right, abs=1e-5)
    # In one batch, whose shorter text is padded.
    assert embedder.encode_many([prefix + text for text in TEXTS]) == pytest.approx(right, abs=1e-5)
    for other in {"mean", "cls", "lasttoken", "pooler"} - {pooling}:
        wrong = np.stack([pooled(folder, prefix + text, other) for text in TEXTS])
        assert np.abs(wrong - right).max() > 1e-2, "the model tells the poolings apart"


def test_a_folders_modules_decide_its_pooling(tmp_path):
    from sentence_transformers import SentenceTransformer

    source = tiny_encoder(tmp_path / "source")
    folder = str(tmp_path / "sup-simcse-roberta-large")
    SentenceTransformer(source, device="cpu").save(folder)  # with its default, the mean
    right = np.stack([pooled(source, text, "mean") for text in TEXTS])
    assert Embedder(folder).encode(TEXTS) == pytest.approx(right, abs=1e-5)


def test_simcse_without_a_pooler_is_refused_by_name(tmp_path):
    from transformers import DistilBertConfig, DistilBertModel

    folder = tmp_path / "sup-simcse-tiny"
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_encoder(tmp_path / "source"))
    shape = {"dim": 16, "hidden_dim": 16, "n_layers": 1, "n_heads": 2}
    config = DistilBertConfig(vocab_size=len(tokenizer), **shape)
    DistilBertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    with pytest.raises(SettingsError, match=r"sup-simcse-tiny.*no pooler"):
        Embedder(str(folder)).encode(TEXTS)
