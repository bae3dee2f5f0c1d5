"""The notebook runs from its first cell to its last, and shows what it speaks of."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from conftest import ROOT

NOTEBOOK = ROOT / "examples" / "notebook" / "first_run.ipynb"


def test_the_notebook_is_stored_without_what_it_printed():
    cells = [cell for cell in nbformat.read(NOTEBOOK, 4).cells if cell.cell_type == "code"]
    assert cells and not any(cell.outputs or cell.execution_count for cell in cells)


@pytest.mark.integration
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from nbclient import NotebookClient

    monkeypatch.delenv("RAGASSAY_EVALUATION__SIGNALS")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    book = nbformat.read(NOTEBOOK, 4)
    NotebookClient(book, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [str(cell.outputs) for cell in book.cells if cell.cell_type == "code"]
    assert "[]" not in shown[:-1]
    assert "beta-t1" in shown[1] and "2.9" in shown[1]
    assert "citations.support" in shown[2]
    assert "Velbiota" not in (tmp_path / "report.html").read_text(encoding="utf-8")
