"""Adapters in folders: they are intact, share their base, and can be added into it."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from bases import save_base
from lazy import LazyModule
from tiny_llama import random_adapter, tiny_adapter, tiny_model

from ragassay.errors import InputError, SettingsError
from ragassay.models.local.engine import Engine
from ragassay.models.local.loading import load_adapted
from ragassay.models.local.replies import Prompt
from ragassay.models.tuned import (
    NOTE,
    WEIGHTS,
    Merged,
    find_base_model,
    find_tuned_note,
    merge,
    rotate_rows,
    write_gguf,
    write_hf,
)

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


MODULES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def logits(model: Any, tokens: list[int]) -> torch.Tensor:
    """Shape (n_tokens, n_vocab), float32."""
    with torch.inference_mode():
        return model(input_ids=torch.tensor([tokens])).logits[0].float()


@pytest.fixture
def tiny(tmp_path) -> str:
    return save_base(tmp_path / "base", "llama")


def test_a_merged_folder_gives_the_logits_of_base_and_adapter(tiny, tmp_path):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32)
    tokens = [5, 80, 90, 17, 201, 33]
    before = logits(base, tokens)
    options = {"base": tiny, "modules": MODULES, "size": 0.05}
    expected = logits(random_adapter(base, tmp_path / "adapter", **options), tokens)
    assert (expected - before).abs().max() > 0.1

    merged = merge(tmp_path / "adapter", tmp_path)
    assert len(merged.changed) == 3 * len(MODULES)
    write_hf(merged, tmp_path / "out" / "merged", "float32")
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "out" / "merged")
    assert again.dtype == torch.float32
    torch.testing.assert_close(logits(again, tokens), expected, atol=1e-4, rtol=1e-4)

    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out" / "merged")
    chat = [{"role": "user", "content": "a"}]
    assert "<|im_start|>user" in tokenizer.apply_chat_template(chat, tokenize=False)
    assert not (tmp_path / "out" / "merged" / "adapter_config.json").exists()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["merged"]

    with pytest.raises(InputError, match="already exists"):
        write_hf(merged, tmp_path / "out" / "merged")
    with pytest.raises(SettingsError, match="convert_hf_to_gguf"):
        write_gguf(merged, tmp_path / "x.gguf")


def test_what_fails_half_way_leaves_nothing(tmp_path, tokenizer):
    class Broken:
        def to(self, dtype: object) -> None:
            raise OSError("disk full")

    merged = Merged("x", "base", Broken(), tokenizer, ())
    with pytest.raises(OSError, match="disk full"):
        write_hf(merged, tmp_path / "merged")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_gguf_file_is_refused_before_the_packaged_file_is_read(
    tmp_path, plain, tokenizer, monkeypatch
):
    monkeypatch.setattr("gguf.GGUFReader", lambda path: pytest.fail("the file is read"))
    path = tmp_path / "x.gguf"
    path.write_text("mine")
    with pytest.raises(InputError, match="already exists"):
        write_gguf(Merged("x", "smollm2-135m", plain.model, tokenizer, ()), path)
    assert path.read_text() == "mine"


def test_a_change_that_gguf_has_no_place_for_is_refused(tmp_path, plain, tokenizer, monkeypatch):
    import gguf

    # Reading the packaged file takes seconds.
    monkeypatch.setattr(gguf, "GGUFReader", functools.cache(gguf.GGUFReader))
    for module in ("lm_head", "model.layers.0.self_attn.qk_proj"):
        merged = Merged("x", "smollm2-135m", plain.model, tokenizer, (module,))
        with pytest.raises(SettingsError, match=f"changes {module}, which has no tensor in GGUF"):
            write_gguf(merged, tmp_path / "x.gguf")
        assert list(tmp_path.iterdir()) == []


def test_rows_of_the_two_halves_of_a_head_come_side_by_side():
    # Two heads of four rows. Head 0 is rows 0 1 | 2 3: side by side that is 0 2 1 3; head 1 is
    # rows 4 5 | 6 7: that is 4 6 5 7.
    weight = np.arange(8.0)[:, None]
    assert rotate_rows(weight, 2)[:, 0].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_transformers_turns_the_rows_back():
    from transformers.modeling_gguf_pytorch_utils import LlamaTensorProcessor

    weight = np.random.default_rng(1).normal(size=(24, 5))
    processor = LlamaTensorProcessor({"num_attention_heads": 6, "num_key_value_heads": 2})
    back = processor.process(rotate_rows(weight, 6), "blk.0.attn_q.weight")
    np.testing.assert_array_equal(back.weights, weight)


@pytest.mark.integration
@pytest.mark.long
def test_folder_and_gguf_of_the_packaged_model_agree(weights_cache, tmp_path):
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    from ragassay.models.weights import prepare_smollm2

    base = AutoModelForCausalLM.from_pretrained(prepare_smollm2(weights_cache), dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(prepare_smollm2(weights_cache))
    tokens = tokenizer.encode("Brelozant lowered monthly migraine days in a trial of adults.")
    before = logits(base, tokens)
    options = {"base": "smollm2-135m", "modules": MODULES, "size": 0.1}
    expected = logits(random_adapter(base, tmp_path / "adapter", **options), tokens)
    effect = float((expected - before).abs().mean())

    merged = merge(tmp_path / "adapter", weights_cache)
    write_gguf(merged, tmp_path / "merged.gguf")
    write_hf(merged, tmp_path / "merged")
    folder = AutoModelForCausalLM.from_pretrained(tmp_path / "merged", dtype=torch.float32)
    gguf = AutoModelForCausalLM.from_pretrained(
        tmp_path,
        gguf_file="merged.gguf",
        dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True),
    )
    # Rounding (to bfloat16 in the folder; of the base, unpacked to bfloat16, in the file) must be
    # small beside what the adapter does.
    assert effect > 0.5
    for read in (folder, gguf):
        assert float((logits(read, tokens) - expected).abs().mean()) < effect / 10
    of_file = AutoTokenizer.from_pretrained(tmp_path, gguf_file="merged.gguf")
    chat = [{"role": "user", "content": "How many?"}]
    assert of_file.apply_chat_template(chat) == tokenizer.apply_chat_template(chat)
