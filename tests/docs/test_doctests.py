"""Every example in a docstring holds."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

from case_tables import each_case
from conftest import ROOT

PROMPT = re.compile(r"^\s*>>> ", re.MULTILINE)


def with_examples() -> list[str]:
    paths = [*(ROOT / "ragassay").rglob("*.py"), *(ROOT / "training").rglob("*.py")]
    found = [path for path in paths if PROMPT.search(path.read_text(encoding="utf-8"))]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in found]
    return sorted(name.removesuffix(".__init__") for name in names)


def test_there_are_examples():
    assert len(with_examples()) > 40


@each_case("name", with_examples)
def test_the_examples_of_a_module_hold(name: str):
    module = importlib.import_module(name)
    results = doctest.testmod(module)
    n_written = len(PROMPT.findall(Path(str(module.__file__)).read_text(encoding="utf-8")))
    assert (results.failed, results.attempted) == (0, n_written)
