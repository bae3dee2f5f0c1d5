"""Adapters in folders: what they are, that they are intact, and that they share their base."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from tiny_llama import tiny_model

from ragassay.errors import SettingsError
from ragassay.models.local.engine import Engine
from ragassay.models.local.provider import adapted
from ragassay.models.local.replies import Prompt
from ragassay.models.tuned import NOTE, WEIGHTS, TunedNote, base_of, note_of, save_adapter


def saved(folder: Path, n_vocab: int) -> PeftModel:
    """A random adapter that changes what the model says."""
    config = LoraConfig(r=4, target_modules=["q_proj", "down_proj"], task_type="CAUSAL_LM")
    model = get_peft_model(tiny_model(n_vocab), config)
    torch.manual_seed(3)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                # Exact in half precision, in which adapters are kept.
                parameter.copy_((torch.randn_like(parameter) * 0.3).half())
            if "lora_A" in name:
                parameter.copy_(parameter.half())
    note = TunedNote(
        task="judge",
        base="some/base",
        weights_sha256="",
        method="sft",
        recipe="{}",
        data=("a.jsonl",),
        data_sha256="0" * 64,
        n_examples=1,
        seed=0,
        versions={},
    )
    save_adapter(model, folder, note)  # type: ignore[arg-type]
    return model  # type: ignore[return-value]


def test_an_adapter_answers_as_peft_computes_it_and_leaves_its_base_alone(
    tokenizer: Any, tmp_path: Path
) -> None:
    trained = saved(tmp_path, len(tokenizer)).eval()
    base = tiny_model(len(tokenizer))
    before = [parameter.clone() for parameter in base.parameters()]
    tuned = adapted(base, tmp_path)
    ids = torch.tensor([tokenizer.encode("the trial of the drug")])
    with torch.inference_mode():
        wanted = trained(ids).logits
        assert torch.allclose(tuned(ids).logits, wanted, atol=1e-5)
        assert not torch.allclose(base(ids).logits, wanted, atol=1e-2)
    assert all(torch.equal(a, b) for a, b in zip(before, base.parameters(), strict=True))
    own = {p.data_ptr() for p in base.parameters()}
    shared = [p for n, p in tuned.named_parameters() if "lora" not in n]
    assert all(p.data_ptr() in own for p in shared)

    [reply] = Engine(tuned, tokenizer).answer([Prompt((("user", "the drug"),), max_tokens=5)])
    [bare] = Engine(base, tokenizer).answer([Prompt((("user", "the drug"),), max_tokens=5)])
    assert reply.tokens != bare.tokens


def test_a_model_s_note_is_found_by_its_name(tmp_path: Path) -> None:
    saved(tmp_path, 64)
    note = note_of(f"ragassay/{tmp_path}")
    assert note is not None and note.task == "judge" and len(note.weights_sha256) == 64
    assert base_of(f"ragassay/{tmp_path}") == "ragassay/some/base"
    for other in ("openai/gpt-4.1-mini", "ragassay/smollm2-135m", "ragassay/some/model"):
        assert note_of(other) is None and base_of(other) == other


def test_damaged_weights_and_notes_are_refused(tmp_path: Path) -> None:
    saved(tmp_path / "a", 64)
    weights = tmp_path / "a" / WEIGHTS
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x00\x01")
    with pytest.raises(SettingsError, match=r"SHA-256"):
        note_of(f"ragassay/{tmp_path / 'a'}")
    saved(tmp_path / "b", 64)
    (tmp_path / "b" / WEIGHTS).unlink()
    with pytest.raises(SettingsError, match="train it again"):
        note_of(f"ragassay/{tmp_path / 'b'}")
    saved(tmp_path / "c", 64)
    (tmp_path / "c" / NOTE).write_text("{}")
    with pytest.raises(SettingsError, match="task"):
        note_of(f"ragassay/{tmp_path / 'c'}")
