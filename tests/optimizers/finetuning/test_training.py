"""Adapters are trained by TRL: they learn, they go on, and they mix no data."""

from __future__ import annotations

import gc
import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lazy import LazyModule
from tiny_llama import tiny_model, tiny_tokenizer

from ragassay.errors import ExtraError, InputError
from ragassay.optimizers.finetuning.examples import ChatExample, hash_chat_examples
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


def likelihood(model: Any, tokenizer: Any, reply: str) -> float:
    """Mean log-likelihood of a reply to the first example's prompt."""
    with torch.inference_mode():
        [found] = tokenise_examples([replace(EXAMPLES[0], reply=reply)], tokenizer)
        ids = torch.tensor([[*found.prompt, *found.reply]])
        logits = model(input_ids=ids).logits[0].log_softmax(-1)
        start = len(found.prompt) - 1
        chosen = [logits[start + i, token] for i, token in enumerate(found.reply)]
        return float(torch.stack(chosen).mean())


def trained(
    work: Path, recipe: TrainingRecipe = RECIPE, examples: Any = EXAMPLES
) -> tuple[Any, Any]:
    tokenizer = tiny_tokenizer()
    return train(examples, tiny_model(len(tokenizer)), tokenizer, recipe, work), tokenizer


def test_supervised_training_makes_the_wanted_reply_likelier(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    before = likelihood(tiny_model(len(tokenizer)), tokenizer, GOOD)
    model, _ = trained(tmp_path)
    assert likelihood(model, tokenizer, GOOD) > before + 0.5


def test_preferences_part_the_wanted_reply_from_the_unwanted_one(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    bare = tiny_model(len(tokenizer))
    before = likelihood(bare, tokenizer, GOOD) - likelihood(bare, tokenizer, BAD)
    model, _ = trained(tmp_path, replace(RECIPE, method="cpo", beta=1.0))
    after = likelihood(model, tokenizer, GOOD) - likelihood(model, tokenizer, BAD)
    assert after > before + 0.1


def test_the_same_training_again_goes_on_from_its_last_checkpoint(tmp_path: Path) -> None:
    first, _ = trained(tmp_path)
    [checkpoint] = tmp_path.glob("checkpoint-*")
    fingerprint = (checkpoint / "adapter_model.safetensors").stat().st_mtime_ns
    again, _ = trained(tmp_path)
    assert (checkpoint / "adapter_model.safetensors").stat().st_mtime_ns == fingerprint
    for name, tensor in first.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name])


def test_the_same_seed_trains_the_same_adapter(tmp_path: Path) -> None:
    first, _ = trained(tmp_path / "one")
    second, _ = trained(tmp_path / "two")
    for name, tensor in first.state_dict().items():
        assert torch.equal(tensor, second.state_dict()[name])


def test_checkpoints_of_other_data_or_of_another_recipe_are_refused(tmp_path: Path) -> None:
    trained(tmp_path)
    with pytest.raises(InputError, match="other data"):
        trained(tmp_path, examples=EXAMPLES[:3])
    with pytest.raises(InputError, match="other data or training options"):
        trained(tmp_path, replace(RECIPE, seed=3))


def test_nothing_to_learn_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no examples"):
        trained(tmp_path, examples=[])
    with pytest.raises(InputError, match="are longer than 8 tokens"):
        trained(tmp_path, replace(RECIPE, row_tokens=8))
    bare = [replace(example, rejected="") for example in EXAMPLES]
    with pytest.raises(InputError, match="contains none"):
        trained(tmp_path / "cpo", replace(RECIPE, method="cpo"), bare)


def test_what_is_too_long_for_a_row_is_said(tmp_path: Path) -> None:
    tokenizer, told = tiny_tokenizer(), list[str]()
    longer = replace(EXAMPLES[0], messages=(("user", "the drug " * 500),))
    model = tiny_model(len(tokenizer))
    train([*EXAMPLES, longer], model, tokenizer, RECIPE, tmp_path, say=told.append)
    assert told == ["skipped 1 examples longer than 400 tokens"]


def test_without_trl_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ExtraError, match=r"ragassay\[train\]"):
        trained(tmp_path)


def test_a_cap_keeps_some_of_each_kind() -> None:
    pairs = [replace(EXAMPLES[0], kind=kind, group=str(n)) for n, kind in enumerate("aaabbc")]
    kept = cap_pairs(pairs, TrainingRecipe(cap=2))
    assert [pair.kind for pair in kept] == ["a", "a", "b", "b", "c"]
    assert cap_pairs(pairs, TrainingRecipe(cap=0)) == pairs
    assert cap_pairs(pairs, TrainingRecipe(cap=2)) == kept


def test_the_hash_of_examples_is_that_of_what_a_method_learns_from() -> None:
    other = [replace(EXAMPLES[0], rejected="x"), *EXAMPLES[1:]]
    assert hash_chat_examples(EXAMPLES, "sft") == hash_chat_examples(other, "sft")
    assert hash_chat_examples(EXAMPLES, "cpo") != hash_chat_examples(other, "cpo")
    assert hash_chat_examples(EXAMPLES, "sft") != hash_chat_examples(EXAMPLES[1:], "sft")


def test_what_is_trained_is_noted_beside_the_checkpoints(tmp_path: Path) -> None:
    trained(tmp_path)
    noted = json.loads((tmp_path / "training.json").read_text())
    assert noted["data_sha256"] == hash_chat_examples(EXAMPLES, "sft") and noted["rank"] == 4
