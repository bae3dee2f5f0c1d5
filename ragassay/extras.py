"""Libraries that only some jobs need; extras of the distribution bring them."""

from __future__ import annotations

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
"""The modules that each extra brings, as `pyproject.toml` lists their distributions."""

BASE = {"langchain": "langchain>=1.2,<2"}
"""Modules of base dependencies that only some jobs need, and the requirement that brings each.

Who installs without dependencies, or removes one, is told before the job begins.
"""


def need(*modules: str) -> None:
    """Ask for libraries before the work that needs them begins.

    Args:
        modules: Names of modules of `EXTRAS` or `BASE`.

    Raises:
        ExtraError: One of them is not installed.
    """
    for module in modules:
        if not is_installed(module):
            from ragassay.errors import ExtraError

            raise ExtraError(f'this needs {module}: pip install "{_requirement(module)}"')


def _requirement(module: str) -> str:
    """Return what pip is to install for a module."""
    extras = (name for name, found in EXTRAS.items() if module in found)
    return BASE[module] if module in BASE else f"ragassay[{next(extras)}]"


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of distributions; those that are not installed are left out."""
    import importlib.metadata  # takes longer than all else here

    found: dict[str, str] = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def is_installed(module: str) -> bool:
    """Return whether a module can be imported, without importing it; its parents are."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False  # not even its parent
