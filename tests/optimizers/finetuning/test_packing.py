"""Packed rows: every example is learnt as it would be by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lazy import LazyModule
from tiny_llama import tiny_model

from ragassay.optimizers.finetuning.examples import IGNORED, Tokens, as_row, collate, pack

torch = LazyModule("torch")

STEM = (5, 6, 7, 8, 9)
EXAMPLES = [
    Tokens((*STEM, 10, 11), (20, 21)),
    Tokens((*STEM, 10, 12), (22,)),
    Tokens((*STEM, 10, 11), (23, 24, 25)),
    Tokens((*STEM, 13), (20, 21)),
    Tokens((30, 31), (32,)),
]

tokens = st.builds(
    Tokens,
    st.lists(st.integers(3, 5), min_size=1, max_size=6).map(tuple),
    st.lists(st.integers(6, 9), min_size=1, max_size=4).map(tuple),
)


def test_what_examples_share_stands_in_a_row_once() -> None:
    row = as_row(EXAMPLES[:2])
    # Shared: the stem and 10. Then each one's last prompt token with its reply.
    assert row["input_ids"] == [*STEM, 10, 11, 20, 21, 12, 22]
    assert row["position_ids"] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 6, 7]
    assert row["labels"] == [IGNORED] * 7 + [20, 21, IGNORED, 22]


def test_replies_are_as_likely_in_a_row_as_alone() -> None:
    with torch.inference_mode():
        model = tiny_model(64)
        batch = collate([as_row(EXAMPLES)])
        labels = batch.pop("labels")[0]
        packed = model(**batch).logits[0].log_softmax(-1)
        found = [
            float(packed[i - 1, labels[i]]) for i in range(len(labels)) if labels[i] != IGNORED
        ]
        alone = []
        for example in EXAMPLES:
            ids = torch.tensor([[*example.prompt, *example.reply]])
            logits = model(ids).logits[0].log_softmax(-1)
            start = len(example.prompt) - 1
            alone += [float(logits[start + i, token]) for i, token in enumerate(example.reply)]
        assert found == pytest.approx(alone, abs=1e-4)


@given(st.lists(tokens, min_size=1, max_size=12), st.integers(10, 40))
def test_rows_hold_every_example_once_and_are_not_too_long(
    examples: list[Tokens], n_most: int
) -> None:
    rows = pack(examples, n_most)
    assert sorted(map(repr, examples)) == sorted(repr(e) for row in rows for e in row)
    assert all(len(as_row(row)["input_ids"]) <= n_most for row in rows)


@given(st.lists(tokens, min_size=1, max_size=8))
def test_a_token_sees_its_own_example_and_nothing_else(examples: list[Tokens]) -> None:
    row = as_row(examples)
    visible = collate([row])["attention_mask"][0, 0].tolist()
    for place, label in enumerate(row["labels"]):
        seen = [row["input_ids"][i] for i in range(len(row["labels"])) if visible[place][i]]
        if label != IGNORED:
            wholes = [(*e.prompt, *e.reply) for e in examples]
            assert any(whole[: len(seen)] == tuple(seen) for whole in wholes)


def test_no_example_makes_no_row() -> None:
    assert pack([], 10) == []
