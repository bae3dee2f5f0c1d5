"""LangGraph's development server runs the graphs that langgraph.json names."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from conftest import ROOT
from waiting import find_free_port, is_up, wait_until

from ragassay.testing import ScriptedModel

NEEDED = ("langgraph_cli", "langgraph_api", "langgraph_runtime_inmem")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in NEEDED),
        reason="needs pip install -e '.[studio]'",
    ),
]

RECORD = {
    "id": "one",
    "question": "Does drug A lower blood pressure?",
    "answer": "Drug A lowers blood pressure by 5 mmHg [1].",
    "sources": [{"id": "1", "text": "Drug A lowered blood pressure by 5 mmHg in adults."}],
}


@pytest.fixture
def judge() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


@pytest.fixture
def server(judge: ScriptedModel, tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of `langgraph dev`, started as a user starts it beside langgraph.json."""
    # The server writes beside its file.
    (tmp_path / "langgraph.json").write_bytes((ROOT / "langgraph.json").read_bytes())
    (tmp_path / "ragassay").symlink_to(ROOT / "ragassay")
    port, log = find_free_port(), tmp_path / "log"
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "RAGASSAY_JUDGE__MODEL": judge.model_name,
        "RAGASSAY_JUDGE__API_BASE": judge.base_url,
        "RAGASSAY_EVALUATION__ONLY": '["rubrics"]',
        "RAGASSAY_EVALUATION__RUBRICS": '["cohesion"]',
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true",
        "LANGSMITH_TRACING": "false",
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=tmp_path,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until(lambda: is_up(f"http://127.0.0.1:{port}/ok"), process)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
            yield client
    except AssertionError:
        pytest.fail(f"langgraph dev did not start:\n{log.read_text(errors='replace')[-3000:]}")
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)


def test_the_development_server_evaluates_an_answer_and_draws_the_graph(server, judge):
    listing = server.post("/assistants/search", json={}).raise_for_status().json()
    listed = {one["graph_id"]: one["assistant_id"] for one in listing}
    assert set(listed) == {"evaluate", "write_nuggets"}
    asked = {"assistant_id": "evaluate", "input": {"record": RECORD}}
    answered = server.post("/runs/wait", json=asked).raise_for_status().json()
    evaluation = answered["evaluation"]
    (verdict,) = evaluation["verdicts"]
    assert evaluation["record_id"] == "one" and evaluation["judge"] == judge.model_name
    assert verdict["rubric"] == "cohesion" and 1 <= verdict["rating"] <= 5
    assert judge.n_requests == 1
    refused = server.post("/runs/wait", json=asked | {"context": {"model": "openai/other"}})
    assert "a served graph accepts no context (got model)" in refused.text
    drawn = server.get(f"/assistants/{listed['evaluate']}/graph", params={"xray": "true"})
    nodes = {node["id"] for node in drawn.raise_for_status().json()["nodes"]}
    assert "find_evidence:judge_sufficiency" in nodes and "find_evidence" not in nodes
    assert not any("error_handler" in name for name in nodes)
