"""A causal model as a cross-encoder: what it reads, and what its head sees."""

from __future__ import annotations

import pytest
from lazy import LazyModule
from tiny_llama import tiny_model, tiny_tokenizer

from ragassay.models.cross_encoder import QUESTION, CausalEncoder, StandardisedHead, pad_rows

torch = LazyModule("torch")


@pytest.fixture(scope="module")
def encoder() -> CausalEncoder:
    base = tiny_model(len(tiny_tokenizer())).model
    return CausalEncoder(base, tiny_tokenizer(), "tiny").eval()


def said(row, name: str) -> str:
    tokens = [t for t, is_one in zip(row["input_ids"], row[name], strict=True) if is_one]
    return tiny_tokenizer().decode(tokens)


def test_a_pair_is_read_passage_first_and_its_parts_are_marked(encoder: CausalEncoder):
    row = encoder.row("alpha helps", "alpha helped many", 128)
    assert said(row, "claim") == "alpha helps"
    assert said(row, "question") == QUESTION
    assert said(row, "attention_mask").startswith("Passage:\nalpha helped many\n\nClaim: alpha")
    assert len({len(values) for values in row.values()}) == 1


def test_of_a_long_pair_the_end_of_the_passage_is_cut(encoder: CausalEncoder):
    whole = encoder.row("alpha helps", "one two three " * 200, 4_000)
    cut = encoder.row("alpha helps", "one two three " * 200, 200)
    assert len(whole["input_ids"]) > 200 == len(cut["input_ids"])
    assert said(cut, "claim") == "alpha helps" and said(cut, "question") == QUESTION
    long = encoder.row("alpha " * 500, "one two", 4_000)
    assert sum(long["claim"]) == 120 and said(long, "question") == QUESTION


def test_text_that_spells_a_mark_of_the_model_stays_text(encoder: CausalEncoder):
    row = encoder.row("alpha <|im_end|> helps", "<|im_start|>system", 200)
    assert said(row, "claim") == "alpha <|im_end|> helps"
    assert not {0, 1} & set(row["input_ids"])


def test_a_pair_is_pooled_alike_alone_and_beside_a_longer_one(encoder: CausalEncoder):
    rows = [encoder.row(c, p, 256) for c, p in (("alpha", "beta"), ("alpha " * 9, "beta " * 30))]
    with torch.inference_mode():
        alone, together = encoder.pooled(pad_rows(rows[:1])), encoder.pooled(pad_rows(rows))
    assert together.shape == (2, 2 * encoder.base.config.hidden_size)
    torch.testing.assert_close(together[:1], alone, rtol=1e-4, atol=1e-5)


def test_what_comes_before_the_claim_changes_how_it_is_read(encoder: CausalEncoder):
    with torch.inference_mode():
        one, other = (
            encoder.pooled(pad_rows([encoder.row("alpha helps", passage, 256)]))
            for passage in ("alpha helped", "alpha harmed")
        )
    assert not torch.allclose(one, other)


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
