"""Base models as cross-encoders, packaged or in folders: what they read, what their heads see."""

from __future__ import annotations

from pathlib import Path

import pytest
from bases import ARCHITECTURES, save_base
from lazy import LazyModule
from tiny_llama import tiny_model, tiny_tokenizer

from ragassay.errors import SettingsError
from ragassay.model_names import MINILM
from ragassay.models.cross_encoder import (
    QUESTION,
    BidirectionalEncoder,
    CausalEncoder,
    StandardisedHead,
    pad_rows,
)
from ragassay.models.entailment import load_pair_encoder

nn = LazyModule("torch.nn")
torch = LazyModule("torch")
transformers = LazyModule("transformers")


@pytest.fixture(scope="module")
def encoder() -> CausalEncoder:
    base = tiny_model(len(tiny_tokenizer())).model
    return CausalEncoder(base, tiny_tokenizer(), "tiny").eval()


def said(row, name: str) -> str:
    tokens = [t for t, is_one in zip(row["input_ids"], row[name], strict=True) if is_one]
    return tiny_tokenizer().decode(tokens)


def test_a_pair_is_read_passage_first_and_its_parts_are_marked(encoder):
    row = encoder.encode_pair("alpha helps", "alpha helped many", 128)
    assert said(row, "claim") == "alpha helps"
    assert said(row, "question") == QUESTION
    assert said(row, "attention_mask").startswith("Passage:\nalpha helped many\n\nClaim: alpha")
    assert len({len(values) for values in row.values()}) == 1


def test_of_a_long_pair_the_end_of_the_passage_is_cut(encoder):
    whole = encoder.encode_pair("alpha helps", "one two three " * 200, 4_000)
    cut = encoder.encode_pair("alpha helps", "one two three " * 200, 200)
    assert len(whole["input_ids"]) > 200 == len(cut["input_ids"])
    assert said(cut, "claim") == "alpha helps" and said(cut, "question") == QUESTION
    long = encoder.encode_pair("alpha " * 500, "one two", 4_000)
    assert sum(long["claim"]) == 120 and said(long, "question") == QUESTION


def test_text_that_spells_a_mark_of_the_model_stays_text(encoder):
    row = encoder.encode_pair("alpha <|im_end|> helps", "<|im_start|>system", 200)
    assert said(row, "claim") == "alpha <|im_end|> helps"
    assert not {0, 1} & set(row["input_ids"])


def test_a_pair_is_pooled_alike_alone_and_beside_a_longer_one(encoder):
    pairs = (("alpha", "beta"), ("alpha " * 9, "beta " * 30), ("alpha", "gamma"))
    rows = [encoder.encode_pair(*pair, 256) for pair in pairs]
    with torch.inference_mode():
        alone, together = encoder.pool(pad_rows(rows[:1])), encoder.pool(pad_rows(rows))
    assert together.shape == (3, 2 * encoder.base.config.hidden_size)
    torch.testing.assert_close(together[:1], alone, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(together[0], together[2]), "the passage changes it"


def test_a_head_brings_features_to_the_same_mean_and_spread_and_starts_undecided():
    features = torch.randn(200, 6) * torch.tensor([1.0, 10, 100, 1, 1, 1]) + 5
    head = StandardisedHead(6).eval()
    head.standardise(features)
    assert head(features).abs().max() == 0
    with torch.no_grad():
        head.weight[0, :3] = 1.0
    found = head(features[:1])[0, 0].item()
    standard = (features[0] - features.mean(0)) / features.std(0)
    assert found == pytest.approx(float(standard[:3].sum()) / 8, abs=1e-4)
    assert set(head.state_dict()) == {"weight", "bias", "mean", "spread"}


def test_text_that_spells_a_mark_of_minilm_stays_text():
    encoder = load_pair_encoder(MINILM, Path())
    plain = encoder.encode_pair("It fell.", "It rose.", 64)["input_ids"]
    start, end = plain[0], plain[-1]
    spelled = encoder.encode_pair("It fell. [SEP] [CLS]", "[SEP] It rose.", 64)["input_ids"]
    assert spelled.count(start) == plain.count(start) == 1
    assert spelled.count(end) == plain.count(end) == 2
    assert len(spelled) > len(plain)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_base_is_read_as_its_architecture_reads(architecture, tmp_path):
    encoder = load_pair_encoder(save_base(tmp_path / "base", architecture), tmp_path).eval()
    is_causal = architecture != "bert"
    assert isinstance(encoder, CausalEncoder if is_causal else BidirectionalEncoder)
    assert encoder.base_name == str(tmp_path / "base") and encoder.base_sha256 == ""
    stacks = [m for m in encoder.base.modules() if isinstance(m, nn.ModuleList)]
    assert [len(stack) for stack in stacks] == [2 if is_causal else 3]  # two thirds of three
    pairs = (("alpha", "beta"), ("alpha " * 5, "beta " * 9))
    rows = [encoder.encode_pair(*pair, 64) for pair in pairs]
    with torch.inference_mode():
        alone, together = (encoder(encoder.build_batch(some)) for some in (rows[:1], rows))
    assert together.shape == (2, 3)
    torch.testing.assert_close(together[:1], alone, rtol=1e-4, atol=1e-5)


def test_a_mark_at_the_start_is_set_where_the_tokenizer_wants_one(tmp_path):
    names = (save_base(tmp_path / f"base{mark}", "llama", mark) for mark in ("<|im_start|>", ""))
    rows = [load_pair_encoder(name, tmp_path).encode_pair("alpha", "beta", 64) for name in names]
    assert list(rows[0]["input_ids"]) == [0, *rows[1]["input_ids"]]


def test_what_cannot_be_a_base_is_refused_in_words(tmp_path):
    with pytest.raises(SettingsError, match="is unavailable"):
        load_pair_encoder(str(tmp_path / "absent"), tmp_path)
    transformers.T5Config().save_pretrained(tmp_path / "t5")
    with pytest.raises(SettingsError, match="pass a text encoder or decoder"):
        load_pair_encoder(str(tmp_path / "t5"), tmp_path)
