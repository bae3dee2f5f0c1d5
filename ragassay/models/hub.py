"""Find models for transformers: packaged, on Hugging Face's hub, or in folders of its format."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError

from ragassay.errors import ExtraError, SettingsError
from ragassay.model_names import MINILM, SMOLLM2
from ragassay.models.quiet import quiet_loading
from ragassay.models.weights import minilm_folder, sha256_of, smollm2_folder


def source_of(name: str, cache_dir: Path) -> str:
    """Return where transformers loads a model from: a packaged folder, or the name itself.

    Args:
        name: A packaged model's, one on the hub, or a folder.
        cache_dir: The folder of SmolLM2's converted weights.

    Raises:
        SettingsError: A packaged one is not installed, or its weights differ.
    """
    if name == SMOLLM2:
        return str(smollm2_folder(cache_dir))
    return str(minilm_folder()) if name == MINILM else name


def check_hub(name: str) -> None:
    """Refuse a model that is neither on this machine nor on the hub; its libraries would retry.

    Args:
        name: A folder, or a name on the hub.

    Raises:
        SettingsError: It cannot be had.
    """
    import httpx
    from huggingface_hub import constants, get_token, try_to_load_from_cache

    if constants.HF_HUB_OFFLINE or Path(name).exists():
        return
    key = get_token()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        url = f"{constants.ENDPOINT}/api/models/{name}"
        status = httpx.get(url, headers=headers, timeout=5, follow_redirects=True).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        if isinstance(try_to_load_from_cache(name, "config.json"), str):
            constants.HF_HUB_OFFLINE = True  # What is kept is used, and nothing is tried again.
            return
        raise SettingsError(
            f"the model {name} is not on this machine, and {constants.ENDPOINT} cannot be reached: "
            "name a folder, or try again with a network"
        ) from error
    if status in (401, 403, 404):
        raise SettingsError(
            f"there is no model {name} on {constants.ENDPOINT} that may be read ({status}): check "
            "its name"
        )


def folder_digest(name: str) -> str:
    """Return the SHA-256 of the weights in a folder; empty for a model of the hub."""
    files = (*Path(name).glob("*.safetensors"), *Path(name).glob("*.bin"))
    digests = [sha256_of(file) for file in sorted(files)]
    return hashlib.sha256("".join(digests).encode()).hexdigest() if digests else ""


def _refuse_code(name: str) -> None:
    """Refuse a folder whose modules are its own: some sentence-transformers would import them."""
    try:
        parts = json.loads((Path(name) / "modules.json").read_text(encoding="utf-8"))
        kinds = [str(part["type"]) for part in parts]
    except OSError:
        return
    except (ValueError, TypeError, KeyError) as error:
        raise SettingsError(
            f"the model {name} is unavailable: its modules.json is broken"
        ) from error
    for kind in kinds:
        if not kind.startswith("sentence_transformers."):
            raise SettingsError(f"the model {name} brings code of its own, {kind}: it is not run")


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Load a model without log output, and report in one line why it is unavailable.

    Raises:
        ExtraError: Transformers needs a library for it that is not installed.
        SettingsError: There is no such model, here or on the hub, its format is unknown, or it
            brings code of its own.
    """
    _refuse_code(name)
    if name not in (SMOLLM2, MINILM):
        check_hub(name)
    try:
        with quiet_loading():
            yield
    except UnpicklingError as error:
        raise SettingsError(
            f"the model {name} is unavailable: its weights hold more than tensors, which is not run"
        ) from error
    except ImportError as error:
        reason = str(error).strip().partition("\n")[0]
        raise ExtraError(f"the model {name} needs another library: {reason}") from error
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(f"the model {name} is unavailable: {reason}") from error
