"""What an embedding model's name decides: its pooling, and the words before a text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from lazy import LazyModule
from tiny_verifiers import tiny_encoder

from ragassay.errors import SettingsError
from ragassay.model_names import MINILM
from ragassay.models.embeddings import Embedder, Encoded, RoleEncoder, encode_role

torch = LazyModule("torch")
transformers = LazyModule("transformers")

TEXTS = ["alpha lowers pressure", "beta raises pain in the trial of adults ."]
INSTRUCTION = "Instruct: Retrieve semantically similar text\nQuery: "


def pool(folder: str, text: str) -> dict[str, np.ndarray]:
    """Return the vectors of length 1 that transformers' own outputs give, by pooling."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder)
    with torch.no_grad():
        found = model.eval()(**tokenizer([text], return_tensors="pt"))
    states = found.last_hidden_state[0]
    vectors = {
        "mean": states.mean(0),
        "cls": states[0],
        "lasttoken": states[-1],
        "pooler": found.pooler_output[0],
    }
    return {name: (vector / vector.norm()).numpy() for name, vector in vectors.items()}


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
    rows = [pool(folder, prefix + text) for text in TEXTS]
    right = np.stack([row[pooling] for row in rows])
    assert embedder.encode(TEXTS) == pytest.approx(right, abs=1e-5)
    # In one batch, whose shorter text is padded.
    assert embedder.encode_many([prefix + text for text in TEXTS]) == pytest.approx(right, abs=1e-5)
    for other in rows[0].keys() - {pooling}:
        wrong = np.stack([row[other] for row in rows])
        assert np.abs(wrong - right).max() > 1e-2, "the model tells the poolings apart"


def test_a_folders_modules_decide_its_pooling(tmp_path):
    from sentence_transformers import SentenceTransformer

    source = tiny_encoder(tmp_path / "source")
    folder = str(tmp_path / "sup-simcse-roberta-large")
    SentenceTransformer(source, device="cpu").save(folder)  # with its default, the mean
    right = np.stack([pool(source, text)["mean"] for text in TEXTS])
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


MISTRAL = "intfloat/e5-mistral-7b-instruct"
SCIQAG = "Given this Question & Answer pair, retrieve relevant sentences to the Answer."
"""SciQAG, section 3.3."""


class Noting(Embedder):
    """Embeds nothing; notes what it was to embed."""

    def __init__(self, name: str = "noting") -> None:
        super().__init__(name)
        self.seen: list[str] = []

    def encode_many(self, texts: Sequence[str]) -> np.ndarray:
        self.seen += texts
        return np.ones((len(texts), 1), dtype=np.float32)

    def _compute(self, texts: Sequence[str]) -> list[Encoded]:
        self.seen += texts
        one = np.ones(1, dtype=np.float32)
        return [Encoded(one, one[None]) for _ in texts]


def test_an_instruction_stands_before_what_searches_not_before_what_is_searched():
    embedder = Noting()
    encode = RoleEncoder(MISTRAL, embedder)
    assert encode(["Why?\n42 mg."], "pair").shape == (1, 1)
    encode(["42 mg."], "answer")
    encode(["It was 42 mg."], "sentence")
    assert embedder.seen == [
        f"Instruct: {SCIQAG}\nQuery: Why?\n42 mg.",
        "Instruct: Given an answer from a scientific paper, find the sentences of the paper "
        "behind it\nQuery: 42 mg.",
        "It was 42 mg.",
    ]


def test_a_plain_model_gets_the_text_alone():
    embedder = Noting()
    encode = RoleEncoder(embedder=embedder)
    for role in ("answer", "pair", "question", "sentence"):
        encode(["It was 42 mg."], role)
    assert embedder.seen == ["It was 42 mg."] * 4
    assert encode.name == MINILM


def test_an_embedder_adds_the_words_of_its_name():
    bge = "Represent this sentence for searching relevant passages: "
    for name, seen in (
        # The query is as the text before it.
        ("intfloat/e5-small-v2", ["query: a", "passage: a"]),
        ("BAAI/bge-small-en-v1.5", ["a", f"{bge}a"]),
    ):
        embedder = Noting(name)
        embedder.encode(["a"])
        embedder.encode_role(["a"], "query")
        encode_role(embedder, ["a"], "passage")
        assert embedder.seen == seen


def test_an_encoder_that_knows_no_roles_gets_the_text_alone():
    class Plain:
        def encode(self, texts: Sequence[str]) -> np.ndarray:
            assert list(texts) == ["a"]
            return np.ones((1, 1), dtype=np.float32)

    assert encode_role(Plain(), ["a"], "query").shape == (1, 1)
