"""Words that a model wants before a text, by the text's role."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragassay.model_names import MINILM
from ragassay.models.embeddings import Embedder, Encoded, RoleEncoder, encode_role

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
