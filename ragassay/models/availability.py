"""Which models can be used here: installed libraries, fact checkers fetched from the hub."""

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
    is_local,
    provider_of,
)
from ragassay.models.weights import sha256_of
from ragassay.prompts.model_forms import PublishedChecker, load_verifier_kinds
from ragassay.records.base import Frozen

PROVIDERS = {name: ("google.auth", "litellm[google]") for name in ("vertex_ai", "vertex_ai_beta")}
"""Providers that LiteLLM asks through a library which it does not bring: a module, and what brings
it."""

CONVERTING = ("accelerate", "gguf")
"""Modules by which transformers reads the packaged SmolLM2."""


def need_judge(model: str) -> None:
    """Ask for what a judge needs: in this process, or of the provider that LiteLLM asks.

    Raises:
        ExtraError: A library, or the package of the weights, is not installed.
    """
    provider = provider_of(model)
    module, requirement = PROVIDERS.get(provider, ("", ""))
    if module and not is_installed(module):
        raise ExtraError(f'{provider} needs {module}: pip install "{requirement}"')
    if not is_local(model) or model == INSTRUMENTS:
        return
    need(*EXTRAS["local"])
    from ragassay.models.tuned import adapter_folder, read_note

    name = model.removeprefix(f"{PROVIDER}/")
    folder = adapter_folder(name)
    if (read_note(folder).base if folder else name) == SMOLLM2:
        _need_smollm2()


def need_verifier(name: str) -> None:
    """Ask for what a verifier needs, or a model of correctness, before it compares anything.

    Args:
        name: As `ragassay.models.verifiers.entailment_model` takes it; a judge in this process is
            one too.

    Raises:
        ExtraError: A library, or the package of the weights, is not installed.
        SettingsError: An adapter's shape cannot be read.
    """
    if name in (SMOLLM2_VERIFIER, MEAN_VERIFIER):
        _need_smollm2()
    if name.endswith(".json"):
        need_verifier(_fitted_verifier(Path(name)))
    elif is_of_hub(name):
        need(*EXTRAS["hub"])
    if not is_local(name) or name in (*SHIPPED_VERIFIERS, SIGNALS_VERIFIER):
        return
    from ragassay.models.adapters import adapter_of, read_shape
    from ragassay.models.entailment import PACKAGED

    adapter = adapter_of(name)
    if adapter is None:
        need_judge(name)
        return
    shape = read_shape(adapter.folder)
    if SMOLLM2 in (shape.base, *(one for one, sha in PACKAGED.items() if sha == shape.base_sha256)):
        _need_smollm2()
    elif shape.base_sha256 != PACKAGED[MINILM]:  # that one runs on ONNX Runtime
        need(*EXTRAS["hub"])


def is_of_hub(name: str) -> bool:
    """Return whether a setting names a model of transformers, on the hub or in a folder.

    Args:
        name: Of a verifier, a grader, or a model of correctness.
    """
    own = ("", JUDGE, COSINE, EMBEDDED)
    return not (
        is_local(name) or name.partition(":")[0] in own or load_verifier_kinds().facts.is_chat(name)
    )


def need_verifiers(names: Iterable[str]) -> None:
    """Ask for what several verifiers need, as `need_verifier` does for one."""
    for name in names:
        need_verifier(name)


def _fitted_verifier(path: Path) -> str:
    """Return the verifier that a file of thresholds names; empty for another file."""
    from ragassay.models.fitted_models import FittedThresholds

    try:
        return FittedThresholds.read(path).verifier
    except SettingsError:
        return ""  # a classifier of correctness, or a file that its reader refuses


def _need_smollm2() -> None:
    from ragassay.models.weights import SMOLLM2_PACKAGE, packaged_file

    need(*CONVERTING, *EXTRAS["hub"])
    packaged_file(SMOLLM2_PACKAGE, ".gguf")


_FOLDER = "fetched"
_TEXTS = ("*.json", "*.txt", "*.model", "README.md")
_BASE = ("config.json", "tokenizer*", "special_tokens_map.json", "*.model")
_SAFE, _PICKLED = "*.safetensors", "pytorch_model*.bin"
_TIMEOUT_S = 10


class FetchedModel(Frozen):
    """The note of a fetched model.

    Attributes:
        sha256: Of its files of weights, by name.
        base_folder: Where the configuration and tokenizer of its base lie, if it has none.
    """

    repository: str
    revision: str
    licence: str
    folder: str
    sha256: dict[str, str]
    base_folder: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of all weights; that of `folder_digest`."""
        digests = "".join(self.sha256[name] for name in sorted(self.sha256))
        return hashlib.sha256(digests.encode()).hexdigest()


def read_fetched(repository: str, cache_dir: Path) -> FetchedModel | None:
    """Return the note of a fetched model; None where there is none, or its folder is gone."""
    try:
        note = FetchedModel.model_validate_json(_note_file(repository, cache_dir).read_bytes())
    except (OSError, ValueError, ValidationError):
        return None
    folders = [note.folder, *([note.base_folder] if note.base_folder else [])]
    return note if all(Path(folder).is_dir() for folder in folders) else None


def fetch(name: str, cache_dir: Path) -> FetchedModel:
    """Fetch a published fact checker, unless it was fetched before.

    Args:
        name: Its short name, such as "minicheck", or its name on the hub.
        cache_dir: Gets the note.

    Raises:
        InputError: No such model is known.
        SettingsError: The hub cannot be reached, or does not give it.
    """
    facts = load_verifier_kinds().facts
    found = facts.find_published(name)
    if found is None:
        known = ", ".join(facts.published)
        raise InputError(f"no model {name!r} is known to fetch: there are {known}")
    short, published = found
    known_note = read_fetched(published.repository, cache_dir)
    if known_note:
        return known_note
    note = _download(short, published, facts.checkers[published.kind].beside)
    file = _note_file(published.repository, cache_dir)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
        partial.write_text(note.model_dump_json(indent=2), encoding="utf-8")
        partial.replace(file)
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror}") from error
    return note


def unavailable_text(repository: str) -> str:
    """Say how to get a fact checker that is neither here nor within reach."""
    found = load_verifier_kinds().facts.find_published(repository)
    text = f"{repository} is not on this machine, and the hub cannot be reached"
    if found is None:
        return f"{text}: name a folder"
    short, published = found
    return (
        f"{text}: where it can, `ragassay models get {short}` fetches it once; or name its folder, "
        f"{published.kind}:FOLDER"
    )


def better_verifier_text(cache_dir: Path) -> str:
    """Say that MiniCheck would verify better than the embedded verifier, and how to use it."""
    facts = load_verifier_kinds().facts
    checkers = {name: one for name, one in facts.published.items() if one.kind == "minicheck"}
    fetched = (name for name, one in checkers.items() if read_fetched(one.repository, cache_dir))
    here, best = next(fetched, ""), next(iter(checkers))
    if here:
        return f"By its paper, MiniCheck (already fetched) verifies better: --verifier {here}"
    return f"By its paper, MiniCheck verifies better: ragassay models get {best}"


def _note_file(repository: str, cache_dir: Path) -> Path:
    name = repository.replace("/", "--").replace("\\", "--")
    return cache_dir / _FOLDER / f"{name}.json"


def _download(short: str, published: PublishedChecker, base: str) -> FetchedModel:
    from huggingface_hub import constants
    from huggingface_hub.errors import HfHubHTTPError

    # Which HTTP library it belongs to depends on the hub library's version.
    http_error: type[Exception] = HfHubHTTPError.__bases__[0]
    try:
        info = _hub_info(published.repository)
        names = [one.rfilename for one in info.siblings or ()]
        is_safe = any(name.endswith(".safetensors") for name in names)
        folder = _snapshot(
            published.repository, info.sha, (*_TEXTS, _SAFE if is_safe else _PICKLED)
        )
        base_folder = _snapshot(base, _hub_info(base).sha, _BASE) if base else ""
    except (http_error, OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(
            f"{short} cannot be fetched from {constants.ENDPOINT}: {reason}; without a network, "
            f"copy {published.repository} from a machine that has one, and name its folder: "
            f"--verifier {published.kind}:FOLDER"
        ) from error
    files = [*Path(folder).glob(_SAFE), *Path(folder).glob(_PICKLED)]
    if not files:
        raise SettingsError(f"{published.repository} has no weights at {info.sha}")
    return FetchedModel(
        repository=published.repository,
        revision=info.sha,
        licence=_licence_of(info) or published.licence,
        folder=folder,
        sha256={file.name: sha256_of(file) for file in files},
        base_folder=base_folder,
    )


def _hub_info(repository: str) -> Any:
    from huggingface_hub import HfApi

    return HfApi().model_info(repository, timeout=_TIMEOUT_S)


def _snapshot(repository: str, revision: str, patterns: tuple[str, ...]) -> str:
    from huggingface_hub import snapshot_download

    return snapshot_download(repository, revision=revision, allow_patterns=list(patterns))


def _licence_of(info: Any) -> str:
    """Return the licence that the model's card on the hub names; empty for none."""
    card = getattr(info, "card_data", None)
    return str(getattr(card, "license", None) or "")
