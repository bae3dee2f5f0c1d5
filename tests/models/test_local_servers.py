"""Servers of language models on this machine are found, told apart, and their judges named."""

from __future__ import annotations

import re
import socket
import time
from typing import Any

import pytest
from case_tables import each_case
from local_doubles import ANSWERS, serve_double

from ragassay.errors import InputError
from ragassay.models.local_answers import NO_JUDGE_NAMES
from ragassay.models.local_servers import KINDS, as_url, find_servers, list_default_urls

pytestmark = pytest.mark.integration

FOUND = {
    "ollama": ("0.13.0", ["openai/llama3.1:8b", "openai/gpt-oss:120b-cloud"], 2),
    "lm_studio": ("", ["lm_studio/qwen2.5-7b-instruct", "lm_studio/qwen2-vl-7b"], 1),
    "vllm": (
        "0.11.0",
        ["hosted_vllm/meta-llama/Llama-3.1-8B-Instruct", "hosted_vllm/yescieval"],
        0,
    ),
    "llama_cpp": ("b7000-abc", ["llamafile//models/a b.gguf"], 0),
    "other": ("", ["openai/m"], 0),
}
"""Of each double: version, names of its judges, and how many other models it has."""


def test_every_kind_has_a_double() -> None:
    assert FOUND.keys() == ANSWERS.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", FOUND)
def test_a_server_is_told_apart_and_its_judges_are_named(kind: str) -> None:
    version, names, n_left_out = FOUND[kind]
    with serve_double(kind) as double:
        (server,) = find_servers([double.url])
    assert (server.kind, server.version) == (kind, version)
    assert [server.build_judge_name(model) for model in server.models] == names
    assert server.n_left_out == n_left_out
    assert server.api_base == f"{double.url}/v1"


@pytest.mark.parametrize("kind", FOUND)
def test_no_model_is_loaded_by_looking(kind: str) -> None:
    with serve_double(kind) as double:
        find_servers([double.url])
    asked = {line for line in double.asked if not line.startswith("GET ")}
    assert asked <= {"POST /api/show"}, "what loads a model is a call that writes or embeds"


def test_what_a_server_knows_of_a_model_is_read() -> None:
    with serve_double("ollama") as double, serve_double("llama_cpp") as other:
        ollama, llama_cpp = find_servers([double.url, other.url])
    llama, cloud = ollama.models
    assert (llama.parameters, llama.quantization, llama.n_context) == ("8.0B", "Q4_K_M", 131_072)
    assert llama.remote_host == "" and cloud.remote_host == "https://ollama.com:443"
    assert llama_cpp.models[0].n_context == 16_384, "the server's own bound, not the model's"


_LIST = {"object": "list", "data": []}


@each_case(
    ("answers", "kind", "n_models", "problem"),
    [
        ({"/api/tags": {"models": []}, "/api/version": {"version": "1"}}, "ollama", 0, ""),
        ({"/api/tags": {"models": None}, "/api/version": {"version": "1"}}, "ollama", 0, ""),
        ({"/v1/models": _LIST, "/props": {"default_generation_settings": {}}}, "llama_cpp", 0, ""),
        ({"/v1/models": _LIST, "/api/v0/models": _LIST}, "lm_studio", 0, ""),
        ({"/v1/models": {"data": [{"id": 3}, "x", {"id": "a"}, {}]}}, "other", 1, ""),
        ({"/v1/models": 401, "/version": {"version": "0.11"}}, "vllm", 0, "HOSTED_VLLM_API_KEY"),
        ({"/v1/models": 401}, "other", 0, "OPENAI_API_KEY"),
        ({"/v1/models": 403}, "other", 0, "OPENAI_API_KEY"),
        # KoboldCpp and others answer as several servers do.
        (
            {"/v1/models": {"data": [{"id": "k", "owned_by": "koboldcpp"}]}},
            "other",
            1,
            "",
        ),
        # No server of models: a web page, a list, another API, JSON that nests without end.
        ({"/v1/models": []}, None, 0, ""),
        ({"/v1/models": True, "/version": {"version": "3"}}, None, 0, ""),
        ({"/version": {"version": "3"}}, None, 0, ""),
        ({"/api/tags": {"models": "many"}, "/api/version": {"version": 1}}, None, 0, ""),
        ({"/v1/models": b"<html>"}, None, 0, ""),
        ({"/v1/models": b"[" * 100_000}, None, 0, ""),
        ({"/v1/models": b'{"data": [' + b'{"id": "a"},' * 500_000 + b"{}]}"}, None, 0, ""),
    ],
)
def test_odd_answers_are_read_as_far_as_they_go(
    answers: dict[str, Any], kind: str | None, n_models: int, problem: str
) -> None:
    with serve_double("other", answers=answers) as double:
        found = find_servers([double.url])
    if kind is None:
        assert found == ()
        return
    (server,) = found
    assert (server.kind, len(server.models)) == (kind, n_models)
    assert (problem in server.problem) if problem else server.problem == ""


def test_where_nobody_listens_nothing_is_found_at_once() -> None:
    urls = []
    for _ in range(4):
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            urls.append(f"http://127.0.0.1:{held.getsockname()[1]}")
    find_servers(urls)  # imports httpx
    begun = time.perf_counter()
    assert find_servers(urls) == ()
    assert time.perf_counter() - begun < 1.0


def test_a_server_that_never_answers_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragassay.models.local_servers.LOOK_S", 0.3)
    with serve_double("ollama", wait_s=2) as slow, serve_double("vllm") as double:
        found = find_servers([slow.url, double.url])
    assert [server.kind for server in found] == ["vllm"]


def test_a_proxy_of_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serve_double("vllm") as double:
        assert find_servers([double.url])


@each_case(
    ("text", "port", "url"),
    [
        ("127.0.0.1", 11434, "http://127.0.0.1:11434"),
        ("0.0.0.0", 11434, "http://127.0.0.1:11434"),
        ("0.0.0.0:8001", 11434, "http://127.0.0.1:8001"),
        (":8001", 11434, "http://127.0.0.1:8001"),
        ("[::]:8001", 11434, "http://[::1]:8001"),
        ("[::1]", 11434, "http://[::1]:11434"),
        ("localhost:1234", 80, "http://localhost:1234"),
        ("http://gpu:8000/v1", 80, "http://gpu:8000"),
        ("http://gpu:8000/v1/", 80, "http://gpu:8000"),
        ("https://gpu.example", 11434, "https://gpu.example"),
        (" 'http://gpu:8000' ", 80, "http://gpu:8000"),
        ("http://me:word@gpu:8000", 80, "http://me:word@gpu:8000"),
    ],
)
def test_an_address_is_read_in_any_form_that_people_write(text: str, port: int, url: str) -> None:
    assert as_url(text, port) == url


@pytest.mark.parametrize("text", ["ftp://a", "http://a:port", "http://a b", "unix:///run/x.sock"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not an address; write http://HOST:PORT"):
        as_url(text)


def test_the_environment_names_further_addresses() -> None:
    usual = [f"http://127.0.0.1:{port}" for port in (11434, 1234, 8000, 8080)]
    assert list(list_default_urls({})) == usual
    for environment, first in (
        ({"OLLAMA_HOST": "0.0.0.0:7000"}, "http://127.0.0.1:7000"),
        ({"OLLAMA_API_BASE": "http://gpu:11434"}, "http://gpu:11434"),
        ({"LM_STUDIO_API_BASE": "http://127.0.0.1:7001/v1"}, "http://127.0.0.1:7001"),
        ({"HOSTED_VLLM_API_BASE": "http://gpu:8000/v1"}, "http://gpu:8000"),
        ({"LLAMAFILE_API_BASE": "http://127.0.0.1:7002/v1"}, "http://127.0.0.1:7002"),
    ):
        assert list(list_default_urls(environment)) == [first, *usual]
    assert list(list_default_urls({"OLLAMA_HOST": "localhost"})) == [
        "http://localhost:11434",
        *usual[1:],
    ], "the same port is asked once"
    assert list(list_default_urls({"OLLAMA_HOST": " "})) == usual


@pytest.mark.parametrize(("pattern", "example"), NO_JUDGE_NAMES)
def test_each_pattern_of_names_has_an_example(pattern: str, example: str) -> None:
    assert re.search(pattern, example, re.IGNORECASE)


def test_names_of_judges_are_kept() -> None:
    names = (
        "gte-qwen2",
        "bge-m3:latest",
        "all-minilm",
        "intfloat/e5-mistral-7b",
        "snowflake-embed",
    )
    judges = ("llama3.1:8b", "budget-7b", "prometheus-7b-v2.0", "e5x", "clipper:7b", "mistral")
    rows = [{"id": name} for name in (*names, *judges)]
    with serve_double("other", answers={"/v1/models": {"data": rows}}) as double:
        (server,) = find_servers([double.url])
    assert tuple(model.name for model in server.models) == judges
