"""That what is saved of an adapter is what was trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from lazy import LazyModule

from ragassay.errors import InputError, SettingsError
from ragassay.model_names import MINILM
from ragassay.models.adapters import SMOLLM2, WHOLE, Adapter, read_shape
from ragassay.models.cross_encoder import CrossEncoder, save_adapter
from ragassay.models.entailment import CONTRADICTS, NEUTRAL, PACKAGED, SUPPORTS, load_pair_encoder
from ragassay.optimizers.finetuning.adapting import SCALE, fit_temperature, train
from ragassay.optimizers.finetuning.claims import Example
from ragassay.optimizers.finetuning.tunings import TUNINGS, reserve_folder

torch = LazyModule("torch")


def test_the_temperature_mends_overconfidence():
    # Three of four are right, said with a margin of 4: at temperature T the probability is
    # 1 / (1 + exp(-4 / T)), which is .75 where 4 / T = log 3.
    logits = torch.tensor([[4.0, 0.0]] * 4)
    labels = torch.tensor([0, 0, 0, 1])
    assert fit_temperature(logits, labels) == pytest.approx(4 / 1.0986, rel=1e-2)


def test_no_other_training_goes_on_from_a_folders_checkpoints(tmp_path: Path):
    work = tmp_path / "work"
    for _ in range(2):
        reserve_folder(work, {"data_sha256": "1", "layers": range(3)})
    with pytest.raises(InputError, match="for other data or training options"):
        reserve_folder(work, {"data_sha256": "1", "layers": range(4)})


@pytest.mark.integration
@pytest.mark.parametrize("base", sorted(PACKAGED))
def test_the_saved_adapter_gives_what_was_trained(base: str, tmp_path: Path, weights_cache: Path):
    pytest.importorskip("peft", reason="training needs ragassay[train]")
    examples = [
        Example("Alpha lowers pressure.", "Alpha lowered pressure.", SUPPORTS),
        Example("Alpha raises pressure.", "Alpha lowered pressure.", CONTRADICTS),
        Example("Alpha lowers pressure.", "The train was late.", NEUTRAL),
    ] * 2
    tuning, encoder = TUNINGS[base], load_pair_encoder(base, weights_cache)
    tensors = train(encoder, examples, tuning, tmp_path / "work", epochs=2, seed=0)
    save_adapter(
        tmp_path / "adapter",
        tensors,
        base=base,
        base_sha256=encoder.base_sha256,
        scale=SCALE,
        n_tokens=tuning.n_tokens,
        temperature=2.0,
    )
    adapter = Adapter("test", tmp_path / "adapter")
    pair = ("Alpha raises pressure.", "Alpha lowered pressure.")
    with torch.inference_mode():
        logits = encoder(encoder.build_batch([encoder.encode_pair(*pair, tuning.n_tokens)])).cpu()
    wanted = (logits[0] / 2.0).double().softmax(-1).numpy()
    untrained = [1 / 3] * 3
    assert wanted != pytest.approx(untrained, abs=1e-3)

    # Half precision on disk.
    found = CrossEncoder.load(
        adapter, load_pair_encoder(base, weights_cache)
    ).predict_probabilities([pair])[0]
    assert found == pytest.approx(wanted, abs=2e-3)

    weights = tmp_path / "adapter" / "adapter.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\1")
    with pytest.raises(SettingsError, match="SHA-256"):
        CrossEncoder.load(adapter, load_pair_encoder(base, weights_cache))


@pytest.mark.integration
def test_a_training_begins_with_the_adapter_that_it_is_given(tmp_path: Path):
    pytest.importorskip("peft", reason="training needs ragassay[train]")
    still = replace(TUNINGS[MINILM], learning_rate=0.0, head_rate=0.0)
    example = Example("Alpha raises pressure.", "Alpha lowered pressure.", CONTRADICTS)
    encoder = load_pair_encoder(MINILM, tmp_path)
    train(encoder, [example], still, tmp_path / "work", 1, seed=0, start=WHOLE.folder)
    with torch.inference_mode():
        rows = [encoder.encode_pair(example.claim, example.passage, still.n_tokens)]
        logits = encoder(encoder.build_batch(rows)).cpu()
    shipped = CrossEncoder.load(WHOLE, load_pair_encoder(MINILM, tmp_path))
    wanted = shipped.predict_probabilities([(example.claim, example.passage)])[0]
    temperature = read_shape(WHOLE.folder).temperature
    found = (logits[0] / temperature).double().softmax(-1).numpy()
    assert found == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(
    ("start", "rank", "problem"),
    [(SMOLLM2, 32, "for another base"), (WHOLE, 8, "has rank 64; set --rank")],
)
def test_an_adapter_that_does_not_fit_is_refused(
    start: Adapter, rank: int, problem: str, tmp_path: Path
):
    pytest.importorskip("peft", reason="training needs ragassay[train]")
    tuning = replace(TUNINGS[MINILM], rank=rank)
    example = Example("Alpha.", "Beta.", NEUTRAL)
    encoder = load_pair_encoder(MINILM, tmp_path)
    with pytest.raises(InputError, match=problem):
        train(encoder, [example], tuning, tmp_path / "work", 1, seed=0, start=start.folder)
