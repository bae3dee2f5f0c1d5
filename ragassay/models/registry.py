"""Registry of embedded, shipped and user models, with checks of file digests."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from ragassay import model_names as names
from ragassay.errors import ExtraError, InputError, SettingsError
from ragassay.model_names import MINILM, PROVIDER
from ragassay.models import adapters, fitted_raters, tuned, weights
from ragassay.models.adapters import SHAPE, Adapter, find_adapter, read_shape
from ragassay.models.availability import read_fetched
from ragassay.models.cards import load_card
from ragassay.models.fitted_models import CLASSIFIER, PairClassifier
from ragassay.prompts.model_forms import PublishedChecker, load_verifier_kinds
from ragassay.records import ModelCard

SHIPPED = "shipped with ragassay"

_ROLES = {
    "judge": "rates answers by rubrics and gives a rationale",
    "verifier": "decides whether a passage supports a claim",
    "correctness": "decides whether a passage shows that a sentence is correct",
    "labeller": "classifies how necessary a sentence is",
    "qa": "writes question-answer pairs from a paper",
}


_HEAD_ROLES = {adapters.VERDICTS: "verifier", adapters.CORRECTNESS: "correctness"}


@dataclass(frozen=True)
class ModelFile:
    """File of a model.

    Attributes:
        path: Path where the file is or should be, or None if its package is not installed.
        expected: Expected SHA-256. Empty if unknown.
        digest: Function that returns the SHA-256 and raises `ValueError` for a damaged file.
    """

    path: Path | None
    expected: str = ""
    digest: Callable[[Path], str] = weights.compute_sha256


@dataclass(frozen=True)
class RegisteredModel:
    """Model that is listed in the registry.

    Attributes:
        folder: Folder of a generative adapter, or None for other models.
        is_fetchable: Whether the model is missing and `ragassay models get` can download it.
    """

    name: str
    role: str
    source: str
    files: tuple[ModelFile, ...]
    card: ModelCard | None = None
    folder: Path | None = None
    is_fetchable: bool = False

    @property
    def is_installed(self) -> bool:
        """Return whether all files exist."""
        return all(file.path is not None and file.path.is_file() for file in self.files)

    @property
    def n_bytes(self) -> int:
        """Total size of the existing files."""
        paths = [file.path for file in self.files if file.path is not None]
        return sum(path.stat().st_size for path in paths if path.is_file())


def list_registered_models() -> tuple[RegisteredModel, ...]:
    """Return all embedded and shipped models, installed or not."""
    return (*_list_adapters(), *_list_bases(), *_list_verifiers(), *_list_fitted())


def list_served_models() -> tuple[str, ...]:
    """Return the LiteLLM names of local chat models: the shipped adapters and their base model."""
    return (*(item.name for item in _list_adapters()), names.EMBEDDED_BASE)


def list_fact_checkers(cache_dir: Path) -> tuple[RegisteredModel, ...]:
    """Return the published fact checkers, downloaded or not."""
    published = load_verifier_kinds().facts.published
    return tuple(
        _describe_fact_checker(name, model, cache_dir) for name, model in published.items()
    )


def _describe_fact_checker(name: str, model: PublishedChecker, cache_dir: Path) -> RegisteredModel:
    role, card = f"{_ROLES['verifier']}, based on {model.base}", load_card(model.repository)
    note = read_fetched(model.repository, cache_dir)
    if note is None:
        source = f"{model.repository} ({model.licence}); run `ragassay models get {name}`"
        return RegisteredModel(name, role, source, (ModelFile(None),), card, is_fetchable=True)
    folder = Path(note.folder)
    return RegisteredModel(
        name,
        role,
        f"{note.repository} at {note.revision[:12]} ({note.licence})",
        tuple(ModelFile(folder / file, digest) for file, digest in note.sha256.items()),
        card.model_copy(update={"digest": note.digest}) if card else None,
    )


def find_registered_model(name: str, cache_dir: Path | None = None) -> RegisteredModel:
    """Return a model by its name, with or without `ragassay/`, or by the folder of an adapter.

    Args:
        cache_dir: Folder with the records of downloaded fact checkers, or None to skip fact
            checkers.

    Raises:
        InputError: The model is unknown.
    """
    known = (*list_registered_models(), *(list_fact_checkers(cache_dir) if cache_dir else ()))
    published = load_verifier_kinds().facts.find_published(name)
    short = published[0] if published else name
    for item in known:
        if short in (item.name, item.name.removeprefix(f"{PROVIDER}/")):
            return item
    folder = Path(name.removeprefix(f"{PROVIDER}/"))
    full_name, source = f"{PROVIDER}/{folder}", "your folder"
    if (folder / tuned.NOTE).is_file():
        return _describe_adapter(folder, full_name, source)
    if adapter := find_adapter(full_name):
        role = _ROLES[_HEAD_ROLES.get(read_shape(adapter.folder).labels, "labeller")]
        return RegisteredModel(
            full_name, role, source, _list_adapter_files(adapter), load_card(full_name)
        )
    classifier = folder / CLASSIFIER
    if classifier.is_file():
        file = ModelFile(classifier, digest=_read_classifier_digest)
        return RegisteredModel(
            full_name, _ROLES["correctness"], source, (file,), load_card(full_name)
        )
    choices = ", ".join(item.name for item in known)
    raise InputError(
        f"unknown model {name!r}; choose {choices}, or a folder with a {tuned.NOTE} or {SHAPE} file"
    )


def _describe_shipped_model(name: str, role: str, *model_files: ModelFile) -> RegisteredModel:
    return RegisteredModel(name, role, SHIPPED, model_files, load_card(name))


def _list_bases() -> tuple[RegisteredModel, ...]:
    package, name = weights.SMOLLM2_PACKAGE, names.EMBEDDED_BASE
    gguf = ModelFile(_find_packaged_file(package, ".gguf"), weights.SMOLLM2_GGUF_SHA256)
    folder = weights.locate_minilm()
    parts = (ModelFile(folder / part, digest) for part, digest in weights.MINILM_PARTS.items())
    role = "generates text and judges without fine-tuning; base of the adapters"
    return (
        RegisteredModel(name, role, _describe_package(package), (gguf,), load_card(name)),
        _describe_shipped_model(MINILM, "measures the similarity of two texts", *parts),
    )


def _list_verifiers() -> tuple[RegisteredModel, ...]:
    role, minilm = _ROLES["verifier"], (adapters.WHOLE, adapters.CLOSEST)
    signals_role = "compares sentences with passages to compute signals for `ragassay/signals`"
    mean_role = f"{role}; average of minilm-verifier and smollm2-verifier"
    rows: tuple[tuple[str, str, tuple[Adapter, ...]], ...] = (
        (names.MINILM_VERIFIER, f"{role}; average of two {MINILM} adapters", minilm),
        (names.SMOLLM2_VERIFIER, f"{role}, based on {names.SMOLLM2}", (adapters.SMOLLM2,)),
        (names.MEAN_VERIFIER, mean_role, (*minilm, adapters.SMOLLM2)),
        (names.SIGNALS_VERIFIER, signals_role, (adapters.SIGNALS,)),
    )
    return tuple(
        _describe_shipped_model(
            name, role, *(file for adapter in members for file in _list_adapter_files(adapter))
        )
        for name, role, members in rows
    )


def _list_fitted() -> tuple[RegisteredModel, ...]:
    reranker = Path(str(files("ragassay"))) / "retrievers" / "weights" / "reranker.json"
    fitted = fitted_raters
    rows: tuple[tuple[str, str, Path, Callable[[Path], str]], ...] = (
        (
            fitted.SIGNAL_RATER,
            "rates answers from measured signals",
            fitted.SIGNALS_FILE,
            fitted.SignalRater.read_digest,
        ),
        (
            fitted.EXAM_RATER,
            "rates how well passages cover test bank items",
            fitted.EXAM_FILE,
            fitted.ExamModel.read_digest,
        ),
        (
            fitted.PAIR_RATER,
            "rates question-answer pairs by rules",
            fitted.PAIRS_FILE,
            fitted.RelevanceModel.read_digest,
        ),
        ("ragassay/reranker", "reranks search results", reranker, weights.compute_sha256),
    )
    found: list[RegisteredModel] = []
    for name, role, path, digest_of in rows:
        card = load_card(name)
        found.append(
            _describe_shipped_model(
                name, role, ModelFile(path, card.digest if card else "", digest_of)
            )
        )
    return tuple(found)


def _list_adapter_files(adapter: Adapter) -> tuple[ModelFile, ...]:
    digest = str(_read_note(adapter.folder / SHAPE).get("weights_sha256", ""))
    return (
        ModelFile(adapter.folder / SHAPE, digest=_hash_json),
        ModelFile(adapter.folder / adapters.WEIGHTS, digest),
    )


def _hash_json(path: Path) -> str:
    json.loads(path.read_text(encoding="utf-8"))
    return weights.compute_sha256(path)


def _hash_note(path: Path) -> str:
    tuned.TunedNote.model_validate_json(path.read_bytes())
    return weights.compute_sha256(path)


def _read_classifier_digest(path: Path) -> str:
    return PairClassifier.read(path).digest


def _list_adapters() -> tuple[RegisteredModel, ...]:
    root = Path(str(files("ragassay.models.adapters")))
    return tuple(
        _describe_adapter(note.parent, f"{PROVIDER}/{note.parent.name}", SHIPPED)
        for note in sorted(root.glob(f"*/{tuned.NOTE}"))
    )


def _describe_adapter(folder: Path, name: str, source: str) -> RegisteredModel:
    note = _read_note(folder / tuned.NOTE)
    task = str(note.get("task", ""))
    base = str(note.get("base", ""))
    return RegisteredModel(
        name,
        _ROLES.get(task, task) + (f", based on {base}" if base else ""),
        source,
        (
            ModelFile(folder / tuned.SHAPE, digest=_hash_json),
            ModelFile(folder / tuned.NOTE, digest=_hash_note),
            ModelFile(folder / tuned.WEIGHTS, str(note.get("weights_sha256", ""))),
        ),
        load_card(name),
        folder,
    )


def _read_note(path: Path) -> dict[str, Any]:
    """Return the fields of a metadata file, or {} if the file is invalid."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _find_packaged_file(package: str, suffix: str) -> Path | None:
    try:
        return weights.find_packaged_file(package, suffix)
    except (ExtraError, SettingsError):
        return None


def _describe_package(name: str) -> str:
    try:
        return f"package {name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return f"package {name}, not installed"


State = Literal["ok", "damaged", "missing", "unproven"]
"""State of a file. An "unproven" file can be read, but its expected digest is unknown."""


@dataclass(frozen=True)
class FileCheck:
    """Result of checking a file."""

    name: str
    state: State
    found: str = ""
    expected: str = ""


def check(item: RegisteredModel) -> tuple[FileCheck, ...]:
    """Compute the digest of each file of a model, and compare it with the expected digest."""
    return tuple(_check(file, item) for file in item.files)


def is_sound(found: tuple[FileCheck, ...]) -> bool:
    """Return whether no file is missing or damaged."""
    return all(file.state in ("ok", "unproven") for file in found)


def _check(file: ModelFile, item: RegisteredModel) -> FileCheck:
    if file.path is None or not file.path.is_file():
        name = file.path.name if file.path is not None else item.source
        return FileCheck(name, "missing", expected=file.expected)
    try:
        found = file.digest(file.path)
    except (OSError, ValueError):
        return FileCheck(file.path.name, "damaged", expected=file.expected)
    if not file.expected:
        return FileCheck(file.path.name, "unproven", found)
    state = "ok" if found == file.expected else "damaged"
    return FileCheck(file.path.name, state, found, file.expected)
