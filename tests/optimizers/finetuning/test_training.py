"""Adapters are trained by TRL, on packed rows: they learn, go on, and mix no data."""

from __future__ import annotations

import gc
import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lazy import LazyModule
from tiny_llama import tiny_model, tiny_tokenizer

from ragassay.errors import ExtraError, InputError
from ragassay.optimizers.finetuning.examples import (
    IGNORED,
    ChatExample,
    Tokens,
    as_row,
    collate,
    hash_chat_examples,
    pack,
)
from ragassay.optimizers.finetuning.training import (
    TrainingRecipe,
    cap_pairs,
    tokenise_examples,
    train,
)

torch = LazyModule("torch")

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

GOOD, BAD = '{"rating":5}', '{"rating":1}'
EXAMPLES = [
    ChatExample((("user", f"the trial of drug {n}"),), GOOD, rejected=BAD, group=str(n))
    for n in range(6)
]
RECIPE = TrainingRecipe(row_tokens=400, learning_rate=1e-2, steps=4, rank=4, share_of_layers=1.0)


@pytest.fixture(autouse=True, scope="module")
def frozen() -> None:
    """Import what training imports, and freeze it: each training collects garbage."""
    importlib.import_module("trl.trainer.sft_trainer")
    importlib.import_module("trl.experimental.cpo")
    gc.freeze()


def bare_model() -> Any:
    return tiny_model(len(tiny_tokenizer()))


def likelihood(model: Any, reply: str) -> float:
    """Mean log-likelihood of a reply to the first example's prompt."""
    with torch.inference_mode():
        [found] = tokenise_examples([replace(EXAMPLES[0], reply=reply)], tiny_tokenizer())
        ids = torch.tensor([[*found.prompt, *found.reply]])
        logits = model(input_ids=ids).logits[0].log_softmax(-1)
        start = len(found.prompt) - 1
        chosen = [logits[start + i, token] for i, token in enumerate(found.reply)]
        return float(torch.stack(chosen).mean())


def trained(work: Path, recipe: TrainingRecipe = RECIPE, examples: Any = EXAMPLES) -> Any:
    return train(examples, bare_model(), tiny_tokenizer(), recipe, work)


def test_supervised_training_makes_the_wanted_reply_likelier(tmp_path):
    before = likelihood(bare_model(), GOOD)
    assert likelihood(trained(tmp_path), GOOD) > before + 0.5
    noted = json.loads((tmp_path / "training.json").read_text())
    assert noted["data_sha256"] == hash_chat_examples(EXAMPLES, "sft") and noted["rank"] == 4


def test_preferences_part_the_wanted_reply_from_the_unwanted_one(tmp_path):
    bare = bare_model()
    before = likelihood(bare, GOOD) - likelihood(bare, BAD)
    model = trained(tmp_path, replace(RECIPE, method="cpo", beta=1.0))
    assert likelihood(model, GOOD) - likelihood(model, BAD) > before + 0.1


def test_a_training_can_be_repeated_and_goes_on_from_its_last_checkpoint(tmp_path):
    first = trained(tmp_path / "one").state_dict()
    [weights] = (tmp_path / "one").glob("checkpoint-*/adapter_model.safetensors")
    written = weights.stat().st_mtime_ns
    for name in ("one", "two"):
        again = trained(tmp_path / name).state_dict()
        assert all(torch.equal(tensor, again[key]) for key, tensor in first.items())
    assert weights.stat().st_mtime_ns == written


def test_checkpoints_of_other_data_or_of_another_recipe_are_refused(tmp_path):
    trained(tmp_path)
    with pytest.raises(InputError, match="other data"):
        trained(tmp_path, examples=EXAMPLES[:3])
    with pytest.raises(InputError, match="other data or training options"):
        trained(tmp_path, replace(RECIPE, seed=3))


def test_nothing_to_learn_is_said(tmp_path):
    with pytest.raises(InputError, match="contains no examples"):
        trained(tmp_path, examples=[])
    with pytest.raises(InputError, match="are longer than 8 tokens"):
        trained(tmp_path, replace(RECIPE, row_tokens=8))
    bare = [replace(example, rejected="") for example in EXAMPLES]
    with pytest.raises(InputError, match="contains none"):
        trained(tmp_path / "cpo", replace(RECIPE, method="cpo"), bare)


def test_what_is_too_long_for_a_row_is_said(tmp_path):
    told = list[str]()
    longer = replace(EXAMPLES[0], messages=(("user", "the drug " * 500),))
    examples = [*EXAMPLES, longer]
    train(examples, bare_model(), tiny_tokenizer(), RECIPE, tmp_path, say=told.append)
    assert told == ["skipped 1 examples longer than 400 tokens"]


def test_without_trl_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ExtraError, match=r"ragassay\[train\]"):
        trained(tmp_path)


def test_a_cap_keeps_some_of_each_kind():
    pairs = [replace(EXAMPLES[0], kind=kind, group=str(n)) for n, kind in enumerate("aaabbc")]
    kept = cap_pairs(pairs, TrainingRecipe(cap=2))
    assert [pair.kind for pair in kept] == ["a", "a", "b", "b", "c"]
    assert cap_pairs(pairs, TrainingRecipe(cap=0)) == pairs
    assert cap_pairs(pairs, TrainingRecipe(cap=2)) == kept


def test_the_hash_of_examples_is_that_of_what_a_method_learns_from():
    other = [replace(EXAMPLES[0], rejected="x"), *EXAMPLES[1:]]
    assert hash_chat_examples(EXAMPLES, "sft") == hash_chat_examples(other, "sft")
    assert hash_chat_examples(EXAMPLES, "cpo") != hash_chat_examples(other, "cpo")
    assert hash_chat_examples(EXAMPLES, "sft") != hash_chat_examples(EXAMPLES[1:], "sft")


STEM = (5, 6, 7, 8, 9)
ROW = [
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


def test_what_examples_share_stands_in_a_row_once():
    row = as_row(ROW[:2])
    # Shared: the stem and 10. Then each one's last prompt token with its reply.
    assert row["input_ids"] == [*STEM, 10, 11, 20, 21, 12, 22]
    assert row["position_ids"] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 6, 7]
    assert row["labels"] == [IGNORED] * 7 + [20, 21, IGNORED, 22]


def test_replies_are_as_likely_in_a_row_as_alone():
    with torch.inference_mode():
        model = tiny_model(64)
        batch = collate([as_row(ROW)])
        labels = batch.pop("labels")[0]
        packed = model(**batch).logits[0].log_softmax(-1)
        found = [
            float(packed[i - 1, labels[i]]) for i in range(len(labels)) if labels[i] != IGNORED
        ]
        alone = []
        for example in ROW:
            ids = torch.tensor([[*example.prompt, *example.reply]])
            logits = model(ids).logits[0].log_softmax(-1)
            start = len(example.prompt) - 1
            alone += [float(logits[start + i, token]) for i, token in enumerate(example.reply)]
        assert found == pytest.approx(alone, abs=1e-4)


@given(st.lists(tokens, min_size=1, max_size=12), st.integers(10, 40))
def test_rows_hold_every_example_once_and_are_not_too_long(examples, n_most):
    rows = pack(examples, n_most)
    assert sorted(map(repr, examples)) == sorted(repr(e) for row in rows for e in row)
    assert all(len(as_row(row)["input_ids"]) <= n_most for row in rows)


@given(st.lists(tokens, min_size=1, max_size=8))
def test_a_token_sees_its_own_example_and_nothing_else(examples):
    row = as_row(examples)
    visible = collate([row])["attention_mask"][0, 0].tolist()
    for place, label in enumerate(row["labels"]):
        seen = [row["input_ids"][i] for i in range(len(row["labels"])) if visible[place][i]]
        if label != IGNORED:
            wholes = [(*e.prompt, *e.reply) for e in examples]
            assert any(whole[: len(seen)] == tuple(seen) for whole in wholes)


def test_no_example_makes_no_row():
    assert pack([], 10) == []
