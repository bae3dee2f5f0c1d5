"""Words that a model wants before a text, by the model's name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from case_tables import each_case

from ragassay.model_names import MINILM
from ragassay.models.embeddings import Embedder
from ragassay.models.text_roles import E5, INSTRUCTED, PLAIN, TASKS, RoleEncoder, prefixes


class Noting(Embedder):
    """Embeds nothing; notes what it was to embed."""

    def __init__(self) -> None:
        super().__init__("noting")
        self.seen: list[str] = []

    def encode_many(self, texts: Sequence[str]) -> np.ndarray:
        self.seen += texts
        return np.ones((len(texts), 1), dtype=np.float32)


@each_case(
    ("model", "expected"),
    [
        (MINILM, PLAIN),
        ("sentence-transformers/all-mpnet-base-v2", PLAIN),
        ("intfloat/e5-small-v2", E5),
        ("intfloat/multilingual-e5-base", E5),
        ("models/e5-large/", E5),
        ("intfloat/e5-mistral-7b-instruct", INSTRUCTED),
        ("e5-mistral-7b-instruct", INSTRUCTED),
        ("intfloat/multilingual-e5-large-instruct", INSTRUCTED),
        ("Intfloat/E5-Mistral-7B-Instruct", INSTRUCTED),
        # Not of the family, whatever the folder is called.
        ("e5/all-MiniLM-L6-v2", PLAIN),
        ("acme/core5-small", PLAIN),
        ("acme/e512-base", PLAIN),
        ("acme/other-instruct", PLAIN),
    ],
)
def test_what_a_model_wants_before_a_text(model: str, expected: object) -> None:
    assert prefixes(model) == expected


def test_an_instruction_stands_before_what_searches_not_before_what_is_searched() -> None:
    embedder = Noting()
    encode = RoleEncoder("intfloat/e5-mistral-7b-instruct", embedder)
    assert encode(["42 mg."], "answer").shape == (1, 1)
    encode(["Why?"], "question")
    encode(["It was 42 mg."], "sentence")
    assert embedder.seen == [
        f"Instruct: {TASKS['answer']}\nQuery: 42 mg.",
        f"Instruct: {TASKS['question']}\nQuery: Why?",
        "It was 42 mg.",
    ]


def test_a_plain_model_gets_the_text_alone() -> None:
    embedder = Noting()
    encode = RoleEncoder(embedder=embedder)
    for role in ("answer", "question", "sentence"):
        encode(["It was 42 mg."], role)
    assert embedder.seen == ["It was 42 mg."] * 3
    assert encode.name == MINILM
