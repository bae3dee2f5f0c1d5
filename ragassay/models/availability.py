"""Check the requirements of models, and download fact checkers from Hugging Face."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ragassay.errors import ExtraError, InputError, SettingsError
from ragassay.extras import EXTRAS, is_installed, need
from ragassay.model_names import (
    COSINE,
    EMBEDDED,
    INSTRUMENTS,
    JUDGE,
    MEAN_VERIFIER,
    MINILM,
    PROVIDER,
    SHIPPED_VERIFIERS,
    SIGNALS_VERIFIER,
    SMOLLM2,
    SMOLLM2_VERIFIER,
    find_provider,
    is_local,
)
from ragassay.models.weights import compute_sha256
from ragassay.prompts.model_forms import PublishedChecker, load_verifier_kinds
from ragassay.records.base import Frozen

PROVIDERS = {name: ("google.auth", "litellm[google]") for name in ("vertex_ai", "vertex_ai_beta")}
"""Module and pip requirement of an additional library that LiteLLM needs for a provider."""

CONVERTING = ("accelerate", "gguf")
"""Modules that transformers needs to read the packaged SmolLM2."""


def need_judge(model: str) -> None:
    """Raise `ExtraError` if a judge needs a library or package that is not installed."""
    provider = find_provider(model)
    module, requirement = PROVIDERS.get(provider, ("", ""))
    if module and not is_installed(module):
        raise ExtraError(f'{provider} needs {module}: pip install "{requirement}"')
    if not is_local(model) or model == INSTRUMENTS:
        return
    need(*EXTRAS["local"])
    from ragassay.models.tuned import find_adapter_folder, read_note

    name = model.removeprefix(f"{PROVIDER}/")
    folder = find_adapter_folder(name)
    if (read_note(folder).base if folder else name) == SMOLLM2:
        _need_smollm2()


def need_verifier(name: str) -> None:
    """Check that the libraries and weights of a verifier or correctness model are installed.

    Raises:
        ExtraError: A library, or the package with the weights, is not installed.
        SettingsError: The metadata of an adapter are invalid.
    """
    if name in (SMOLLM2_VERIFIER, MEAN_VERIFIER):
        _need_smollm2()
    if name.endswith(".json"):
        need_verifier(_read_fitted_verifier(Path(name)))
    elif is_of_hub(name):
        need(*EXTRAS["hub"])
    if not is_local(name) or name in (*SHIPPED_VERIFIERS, SIGNALS_VERIFIER):
        return
    from ragassay.models.adapters import find_adapter, read_shape
    from ragassay.models.entailment import PACKAGED

    adapter = find_adapter(name)
    if adapter is None:
        need_judge(name)
        return
    shape = read_shape(adapter.folder)
    packaged = [base for base, sha in PACKAGED.items() if sha == shape.base_sha256]
    if SMOLLM2 in (shape.base, *packaged):
        _need_smollm2()
    elif shape.base_sha256 != PACKAGED[MINILM]:  # MiniLM runs on ONNX Runtime instead.
        need(*EXTRAS["hub"])


def is_of_hub(name: str) -> bool:
    """Return whether a verifier, grader or correctness model is a transformers model."""
    reserved = ("", JUDGE, COSINE, EMBEDDED)
    return not (
        is_local(name)
        or name.partition(":")[0] in reserved
        or load_verifier_kinds().facts.is_chat(name)
    )


def need_verifiers(names: Iterable[str]) -> None:
    """Check that what several verifiers require is installed. See `need_verifier`."""
    for name in names:
        need_verifier(name)


def _read_fitted_verifier(path: Path) -> str:
    """Return the verifier for which a file of thresholds was fitted, or "" for other files."""
    from ragassay.models.fitted_models import FittedThresholds

    try:
        return FittedThresholds.read(path).verifier
    except SettingsError:
        return ""  # a correctness classifier or an invalid file


def _need_smollm2() -> None:
    from ragassay.models.weights import SMOLLM2_PACKAGE, find_packaged_file

    need(*CONVERTING, *EXTRAS["hub"])
    find_packaged_file(SMOLLM2_PACKAGE, ".gguf")


_FOLDER = "fetched"
_TEXTS = ("*.json", "*.txt", "*.model", "README.md")
_BASE = ("config.json", "tokenizer*", "special_tokens_map.json", "*.model")
_SAFE, _PICKLED = "*.safetensors", "pytorch_model*.bin"
_TIMEOUT_S = 10


class FetchedModel(Frozen):
    """Record of a downloaded model.

    Attributes:
        sha256: Digests of the weight files, by name.
        base_folder: Folder with the configuration and tokenizer of the base model, if they are
            needed.
    """

    repository: str
    revision: str
    licence: str
    folder: str
    sha256: dict[str, str]
    base_folder: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of all weights, equal to `hash_folder`."""
        digests = "".join(self.sha256[name] for name in sorted(self.sha256))
        return hashlib.sha256(digests.encode()).hexdigest()


def read_fetched(repository: str, cache_dir: Path) -> FetchedModel | None:
    """Return the record of a downloaded model, or None if the record or the folder is missing."""
    try:
        note = FetchedModel.model_validate_json(_locate_note(repository, cache_dir).read_bytes())
    except (OSError, ValueError, ValidationError):
        return None
    folders = [note.folder, *([note.base_folder] if note.base_folder else [])]
    return note if all(Path(folder).is_dir() for folder in folders) else None


def fetch(name: str, cache_dir: Path) -> FetchedModel:
    """Download a published fact checker, unless it was downloaded before.

    Args:
        name: Short name, such as "minicheck", or Hugging Face id.
        cache_dir: Folder for the record of the download.

    Raises:
        InputError: The model is unknown.
        SettingsError: The download failed.
    """
    facts = load_verifier_kinds().facts
    found = facts.find_published(name)
    if found is None:
        known = ", ".join(facts.published)
        raise InputError(f"cannot download the unknown model {name!r}; choose one of {known}")
    short, published = found
    if note := read_fetched(published.repository, cache_dir):
        return note
    note = _download(short, published, facts.checkers[published.kind].beside)
    file = _locate_note(published.repository, cache_dir)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
        partial.write_text(note.model_dump_json(indent=2), encoding="utf-8")
        partial.replace(file)
    except OSError as error:
        raise SettingsError(f"cannot write {file}: {error.strerror}") from error
    return note


def explain_missing_checker(repository: str) -> str:
    """Return an error message with instructions for a missing fact checker."""
    found = load_verifier_kinds().facts.find_published(repository)
    text = f"{repository} is not on this machine, and Hugging Face is unreachable"
    if found is None:
        return f"{text}; pass a folder instead"
    short, published = found
    return (
        f"{text}; run `ragassay models get {short}` once with a network connection, or pass its "
        f"folder as {published.kind}:FOLDER"
    )


def suggest_better_verifier(cache_dir: Path) -> str:
    """Return a hint that MiniCheck is more accurate than the embedded verifier."""
    facts = load_verifier_kinds().facts
    checkers = {name: c for name, c in facts.published.items() if c.kind == "minicheck"}
    for name, checker in checkers.items():
        if read_fetched(checker.repository, cache_dir):
            return f"Use MiniCheck, which is more accurate: pass --verifier {name}"
    best = next(iter(checkers))
    return f"MiniCheck is more accurate (see its paper): run ragassay models get {best}"


def _locate_note(repository: str, cache_dir: Path) -> Path:
    name = repository.replace("/", "--").replace("\\", "--")
    return cache_dir / _FOLDER / f"{name}.json"


def _download(short: str, published: PublishedChecker, base: str) -> FetchedModel:
    from huggingface_hub import constants
    from huggingface_hub.errors import HfHubHTTPError

    # The HTTP library of this error depends on the version of huggingface_hub.
    http_error: type[Exception] = HfHubHTTPError.__bases__[0]
    try:
        info = _fetch_hub_info(published.repository)
        names = [sibling.rfilename for sibling in info.siblings or ()]
        is_safe = any(name.endswith(".safetensors") for name in names)
        folder = _download_snapshot(
            published.repository, info.sha, (*_TEXTS, _SAFE if is_safe else _PICKLED)
        )
        base_folder = _download_snapshot(base, _fetch_hub_info(base).sha, _BASE) if base else ""
    except (http_error, OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(
            f"cannot download {short} from {constants.ENDPOINT}: {reason}; without a network "
            f"connection, copy {published.repository} from another machine and pass its folder as "
            f"--verifier {published.kind}:FOLDER"
        ) from error
    files = [*Path(folder).glob(_SAFE), *Path(folder).glob(_PICKLED)]
    if not files:
        raise SettingsError(f"{published.repository} has no weights at {info.sha}")
    return FetchedModel(
        repository=published.repository,
        revision=info.sha,
        licence=_read_licence(info) or published.licence,
        folder=folder,
        sha256={file.name: compute_sha256(file) for file in files},
        base_folder=base_folder,
    )


def _fetch_hub_info(repository: str) -> Any:
    from huggingface_hub import HfApi

    return HfApi().model_info(repository, timeout=_TIMEOUT_S)


def _download_snapshot(repository: str, revision: str, patterns: tuple[str, ...]) -> str:
    from huggingface_hub import snapshot_download

    return snapshot_download(repository, revision=revision, allow_patterns=list(patterns))


def _read_licence(info: Any) -> str:
    card = getattr(info, "card_data", None)
    return str(getattr(card, "license", None) or "")
