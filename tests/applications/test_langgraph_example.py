"""The LangGraph application that the repository ships, asked and evaluated as its README says."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT

from ragassay.testing import ScriptedModel

FOLDER = ROOT / "examples" / "langgraph_app"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location("pubmed_rag", FOLDER / "pubmed_rag.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "pubmed_rag", module)
    spec.loader.exec_module(module)
    return module


def rows_of(text: str) -> dict[str, str]:
    """The lines of scores, by title."""
    lines = [re.split(r"  +", line.strip()) for line in text.splitlines() if line.startswith("  ")]
    return {title: rest[0] for title, *rest in lines if rest}


@pytest.mark.integration
def test_it_prints_what_its_readme_shows(example, monkeypatch, capsys):
    monkeypatch.setenv("RAGASSAY_EVALUATION__SIGNALS", "true")
    monkeypatch.setattr(sys, "argv", ["pubmed_rag.py"])
    example.main()
    printed = rows_of(capsys.readouterr().out)
    assert len(printed) == 24
    assert rows_of((FOLDER / "README.md").read_text(encoding="utf-8")) == printed
    assert Path("runs/langgraph/report.html").exists()


async def test_its_answers_are_sentences_of_what_it_found(example):
    state = await example.app.ainvoke({"question": "Does brelozant reduce monthly migraine days?"})
    found = {source["id"]: source["text"] for source in state["sources"]}
    said = re.findall(r"(.+?) \[(\d+)\]\. ?", state["answer"])
    assert len(said) == 5
    assert all(sentence in found[name] for sentence, name in said)


@pytest.mark.integration
def test_a_model_answers_where_one_is_named(example, monkeypatch, capsys):
    answer = "Brelozant lowers migraine days [99000101]."
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("RAGASSAY_LITERATURE__RERANKER", "none")
    with ScriptedModel(reply=lambda messages, schema: answer) as model:
        named = [
            "--model",
            model.model_name,
            "--api-base",
            model.base_url,
            "--judge",
            model.model_name,
        ]
        monkeypatch.setenv("RAGASSAY_JUDGE__API_BASE", model.base_url)
        monkeypatch.setattr(sys, "argv", ["pubmed_rag.py", *named, "--out", "hosted"])
        example.main()
        capsys.readouterr()
    lines = Path("hosted/answers.jsonl").read_text(encoding="utf-8").splitlines()
    kept = [json.loads(line) for line in lines]
    assert {one["answer"] for one in kept} == {answer}
    assert all(int(one["metadata"]["n_prompt_tokens"]) > 0 for one in kept)
