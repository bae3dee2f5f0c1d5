"""Optional dependencies and the package extras that install them."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterable

EXTRAS = {
    "corpus": ("tantivy",),
    "dense": ("chromadb",),
    "hub": ("sentence_transformers", "torch", "transformers"),
    "local": ("accelerate", "gguf", "llguidance", "peft"),
    "optimize": ("optuna",),
    "plots": ("matplotlib",),
    "ray": ("grpc", "ray"),
    "server": ("prometheus_client",),
    "similarity": ("bert_score", "jiwer", "nltk", "ot", "rouge_score", "sacrebleu"),
    "tables": ("openpyxl", "pandas", "pyarrow"),
    "tracing": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
    "train": ("trl",),
}
"""Modules installed by each extra. The distributions are listed in `pyproject.toml`."""

BASE = {"langchain": "langchain>=1.2,<2"}
"""Base dependencies to check, which may be missing after an installation with `--no-deps`."""


def need(*modules: str) -> None:
    """Raise `ExtraError` if a module of `EXTRAS` or `BASE` is not installed."""
    for module in modules:
        if not is_installed(module):
            from ragassay.errors import ExtraError

            raise ExtraError(
                f'this feature requires {module}: pip install "{_find_requirement(module)}"'
            )


def _find_requirement(module: str) -> str:
    extras = (name for name, found in EXTRAS.items() if module in found)
    return BASE[module] if module in BASE else f"ragassay[{next(extras)}]"


def find_installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of those distributions in `packages` that are installed."""
    found: dict[str, str] = {}
    for name in packages:
        try:
            found[name] = _read_version(name)
        except ModuleNotFoundError:
            continue
    return found


@functools.cache
def _read_version(name: str) -> str:
    import importlib.metadata  # slow to import

    return importlib.metadata.version(name)


def is_installed(module: str) -> bool:
    """Return whether a module can be imported.

    The check imports only the module's parent packages.
    """
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False  # a parent package is missing
