"""What only some jobs need is not installed with the rest, and is asked for by name."""

from __future__ import annotations

import json
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from bare import ABSENT, BROUGHT, run_without
from conftest import ROOT

from ragassay.cli import app
from ragassay.errors import ExtraError
from ragassay.extras import EXTRAS, need

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = {
    "grpcio": "grpc",
    "opensearch_py": "opensearchpy",
    "opentelemetry_exporter_otlp_proto_http": "opentelemetry.exporter.otlp.proto.http",
    "opentelemetry_sdk": "opentelemetry.sdk",
    "pot": "ot",
}


def modules_of(requirements: list[str]) -> set[str]:
    """The modules of an extra's distributions, those of other extras left out."""
    names = {one.partition(">")[0].replace("-", "_") for one in requirements}
    return {MODULES.get(name, name) for name in names if not name.startswith("ragassay")}


def test_extras_are_those_of_the_distribution():
    declared = PROJECT["optional-dependencies"]
    own = {name: set(modules) for name, modules in EXTRAS.items()}
    assert {name: modules_of(declared[name]) for name in declared if name in own} == own
    assert declared.keys() - own.keys() == {"all", "dev", "docs"}
    assert declared["all"] == [f"ragassay[{','.join(sorted(own))}]"]
    assert not modules_of(PROJECT["dependencies"]) & ABSENT


def test_what_is_there_is_not_asked_for(monkeypatch: pytest.MonkeyPatch):
    need("nltk")
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(
        ExtraError, match=r'^this needs nltk: pip install "ragassay\[similarity\]"$'
    ):
        need("nltk")
    assert issubclass(ExtraError, ImportError)


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command of the command line, and every group."""
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


def test_help_needs_no_extra(tmp_path: Path):
    every = [shlex.join((*path, "--help")) for path in commands(typer.main.get_command(app))]
    found = run_without(ABSENT | BROUGHT | {"torch", "litellm", "dspy"}, *every, cwd=tmp_path)
    assert len(every) > 50
    assert {code for code, *_ in found["said"]} == {0}


NEEDS = {
    "corpus build a.jsonl --out c": "tantivy",
    "corpus info c": "tantivy",
    "evaluate a.jsonl --corpus c --out run": "tantivy",
    "corpus embed c": "chromadb",
    "evaluate a.parquet --map question=q,answer=a --out run": "pyarrow",
    "evaluate a.jsonl --corpus http://127.0.0.1:9/a --out run": "opensearchpy",
    "evaluate a.jsonl --tracing --out run": "opentelemetry.sdk",
    "evaluate a.jsonl --model ragassay/judge --out run": "accelerate",
    "models merge ragassay/judge --hf m": "accelerate",
    "serve --port 0": "prometheus_client",
    "nuggets fit pairs.jsonl --out m.json": "optuna",
    "optimize verifier --data a.jsonl --optimizer miprov2 --model openai/x": "optuna",
    "finetune judge --data a.jsonl --out m": "trl",
    "finetune verifier --data a.jsonl --out m": "peft",
    "matrix --generate a.jsonl --generator openai/x": "matplotlib",
    "meta-evaluate run --human a.jsonl --out m": "matplotlib",
    "verifiers at-k a.jsonl": "matplotlib",
    "similarity a.jsonl --metric wer": "bert_score",
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    folder = tmp_path_factory.mktemp("asked")
    row = {"id": "q", "question": "Q?", "answer": "A [1].", "sources": [{"id": "1", "text": "A."}]}
    (folder / "a.jsonl").write_text(json.dumps(row) + "\n")
    (folder / "a.parquet").write_bytes(b"PAR1..PAR1")
    (folder / "c").mkdir()
    (folder / "c" / "corpus.json").write_text("{}")
    pair = {"gold": ["A."], "nuggets": ["A."]}
    (folder / "pairs.jsonl").write_text(json.dumps(pair) + "\n")
    found = run_without(ABSENT, *NEEDS, cwd=folder)
    assert "torch" not in found["modules"]
    return dict(zip(NEEDS, found["said"], strict=True))


@pytest.mark.parametrize("call", NEEDS)
def test_a_command_asks_for_its_extra_in_one_line_before_it_begins(
    call: str, asked: dict[str, list[Any]]
):
    code, said, _ = asked[call]
    extra = next(name for name, modules in EXTRAS.items() if NEEDS[call] in modules)
    line = f'error: this needs {NEEDS[call]}: pip install "ragassay[{extra}]"\n'
    assert (code, said) == (1, line)
