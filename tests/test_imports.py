"""Runs import only the libraries and subpackages that they use."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ragassay.testing import ScriptedModel

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "examples" / "sample"

SHORT = {
    "question": "Does brelozant help against migraine?",
    "answer": "Brelozant lowered migraine days by 1.9 a month [PMID 99000101].",
}
"""An answer that all instruments read in a second."""

HEAVY = {
    *("chromadb", "datasets", "gguf", "lxml", "matplotlib", "nltk", "onnxruntime", "openpyxl"),
    *("optuna", "pandas", "pyarrow", "ray", "safetensors", "scipy", "sentence_transformers"),
    *("sklearn", "spacy", "tantivy", "textblob", "tokenizers", "torch", "transformers"),
}
"""Libraries that take at least 0.1 s to import and that only some runs use."""

ROOMS = {
    *("applications", "optimizers", "perturbations", "pytest_plugin", "qa", "review", "studies"),
    *("testing", "workbench"),
}
"""Subpackages that a run does not need."""

PROGRAM = """
import json, sys
from ragassay.cli import app
try:
    app(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
finally:
    print("\\n" + json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch):
    monkeypatch.delenv("RAGASSAY_EVALUATION__SIGNALS", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted")


def loaded_by(*arguments: str) -> set[str]:
    """Return the names of all modules imported by a command."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def of_rooms(loaded: set[str]) -> set[str]:
    """Return modules of subpackages that a run does not need."""
    ours = (name.split(".") for name in loaded if name.startswith("ragassay."))
    return {".".join(parts) for parts in ours if parts[1] in ROOMS}


def libraries(loaded: set[str], of: set[str]) -> set[str]:
    """Return which of these libraries were imported."""
    return {name.partition(".")[0] for name in loaded} & of


@pytest.mark.integration
def test_a_judged_run_imports_only_what_it_uses(tmp_path):
    with ScriptedModel() as model:
        told = {"--model": "openai/scripted", "--api-base": model.base_url, "--only": "rubrics"}
        told |= {"--out": str(tmp_path / "run"), "--limit": "1"}
        options = [word for option in told.items() for word in option]
        answers = str(SAMPLE / "answers.jsonl")
        loaded = loaded_by("evaluate", answers, "--no-signals", "--quiet", *options)
    needed = {"litellm", "openai", "dspy", "langgraph"}
    assert libraries(loaded, HEAVY | needed) == needed
    assert of_rooms(loaded) == set()
    assert "ragassay.tracing" in loaded, "and yet nothing that sends traces"
    senders = ("opentelemetry.exp", "opentelemetry.pro")
    assert not [name for name in loaded if name.startswith(senders)]


@pytest.mark.integration
def test_a_run_with_the_instruments_imports_no_client_of_models_and_no_nltk(tmp_path):
    out = str(tmp_path / "run")
    answers, corpus = tmp_path / "answers.jsonl", str(SAMPLE / "abstracts.jsonl")
    answers.write_text(json.dumps(SHORT), encoding="utf-8")
    loaded = loaded_by("evaluate", str(answers), "--corpus", corpus, "--out", out, "--quiet")
    of_signals = {"onnxruntime", "safetensors", "scipy", "tokenizers"}
    assert libraries(loaded, HEAVY | {"litellm", "openai"}) == of_signals
    assert of_rooms(loaded) == set()


def test_answers_are_read_before_the_libraries_of_a_run_are_imported():
    program = "import json, sys, ragassay.requests; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    of_a_run = {"litellm", "openai", "dspy", "langgraph", "numpy", "jinja2"}
    assert libraries(set(json.loads(done.stdout)), HEAVY | of_a_run) == set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["evaluate", "--help"]])
def test_help_imports_no_library_of_a_run(arguments):
    loaded = loaded_by(*arguments)
    of_a_run = {"litellm", "openai", "dspy", "langgraph", "numpy", "httpx", "jinja2", "rich"}
    assert libraries(loaded, HEAVY | of_a_run) == set()
    assert of_rooms(loaded) == set()
    if arguments == ["--help"]:
        assert libraries(loaded, {"pydantic", "yaml", "asyncio"}) == set()
        ours = {name for name in loaded if name.startswith("ragassay.")}
        light = {"cli", "cli.base", "files", "safe_text"}
        assert ours == {f"ragassay.{name}" for name in light}
