"""A double of the package `yescieval` with our own texts, for tests without the real package."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_RUBRIC = """
class Rubric:
    def __init__(self, papers, question, answer):
        self.papers, self.question, self.answer = papers, question, answer

    def instruct(self):
        papers = "".join(f"{n}. {t}: {a}; " for n, (t, a) in enumerate(self.papers.items(), 1))
        told = f"<scientific-synthesis>{self.answer}</scientific-synthesis>"
        told += f"<research-question>{self.question}</research-question>{papers}"
        return [
            {"role": "system", "content": f"Invented: rate {type(self).__name__}."},
            {"role": "user", "content": told},
        ]
"""
_CLASSES = {
    "stylistic": ("Cohesion", "Conciseness", "Readability"),
    "structural": ("Coherence", "Integration", "Relevancy"),
    "fidelity": ("Correctness", "Completeness", "Informativeness"),
}


def install_yescieval(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the double importable until the test ends."""
    package = folder / "yescieval"
    pointwise = package / "rubric" / "pointwise"
    pointwise.mkdir(parents=True)
    for parent in (package, package / "rubric", pointwise):
        (parent / "__init__.py").touch()
    for group, names in _CLASSES.items():
        classes = "".join(f"class {name}(Rubric):\n    pass\n" for name in names)
        (pointwise / f"{group}.py").write_text(_RUBRIC + classes)
    info = folder / "yescieval-0.10.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: yescieval\nVersion: 0.10.0\n")
    _add_path(folder, "yescieval", monkeypatch)


def install_prometheus(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a double of `prometheus_eval` that cannot be imported."""
    package = folder / "prometheus_eval"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('no fastchat')\n")
    (package / "prompts.py").write_text(
        "ABS_SYSTEM_PROMPT = 'Invented system.'\n"
        "ABSOLUTE_PROMPT = 'With {instruction} {response} {reference_answer} {rubric}'\n"
        "ABSOLUTE_PROMPT_WO_REF = 'Without {instruction} {response} {rubric} {other}'\n"
    )
    info = folder / "prometheus_eval-0.1.20.dist-info"
    info.mkdir()
    named = "Metadata-Version: 2.1\nName: prometheus-eval\nVersion: 0.1.20\n"
    (info / "METADATA").write_text(named)
    _add_path(folder, "prometheus_eval", monkeypatch)


def find_yescieval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Python find the real package before the local module of that name, or skip the test."""
    try:
        found = importlib.metadata.distribution("yescieval")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the optional package yescieval is not installed")
    _add_path(Path(str(found.locate_file(""))), "yescieval", monkeypatch)


def _add_path(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in _modules(name):
        del sys.modules[module]
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    forget_words()


@contextmanager
def own_packages() -> Iterator[None]:
    """Isolate the packages of a test, because this folder has a module named `yescieval`."""
    kept = {name: sys.modules[name] for name in _modules("yescieval")}
    forget_words()
    yield
    forget_words()
    for name in _modules("yescieval"):
        del sys.modules[name]
    sys.modules.update(kept)


def forget_words() -> None:
    from ragassay.agents import published_judge

    published_judge.load_yescieval_class.cache_clear()
    published_judge.load_prometheus_prompts.cache_clear()


def _modules(name: str) -> list[str]:
    return [module for module in sys.modules if module.partition(".")[0] == name]
