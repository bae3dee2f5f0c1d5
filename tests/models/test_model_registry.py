"""What models are at hand, and whether their files are what they should be."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ragassay.errors import InputError
from ragassay.models.registry import (
    ModelFile,
    check,
    find_registered_model,
    is_sound,
    list_registered_models,
    list_served_models,
)
from ragassay.models.weights import compute_sha256

NOTE = {
    "task": "judge",
    "base": "smollm2-135m",
    "base_sha256": "",
    "method": "sft",
    "recipe": "{}",
    "data": ["answers.jsonl"],
    "data_sha256": "0" * 64,
    "n_examples": 3,
    "seed": 1,
    "versions": {},
}


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder that looks like an adapter's."""
    weights = tmp_path / "adapter_model.safetensors"
    weights.write_bytes(b"weights")
    (tmp_path / "adapter_config.json").write_text("{}")
    note = NOTE | {"weights_sha256": compute_sha256(weights)}
    (tmp_path / "ragassay.json").write_text(json.dumps(note))
    return tmp_path


def test_every_model_has_a_name_a_role_and_files():
    items = list_registered_models()
    names = [item.name for item in items]
    assert len(set(names)) == len(names)
    assert {"ragassay/smollm2-135m", "all-MiniLM-L6-v2", "ragassay/signals"} <= set(names)
    assert all(item.role and item.source and item.files for item in items)
    assert set(list_served_models()) <= set(names)
    assert list_served_models()[-1] == "ragassay/smollm2-135m"


def test_what_is_installed_is_intact():
    for item in list_registered_models():
        if item.is_installed:
            found = check(item)
            assert is_sound(found), item.name
            assert any(file.state == "ok" for file in found), item.name
            assert item.n_bytes > 0


def test_an_adapter_in_a_folder_is_read_by_its_path(folder):
    for name in (str(folder), f"ragassay/{folder}"):
        item = find_registered_model(name)
        assert item.folder == folder and "rates answers" in item.role
        assert {file.name: file.state for file in check(item)} == {
            "adapter_config.json": "unproven",
            "ragassay.json": "unproven",
            "adapter_model.safetensors": "ok",
        }


@pytest.mark.parametrize("name", ["adapter_model.safetensors", "ragassay.json"])
def test_damage_is_found(folder, name):
    (folder / name).write_bytes(b'{"something": "else"}')
    found = check(find_registered_model(str(folder)))
    assert not is_sound(found)
    assert "damaged" in {file.state for file in found}


def test_a_missing_file_is_found(folder):
    (folder / "adapter_model.safetensors").unlink()
    found = {file.name: file.state for file in check(find_registered_model(str(folder)))}
    assert found["adapter_model.safetensors"] == "missing"
    absent = replace(list_registered_models()[-1], files=(ModelFile(None, "f" * 64),))
    assert not absent.is_installed and absent.n_bytes == 0
    assert [file.state for file in check(absent)] == ["missing"]


def test_a_name_is_found_with_and_without_its_provider():
    assert find_registered_model("signals") == find_registered_model("ragassay/signals")
    with pytest.raises(InputError, match=r"'nope'.*ragassay/signals"):
        find_registered_model("nope")
