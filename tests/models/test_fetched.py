"""`ragassay models get` against a hub on loopback, and without any."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_server import COMMIT, Hub, running_hub
from tiny_checkers import tiny_hhem, tiny_lettucedetect, tiny_minicheck
from typer.testing import CliRunner, Result

from ragassay.cli import app
from ragassay.errors import InputError, SettingsError
from ragassay.models.availability import fetch, read_fetched
from ragassay.models.verifiers import require_verifier
from ragassay.models.weights import hash_folder

T5_MODEL = "lytang/MiniCheck-Flan-T5-Large"
HHEM = "vectara/hallucination_evaluation_model"
LETTUCE = "KRLabsOrg/lettucedect-base-modernbert-en-v1"


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["models", *arguments])


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    room = tmp_path_factory.mktemp("hub")
    hhem, base = tiny_hhem(room)
    return {
        T5_MODEL: Path(tiny_minicheck(room / "t5", "t5")),
        HHEM: Path(hhem),
        "google/flan-t5-base": Path(base),
        LETTUCE: Path(tiny_lettucedetect(room / "lettuce")),
    }


@pytest.fixture
def hub(folders, tmp_path, monkeypatch) -> Iterator[Hub]:
    """A hub that the libraries take for Hugging Face's, with an empty cache."""
    from huggingface_hub import constants

    with running_hub(folders) as running:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", running.url)
        template = running.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
        monkeypatch.setenv("RAGASSAY_LITERATURE__CACHE_DIR", str(tmp_path / "cache"))
        yield running


def test_a_checker_is_fetched_once_with_commit_licence_and_digest(hub, folders, tmp_path):
    done = call("get", "minicheck")
    assert done.exit_code == 0, done.output
    digest, use = hash_folder(str(folders[T5_MODEL])), "use the model with --verifier minicheck"
    for told in (T5_MODEL, COMMIT, "(mit, ", f"SHA-256 {digest}", use):
        assert told in done.stdout
    n_asked = len(hub.asked)
    again = call("get", T5_MODEL)
    assert again.stdout == done.stdout and len(hub.asked) == n_asked
    note = read_fetched(T5_MODEL, tmp_path / "cache")
    assert (note.revision, note.licence) == (COMMIT, "mit")
    assert (Path(note.folder) / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("name", "repository"),
    [("minicheck", T5_MODEL), ("hhem", HHEM), ("lettucedetect", LETTUCE)],
)
def test_a_fetched_checker_runs_without_the_hub(name, repository, hub, tmp_path, monkeypatch):
    fetch(name, tmp_path / "cache")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    n_asked = len(hub.asked)
    model = require_verifier(name, tmp_path / "cache")
    assert model.name == repository and len(model.digest) == 64
    assert model.predict_probabilities([("It fell.", "\nIt rose.")]).shape == (1, 3)
    assert len(hub.asked) == n_asked


def test_models_are_listed_shown_and_checked(hub, tmp_path):
    def find_row(name: str) -> dict[str, object]:
        rows = map(json.loads, call("list", "--json").stdout.splitlines())
        return next(row for row in rows if row["name"] == name)

    minicheck, hhem = find_row("minicheck"), find_row("hhem")
    assert minicheck["installed"] is False and hhem["installed"] is False
    assert "ragassay models get minicheck" in minicheck["source"]
    assert "(apache-2.0)" in hhem["source"]
    note = fetch("minicheck", tmp_path / "cache")
    minicheck = find_row("minicheck")
    assert minicheck["installed"] is True and COMMIT[:12] in minicheck["source"]
    shown = " ".join(call("show", "minicheck").stdout.split())
    for told in (T5_MODEL, "Licence: mit", "published weights were not available", note.digest):
        assert told in shown
    assert "Licence: apache-2.0" in " ".join(call("show", "hhem").stdout.split())
    assert call("check", "minicheck").stdout.startswith("OK")
    file = Path(note.folder) / "model.safetensors"
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    damaged = call("check", "minicheck")
    assert damaged.exit_code == 3 and damaged.stdout.startswith("DAMAGED")


def test_only_weights_of_one_format_and_no_code_are_fetched(hub, folders, tmp_path):
    unwanted = ("pytorch_model.bin", "training_args.bin", "modeling_hhem_v2.py", "notes.pkl")
    hub.models = {**folders, HHEM: shutil.copytree(folders[HHEM], tmp_path / "hhem")}
    for name in unwanted:
        (hub.models[HHEM] / name).write_bytes(b"x")
    note = fetch("hhem", tmp_path / "cache")
    here = {file.name for file in Path(note.folder).iterdir()}
    assert "model.safetensors" in here and not here & set(unwanted)
    assert {file.name for file in Path(note.base_folder).iterdir()} >= {"config.json"}


@pytest.mark.parametrize("is_offline", [True, False])
def test_without_the_hub_it_says_so_in_one_line(is_offline, tmp_path, monkeypatch):
    monkeypatch.setenv("RAGASSAY_LITERATURE__CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", is_offline)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    done = call("get", "minicheck")
    assert done.exit_code == 1 and len(done.stderr.splitlines()) == 1
    assert "cannot download minicheck" in done.stderr
    assert "--verifier minicheck:FOLDER" in done.stderr
    assert not list(tmp_path.rglob("*.json"))


def test_a_model_that_the_hub_lacks_leaves_no_note(hub, tmp_path):
    with pytest.raises(SettingsError, match="cannot download minicheck-roberta from"):
        fetch("minicheck-roberta", tmp_path)
    assert read_fetched("lytang/MiniCheck-RoBERTa-Large", tmp_path) is None


@pytest.mark.parametrize("name", ["nope", "", "google/flan-t5-large", "ragassay/judge"])
def test_other_names_are_refused(name, tmp_path):
    with pytest.raises(InputError, match="minicheck-roberta"):
        fetch(name, tmp_path)


def test_a_note_whose_folder_is_gone_or_that_is_broken_counts_for_none(hub, tmp_path):
    note = fetch("lettucedetect", tmp_path / "cache")
    shutil.rmtree(note.folder)
    assert read_fetched(LETTUCE, tmp_path / "cache") is None
    (file,) = (tmp_path / "cache" / "fetched").glob("*.json")
    file.write_text("{")
    assert read_fetched(LETTUCE, tmp_path / "cache") is None
