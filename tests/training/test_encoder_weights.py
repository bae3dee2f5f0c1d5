"""The weights of the package are the published ones, rounded."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from ragassay.errors import SettingsError
from ragassay.models import minilm, weights
from ragassay.models.weights import MINILM_PARTS, compute_sha256, locate_minilm
from training.encoder_weights import COPIED, published_folder, split, write

pytestmark = pytest.mark.integration


def test_the_packaged_files_are_those_that_the_script_makes(tmp_path):
    parts = write(published_folder(), tmp_path)
    assert {path.name: compute_sha256(path) for path in parts} == MINILM_PARTS
    for name in (*COPIED, *MINILM_PARTS):
        assert (locate_minilm() / name).read_bytes() == (tmp_path / name).read_bytes()
    assert max(path.stat().st_size for path in parts) < 20_000_000


def test_every_weight_is_the_published_one_in_half_precision():
    published = load_file(published_folder() / "model.safetensors")
    del published["embeddings.position_ids"]
    found = minilm.read_minilm_weights()
    assert found.keys() == published.keys()
    for name, rows in published.items():
        assert found[name].dtype == np.float32
        assert np.array_equal(found[name], rows.astype(np.float16))


def test_a_matrix_goes_on_in_the_next_part():
    rows = {"a": np.ones((5, 2), np.float16), "b": np.ones(3, np.float16)}
    parts = list(split(rows, 2))
    assert [{name: len(part[name]) for name in part} for part in parts] == [
        {"a": 3},
        {"a": 2, "b": 3},
    ]


def test_a_damaged_part_is_refused(monkeypatch):
    monkeypatch.setitem(weights.MINILM_PARTS, "weights-2.safetensors", "00ff")
    minilm.read_minilm_weights.cache_clear()
    with pytest.raises(SettingsError, match=r"weights-2\.safetensors has SHA-256 14fb.*reinstall"):
        minilm.read_minilm_weights()
