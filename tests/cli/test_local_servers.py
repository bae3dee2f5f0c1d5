"""`ragassay models` finds local judges, and a run with one of them needs no key."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from calls import run
from local_doubles import serve_double

from ragassay.testing import ScriptedModel

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def missing_key_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key is set, and no address but the double's is named."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def find(*arguments: object) -> SimpleNamespace:
    text, _ = run("models", "find", *arguments, COLUMNS="120")
    return SimpleNamespace(text=text, lines=text.splitlines())


def test_judges_are_listed_with_a_command_to_paste() -> None:
    with serve_double("ollama") as double:
        found = find("--port", double.port)
    assert found.lines[0] == f"Ollama 0.13.0 at {double.url}"
    assert "openai/llama3.1:8b" in found.text and "8.0B Q4_K_M" in found.text
    assert "runs on https://ollama.com:443" in found.text, "a cloud model is no local one"
    assert "nomic" not in found.text and "2 other models for embeddings" in found.text
    assert "OLLAMA_CONTEXT_LENGTH" in found.text
    command = next(line for line in found.lines if "ragassay evaluate" in line)
    assert command.endswith(f" --model openai/llama3.1:8b --api-base {double.url}/v1")


def test_json_has_one_object_a_server() -> None:
    with serve_double("llama_cpp") as first, serve_double("vllm") as second:
        found = find("--json", "--url", f"{first.url}/v1", "--port", second.port)
    entries = {entry["server"]: entry for entry in map(json.loads, found.lines)}
    assert entries.keys() == {"llama_cpp", "vllm"}
    (judge,) = entries["llama_cpp"]["judges"]
    assert judge["model"] == "llamafile//models/a b.gguf"
    assert judge["context_tokens"] == 16_384
    words = shlex.split(judge["command"])
    assert words[words.index("--model") + 1] == judge["model"], "a name with a space is quoted"


def test_where_nothing_is_found_the_next_step_is_named() -> None:
    with serve_double("other", answers={}) as double:
        found = find("--port", double.port)
        assert double.url in found.text and "ollama serve" in found.text
        assert find("--json", "--port", double.port).text == ""


def test_a_server_without_a_judge_says_so() -> None:
    rows = {"data": [{"id": "bge-m3"}]}
    with serve_double("other", answers={"/v1/models": rows}) as double:
        found = find("--port", double.port)
        assert "No model on this server can be used as a judge" in found.text
    with serve_double("other", answers={"/v1/models": 401}) as double:
        assert "set OPENAI_API_KEY" in find("--port", double.port).text


def test_the_bare_command_lists_servers_and_shipped_models(monkeypatch) -> None:
    listed = "ragassay.models.local_servers.list_default_urls"
    with serve_double("vllm") as double:
        monkeypatch.setattr(listed, lambda environment: (double.url,))
        shown, _ = run("models", COLUMNS="120")
    assert "hosted_vllm/yescieval" in shown and "ragassay/judge" in shown


def test_a_wrong_address_is_one_line() -> None:
    (line,) = run("models", "find", "--url", "ftp://a", code=1)[1].splitlines()
    assert "is not an address" in line


@pytest.mark.parametrize(
    ("kind", "model", "path"),
    [
        ("ollama", "openai/llama3.1:8b", "/v1"),
        ("ollama", "ollama_chat/llama3.1:8b", ""),
        ("lm_studio", "lm_studio/qwen2.5-7b-instruct", "/v1"),
        ("vllm", "hosted_vllm/meta-llama/Llama-3.1-8B-Instruct", "/v1"),
        ("llama_cpp", "llamafile//models/a b.gguf", "/v1"),
    ],
)
def test_a_run_with_a_local_judge_needs_no_key(kind, model, path, tmp_path, sample) -> None:
    with ScriptedModel() as scripted, serve_double(kind, scripted) as double:
        given = (sample / "answers.jsonl", "--model", model, "--api-base", double.url + path)
        chosen = ("--limit", 1, "--only", "rubrics", "--rubrics", "correctness")
        run("evaluate", *given, *chosen, "--out", tmp_path)
    (line,) = (tmp_path / "evaluations.jsonl").read_text().splitlines()
    (judgment,) = json.loads(line)["verdicts"]
    assert judgment["rating"] in range(1, 6) and judgment["failure"] is None
    has_distribution = judgment["distribution"] is not None
    assert has_distribution == (not model.startswith("ollama_chat/"))
    calls = zip(double.asked, double.bodies, strict=True)
    asked = [body for line, body in calls if "chat" in line][-1]
    schema = asked.get("format") or asked["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["rating"]["enum"] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("model", ["openai/nope", "ollama_chat/nope"])
def test_a_model_that_ollama_lacks_is_named(model: str, tmp_path: Path, sample: Path) -> None:
    with ScriptedModel() as scripted, serve_double("ollama", scripted) as double:
        base = double.url + ("/v1" if model.startswith("openai/") else "")
        given = ("--model", model, "--api-base", base, "--out", tmp_path)
        _, errors = run("evaluate", sample / "answers.jsonl", *given, code=1)
    assert "has no model 'nope' (404)" in errors
