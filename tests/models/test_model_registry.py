"""What models are at hand, whether their files are intact, and their cards."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from case_tables import each_case

from ragassay.errors import InputError, SettingsError
from ragassay.models.adapters import SHAPE, Shape, read_shape
from ragassay.models.cards import load_card, write_card
from ragassay.models.registry import (
    ModelFile,
    check,
    find_registered_model,
    is_sound,
    list_registered_models,
    list_served_models,
)
from ragassay.models.weights import compute_sha256
from ragassay.records import Bound, CardFigure, ModelCard

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


FIGURE = CardFigure(task="verdicts", data="dev", metric="accuracy", value=0.5, n=10, command="run")


def test_a_card_of_a_folder_is_read_back_under_the_folders_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = {"description": "é: a test.", "limits": ("One: two",)}
    card = ModelCard(model="elsewhere", figures=(FIGURE,), **text)
    (tmp_path / "mine").mkdir()
    write_card(Path("mine"), card)
    assert load_card("ragassay/mine") == card.model_copy(update={"model": "ragassay/mine"})
    assert load_card(f"ragassay/{tmp_path / 'mine'}") is not None
    for unknown in ("mine", "other/mine", "ragassay/none", "ragassay/", ""):
        assert load_card(unknown) is None


def test_a_shipped_card_is_not_hidden_by_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judge").mkdir()
    write_card(Path("judge"), ModelCard(model="x", description="Another."))
    assert load_card("ragassay/judge").description != "Another."


@each_case(
    ("text", "problem"),
    [
        ("description: no name", "card.yaml: model: it is missing"),
        ("- a list", "card.yaml: the card: "),
        ("a: b: c", "card.yaml is not a card: "),
        ("model: x\ndescription: y\nfigures: [{task: t}]", "card.yaml: figures.0."),
    ],
)
def test_a_card_that_cannot_be_read_is_an_error_that_names_it(text, problem, tmp_path):
    (tmp_path / "card.yaml").write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_card(f"ragassay/{tmp_path}")
    assert problem in str(caught.value) and len(str(caught.value).splitlines()) == 1


def test_a_card_has_the_bounds_of_its_adapters_note(tmp_path):
    bound = Bound(label="supports", threshold=0.8, risk=0.2, delta=0.1, n=90, data="made up")
    shape = Shape(base_sha256="", weights_sha256="", scale=1, n_tokens=64, bounds=(bound,))
    (tmp_path / SHAPE).write_text(shape.model_dump_json(exclude_none=True), encoding="utf-8")
    assert read_shape(tmp_path).bounds == (bound,)
    write_card(tmp_path, ModelCard(model="x", description="A test."))
    assert load_card(f"ragassay/{tmp_path}").bounds == (bound,)
    # One of before there were any has none.
    (tmp_path / SHAPE).write_text(shape.model_dump_json(exclude={"bounds"}, exclude_none=True))
    assert load_card(f"ragassay/{tmp_path}").bounds == ()
