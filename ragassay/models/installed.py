"""Check that what the models of a run need is installed, before any of them is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ragassay.errors import ExtraError, SettingsError
from ragassay.extras import EXTRAS, is_installed, need
from ragassay.model_names import (
    INSTRUMENTS,
    MEAN_VERIFIER,
    PROVIDER,
    SHIPPED_VERIFIERS,
    SIGNALS_VERIFIER,
    SMOLLM2,
    SMOLLM2_VERIFIER,
    is_local,
    provider_of,
)

PROVIDERS = {name: ("google.auth", "litellm[google]") for name in ("vertex_ai", "vertex_ai_beta")}
"""Providers that LiteLLM asks through a library which it does not bring: a module, and what brings
it."""

CONVERTING = ("accelerate", "gguf")
"""Modules by which transformers reads the packaged SmolLM2."""


def need_judge(model: str) -> None:
    """Ask for what a judge needs: in this process, or of the provider that LiteLLM asks.

    Args:
        model: A judge's LiteLLM name.

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
    if not is_local(name) or name in (*SHIPPED_VERIFIERS, SIGNALS_VERIFIER):
        return
    from ragassay.models.adapters import adapter_of, read_shape
    from ragassay.models.pair_encoders import PACKAGED

    adapter = adapter_of(name)
    if adapter is None:
        need_judge(name)
        return
    shape = read_shape(adapter.folder)
    if SMOLLM2 in (shape.base, *(one for one, sha in PACKAGED.items() if sha == shape.base_sha256)):
        _need_smollm2()


def need_verifiers(names: Iterable[str]) -> None:
    """Ask for what several verifiers need, as `need_verifier` does for one."""
    for name in names:
        need_verifier(name)


def _fitted_verifier(path: Path) -> str:
    """Return the verifier that a file of thresholds names; empty for another file."""
    from ragassay.models.fitted_verifier import FittedThresholds

    try:
        return FittedThresholds.read(path).verifier
    except SettingsError:
        return ""  # a classifier of correctness, or a file that its reader refuses


def _need_smollm2() -> None:
    from ragassay.models.weights import SMOLLM2_PACKAGE, packaged_file

    need(*CONVERTING)
    packaged_file(SMOLLM2_PACKAGE, ".gguf")
