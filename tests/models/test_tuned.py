"""Adapters in folders: what they are, that they are intact, and that they share their base."""

import pytest
from lazy import LazyModule
from tiny_llama import tiny_adapter, tiny_model

from ragassay.errors import SettingsError
from ragassay.models.local.engine import Engine
from ragassay.models.local.loading import load_adapted
from ragassay.models.local.replies import Prompt
from ragassay.models.tuned import NOTE, WEIGHTS, find_base_model, find_tuned_note

torch = LazyModule("torch")


def test_an_adapter_answers_as_peft_computes_it_and_leaves_its_base_alone(tokenizer, tmp_path):
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

    prompt = Prompt((("user", "the drug"),), max_tokens=5)
    [reply], [bare] = (Engine(model, tokenizer).answer([prompt]) for model in (tuned, base))
    assert reply.tokens != bare.tokens


def test_a_model_s_note_is_found_by_its_name(tmp_path):
    tiny_adapter(tmp_path, 64)
    note = find_tuned_note(f"ragassay/{tmp_path}")
    assert note.task == "judge" and len(note.weights_sha256) == 64
    assert find_base_model(f"ragassay/{tmp_path}") == "ragassay/some/base"
    served = f"litellm_proxy/ragassay/{tmp_path}"
    assert find_tuned_note(served) == note
    assert find_base_model(served) == "litellm_proxy/ragassay/some/base"
    for other in ("openai/gpt-4.1-mini", "ragassay/smollm2-135m", "ragassay/some/model"):
        assert find_tuned_note(other) is None and find_base_model(other) == other


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        (WEIGHTS, b"\x00\x01", "SHA-256"),
        (WEIGHTS, None, "train the adapter again"),
        (NOTE, b"{}", "task"),
    ],
)
def test_damaged_weights_and_notes_are_refused(tmp_path, file, content, problem):
    tiny_adapter(tmp_path, 64)
    (tmp_path / file).unlink()
    if content is not None:
        (tmp_path / file).write_bytes(content)
    with pytest.raises(SettingsError, match=problem):
        find_tuned_note(f"ragassay/{tmp_path}")
