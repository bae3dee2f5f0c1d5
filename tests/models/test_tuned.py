"""Adapters in folders: what they are, that they are intact, and that they share their base."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lazy import LazyModule
from tiny_llama import tiny_adapter, tiny_model

from ragassay.errors import SettingsError
from ragassay.models.local.engine import Engine
from ragassay.models.local.loading import load_adapted
from ragassay.models.local.replies import Prompt
from ragassay.models.tuned import NOTE, WEIGHTS, find_base_model, find_tuned_note

torch = LazyModule("torch")


def test_an_adapter_answers_as_peft_computes_it_and_leaves_its_base_alone(
    tokenizer: Any, tmp_path: Path
) -> None:
    trained = tiny_adapter(tmp_path, len(tokenizer)).eval()
    base = tiny_model(len(tokenizer))
    before = [parameter.clone() for parameter in base.parameters()]
    tuned = load_adapted(base, tmp_path)
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
    tiny_adapter(tmp_path, 64)
    note = find_tuned_note(f"ragassay/{tmp_path}")
    assert note is not None and note.task == "judge" and len(note.weights_sha256) == 64
    assert find_base_model(f"ragassay/{tmp_path}") == "ragassay/some/base"
    served = f"litellm_proxy/ragassay/{tmp_path}"
    assert (
        find_tuned_note(served) == note
        and find_base_model(served) == "litellm_proxy/ragassay/some/base"
    )
    for other in ("openai/gpt-4.1-mini", "ragassay/smollm2-135m", "ragassay/some/model"):
        assert find_tuned_note(other) is None and find_base_model(other) == other


def test_damaged_weights_and_notes_are_refused(tmp_path: Path) -> None:
    tiny_adapter(tmp_path / "a", 64)
    weights = tmp_path / "a" / WEIGHTS
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x00\x01")
    with pytest.raises(SettingsError, match=r"SHA-256"):
        find_tuned_note(f"ragassay/{tmp_path / 'a'}")
    tiny_adapter(tmp_path / "b", 64)
    (tmp_path / "b" / WEIGHTS).unlink()
    with pytest.raises(SettingsError, match="train the adapter again"):
        find_tuned_note(f"ragassay/{tmp_path / 'b'}")
    tiny_adapter(tmp_path / "c", 64)
    (tmp_path / "c" / NOTE).write_text("{}")
    with pytest.raises(SettingsError, match="task"):
        find_tuned_note(f"ragassay/{tmp_path / 'c'}")
