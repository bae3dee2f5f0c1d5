"""Libraries that only some jobs need; extras of the distribution bring them."""

from __future__ import annotations

import importlib.util

EXTRAS = {
    "cluster": ("opensearchpy",),
    "corpus": ("tantivy",),
    "dense": ("chromadb",),
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


def need(*modules: str) -> None:
    """Ask for libraries before the work that needs them begins.

    Args:
        modules: Names of modules of `EXTRAS`.

    Raises:
        ExtraError: One of them is not installed.
    """
    for module in modules:
        if not _is_installed(module):
            from ragassay.errors import ExtraError

            extra = next(name for name, found in EXTRAS.items() if module in found)
            raise ExtraError(f'this needs {module}: pip install "ragassay[{extra}]"')


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False  # not even its parent
