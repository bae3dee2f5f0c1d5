"""That what is saved of an adapter is what was trained."""

from dataclasses import replace

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


def test_no_other_training_goes_on_from_a_folders_checkpoints(tmp_path):
    work = tmp_path / "work"
    for _ in range(2):
        reserve_folder(work, {"data_sha256": "1", "layers": range(3)})
    with pytest.raises(InputError, match="for other data or training options"):
        reserve_folder(work, {"data_sha256": "1", "layers": range(4)})


RAISES = Example("Alpha raises pressure.", "Alpha lowered pressure.", CONTRADICTS)
PAIR = (RAISES.claim, RAISES.passage)


def predict(encoder, n_tokens: int, temperature: float):
    """Return the probabilities of the pair from a model in training."""
    with torch.inference_mode():
        logits = encoder(encoder.build_batch([encoder.encode_pair(*PAIR, n_tokens)])).cpu()
    return (logits[0] / temperature).double().softmax(-1).numpy()


@pytest.mark.integration
@pytest.mark.parametrize("base", sorted(PACKAGED))
def test_the_saved_adapter_gives_what_was_trained(base, tmp_path, weights_cache):
    pytest.importorskip("peft", reason="training needs ragassay[train]")
    examples = [
        Example("Alpha lowers pressure.", "Alpha lowered pressure.", SUPPORTS),
        RAISES,
        Example("Alpha lowers pressure.", "The train was late.", NEUTRAL),
    ] * 2
    tuning, encoder = TUNINGS[base], load_pair_encoder(base, weights_cache)
    tensors = train(encoder, examples, tuning, tmp_path / "work", epochs=2, seed=0)
    adapter = Adapter("test", tmp_path / "adapter")
    shape = {"base": base, "base_sha256": encoder.base_sha256, "n_tokens": tuning.n_tokens}
    save_adapter(adapter.folder, tensors, scale=SCALE, temperature=2.0, **shape)
    wanted = predict(encoder, tuning.n_tokens, 2.0)
    assert wanted != pytest.approx([1 / 3] * 3, abs=1e-3), "it has learnt"

    fresh = load_pair_encoder(base, weights_cache)
    weights = adapter.folder / "adapter.safetensors"
    saved = weights.read_bytes()
    weights.write_bytes(saved[:-1] + b"\1")
    with pytest.raises(SettingsError, match="SHA-256"):
        CrossEncoder.load(adapter, fresh)

    weights.write_bytes(saved)
    found = CrossEncoder.load(adapter, fresh).predict_probabilities([PAIR])[0]
    assert found == pytest.approx(wanted, abs=2e-3), "half precision on disk"


@pytest.mark.integration
def test_a_training_begins_with_the_adapter_that_it_is_given(tmp_path):
    pytest.importorskip("peft", reason="training needs ragassay[train]")
    still = replace(TUNINGS[MINILM], learning_rate=0.0, head_rate=0.0)
    encoder = load_pair_encoder(MINILM, tmp_path)
    train(encoder, [RAISES], still, tmp_path / "work", 1, seed=0, start=WHOLE.folder)
    shipped = CrossEncoder.load(WHOLE, load_pair_encoder(MINILM, tmp_path))
    wanted = shipped.predict_probabilities([PAIR])[0]
    found = predict(encoder, still.n_tokens, read_shape(WHOLE.folder).temperature)
    assert found == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(
    ("start", "rank", "problem"),
    [(SMOLLM2, 32, "for another base"), (WHOLE, 8, "has rank 64; set --rank")],
)
def test_an_adapter_that_does_not_fit_is_refused(start, rank, problem, tmp_path):
    pytest.importorskip("peft", reason="training needs ragassay[train]")
    tuning, encoder = replace(TUNINGS[MINILM], rank=rank), load_pair_encoder(MINILM, tmp_path)
    with pytest.raises(InputError, match=problem):
        train(encoder, [RAISES], tuning, tmp_path / "work", 1, seed=0, start=start.folder)
