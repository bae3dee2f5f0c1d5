"""Base models of the hub, here in folders, as cross-encoders."""

from __future__ import annotations

from pathlib import Path

import pytest
from bases import ARCHITECTURES, save_base
from lazy import LazyModule

from ragassay.errors import SettingsError
from ragassay.models.cross_encoder import BidirectionalEncoder, CausalEncoder
from ragassay.models.entailment import pair_encoder

nn = LazyModule("torch.nn")
torch = LazyModule("torch")
transformers = LazyModule("transformers")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_base_is_read_as_its_architecture_reads(architecture: str, tmp_path: Path):
    encoder = pair_encoder(save_base(tmp_path / "base", architecture), tmp_path).eval()
    is_causal = architecture != "bert"
    assert isinstance(encoder, CausalEncoder if is_causal else BidirectionalEncoder)
    assert encoder.base_name == str(tmp_path / "base") and encoder.base_sha256 == ""
    stacks = [m for m in encoder.base.modules() if isinstance(m, nn.ModuleList)]
    assert [len(stack) for stack in stacks] == [2 if is_causal else 3]  # two thirds of three
    rows = [encoder.row("alpha", "beta", 64), encoder.row("alpha " * 5, "beta " * 9, 64)]
    with torch.inference_mode():
        alone, together = encoder(encoder.batch(rows[:1])), encoder(encoder.batch(rows))
    assert together.shape == (2, 3)
    torch.testing.assert_close(together[:1], alone, rtol=1e-4, atol=1e-5)


def test_a_mark_at_the_start_is_set_where_the_tokenizer_wants_one(tmp_path: Path):
    base = save_base(tmp_path / "base", "llama", start="<|im_start|>")
    marked = pair_encoder(base, tmp_path).row("alpha", "beta", 64)
    plain = pair_encoder(save_base(tmp_path / "plain", "llama"), tmp_path).row("alpha", "beta", 64)
    assert list(marked["input_ids"]) == [0, *plain["input_ids"]]


def test_what_cannot_be_a_base_is_refused_in_words(tmp_path: Path):
    with pytest.raises(SettingsError, match="is unavailable"):
        pair_encoder(str(tmp_path / "absent"), tmp_path)
    transformers.T5Config().save_pretrained(tmp_path / "t5")
    with pytest.raises(SettingsError, match="name an encoder or a decoder of text"):
        pair_encoder(str(tmp_path / "t5"), tmp_path)
