"""Check that all libraries of a run are installed, before a model is asked or a file is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragassay.extras import EXTRAS, need
from ragassay.models.installed import need_judge, need_verifier

if TYPE_CHECKING:
    from ragassay.settings import Settings

TABLES = {"parquet": "pyarrow", "excel": "openpyxl"}
"""Kinds of tables, and the module that reads each."""


def check_installed(
    settings: Settings, judges: Iterable[Settings] = (), options: Mapping[str, Any] | None = None
) -> None:
    """Refuse a run for which a library, or the package of a model's weights, is not installed.

    Args:
        settings: Those of the run.
        judges: The settings of each model that it asks.
        options: Its options: `corpus`, and the files that it reads.

    Raises:
        ExtraError: It says what to install.
    """
    if settings.output.tracing:
        need(*EXTRAS["tracing"])
    if settings.limits.engine == "ray":
        need(*EXTRAS["ray"] if settings.limits.address.startswith("ray://") else ["ray"])
    if settings.retrieval.evidence == "agent":
        need("langchain")
    for one in judges:
        need_judge(one.judge.model)
        if one.judge.form is not None:
            from ragassay.agents.published_prompts import words_of

            words_of(one.judge.form)
    for name in (settings.chosen_verifier, settings.evaluation.correctness):
        need_verifier(name)
    _need_corpus((options or {}).get("corpus"), settings)
    _need_tables((options or {}).values())


def _need_corpus(corpus: object, settings: Settings) -> None:
    """Ask for what searches a corpus, if it is a folder."""
    if isinstance(corpus, str | Path) and Path(corpus).is_dir():
        need("tantivy")
        if settings.literature.search in ("dense", "hybrid"):
            need("chromadb")


def _need_tables(values: Iterable[object]) -> None:
    """Ask for what reads the Parquet files and workbooks among files."""
    for value in values:
        for path in value if isinstance(value, list | tuple) else (value,):
            if isinstance(path, Path) and path.is_file() and _starts_as_table(path):
                from ragassay.formats.tables import table_kind

                kind = table_kind(path)
                if kind in TABLES:
                    need(TABLES[kind])


def _starts_as_table(path: Path) -> bool:
    """Return whether a file may be a Parquet file or a workbook; a look costs no import."""
    with path.open("rb") as file:
        return file.read(4) in (b"PAR1", b"PK\x03\x04")
