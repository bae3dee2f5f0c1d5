"""Docstrings begin with a verb and use plain English."""

import ast
from collections.abc import Iterator
from pathlib import Path

import ragassay

PACKAGE = Path(ragassay.__file__).parent
RIDDLES = {"What", "Who", "How", "Whether"}


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the docstring of a module and of everything public in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module):
            yield 1, ast.get_docstring(node) or ""
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if not node.name.startswith("_"):
                yield node.lineno, ast.get_docstring(node) or ""


def test_no_docstring_opens_with_a_riddle() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text.splitlines()[0]}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, text in docstrings(path)
        if text and text.split()[0] in RIDDLES
    ]
    assert found == []
