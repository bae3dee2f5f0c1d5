"""Every piece of Python on a page passes mypy and pyright, and those of docs/python.md run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import elastic
import pytest
from conftest import ROOT
from handbook import PAGES, Block, block, blocks

PYTHON = ROOT / "docs" / "python.md"
MYPY = """[mypy]
strict = True
allow_untyped_defs = True
allow_untyped_decorators = True
disallow_untyped_calls = False
disallow_subclassing_any = False
disable_error_code = import-untyped
mypy_path = {root}
follow_imports = skip

[mypy-ragassay.*,pydantic.*,pydantic_core.*,typing_extensions.*,annotated_types.*]
follow_imports = silent
"""
"""Strict, but that other libraries are not read, which takes minutes, and that a short example may
leave out the types of its own functions."""


GIVEN = "from my_rag import my_application"
MY_RAG = "def my_application(question: str) -> tuple[str, list[str]]: return question, []\n"
"""The reader's own, which a page calls without showing it."""

OVERLOADS = """from typing import assert_type

import ragassay
from ragassay.formats.objects import Sample, TestCase


async def one(sample: Sample, case: TestCase, record: ragassay.Record) -> None:
    assert_type(ragassay.evaluate(question="Q?", answer="A."), ragassay.Result)
    assert_type(await ragassay.aevaluate(question="Q?", answer="A."), ragassay.Result)
    assert_type(ragassay.evaluate("answers.jsonl", limit=3), ragassay.Results)
    assert_type(await ragassay.aevaluate([sample], audit=3), ragassay.Results)
    assert_type(ragassay.evaluate([{"question": "Q?", "answer": "A."}]), ragassay.Results)
    assert_type(ragassay.evaluate({"question": ["Q?"], "answer": ["A."]}), ragassay.Results)
    assert_type(ragassay.evaluate(case, fail_under={"cohesion": 3}), ragassay.Results)
    assert_type(ragassay.run("my_rag:answer", [record]), ragassay.Results)
    ragassay.evaluate("answers.jsonl", modle="openai/a")  # type: ignore[call-overload]
    ragassay.evaluate(question="Q?")  # type: ignore[call-overload]
"""
"""The types of results, and two calls that are wrong: an ignored error that is none is an error."""


@pytest.fixture(scope="module")
def snippets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a module for each piece."""
    folder = tmp_path_factory.mktemp("snippets")
    found = [one for page in PAGES for one in blocks(page, "python")]
    for one in found:
        name = "".join(sign if sign.isalnum() else "_" for sign in one.name)
        text = f"{GIVEN}\n{one.text}" if "my_application(" in one.text else one.text
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    (folder / "my_rag.py").write_text(MY_RAG, encoding="utf-8")
    shutil.copy(elastic.__file__, folder / "langchain_elasticsearch.py")
    assert len(found) > 15
    (folder / "overloads.py").write_text(OVERLOADS, encoding="utf-8")
    return folder


def checked(program: str, *arguments: str, folder: Path) -> str:
    """What a checker of this environment says; empty where it has nothing to say."""
    path = Path(sys.executable).with_name(program)
    command = [str(path), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_mypy_has_nothing_against_them(snippets: Path):
    (snippets / "mypy.ini").write_text(MYPY.format(root=ROOT), encoding="utf-8")
    arguments = ("--config-file", "mypy.ini", "--python-executable", sys.executable)
    assert checked("mypy", *arguments, ".", folder=snippets) == ""


def test_pyright_has_nothing_against_them(snippets: Path):
    config = {"extraPaths": [str(ROOT)], "reportUnnecessaryTypeIgnoreComment": True}
    (snippets / "pyrightconfig.json").write_text(json.dumps(config), encoding="utf-8")
    assert checked("pyright", "--pythonpath", sys.executable, folder=snippets) == ""


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "ragassay" / "py.typed").exists()


@pytest.mark.integration
@pytest.mark.parametrize("one", blocks(PYTHON, "python"), ids=lambda one: one.name)
def test_what_the_page_on_python_shows_runs(one: Block, at_work: Path):
    exec(compile(one.text, one.name, "exec"), {"__name__": "example"})


@pytest.mark.integration
def test_a_search_server_is_the_corpus_by_its_langchain_retriever(
    at_work: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its articles are evidence; nothing is called unknown that it cannot look up."""
    hit = {"_id": "99000101", "_source": {"abstract": "brelozant prevents migraine in adults."}}
    monkeypatch.setattr(elastic.ElasticsearchRetriever, "hits", [hit])
    monkeypatch.setitem(sys.modules, "langchain_elasticsearch", elastic)
    answer = "Brelozant prevents migraine in adults [PMID: 99000777]."
    row = {"question": "Does brelozant prevent migraine?", "answer": answer}
    (at_work / "answers.jsonl").write_text(json.dumps(row), encoding="utf-8")
    one = block(ROOT / "docs" / "pubmed.md", "python", "ElasticsearchRetriever")
    scope: dict[str, Any] = {"__name__": "example"}
    exec(compile(one.text, one.name, "exec"), scope)
    (evaluation,) = scope["results"]
    assert evaluation.searches[0].queries[0].n_found == 1
    assert "99000101" in evaluation.model_dump_json(), "a passage names its article"
    assert "unknown_citation" not in {finding.kind for finding in evaluation.findings}
