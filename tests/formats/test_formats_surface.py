"""The package's surface and where its imports point."""

from __future__ import annotations

import ast
from pathlib import Path

import ragassay.formats


def test_all_is_sorted_and_there():
    names = ragassay.formats.__all__
    assert names == sorted(names)
    assert all(hasattr(ragassay.formats, name) for name in names)


def test_formats_imports_only_records_what_is_below_it():
    folder = Path(ragassay.formats.__file__).parent
    names = ("records", "errors", "extras", "files", "formats")
    allowed = tuple(f"ragassay.{name}" for name in names)
    for module in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ragassay"):
                assert (node.module or "").startswith(allowed), (module.name, node.module)
