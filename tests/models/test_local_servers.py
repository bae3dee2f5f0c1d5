"""Servers of language models on this machine are found, told apart, and their judges named."""

import re
import socket
import time

import pytest
from case_tables import each_case
from local_doubles import ANSWERS, serve_double

from ragassay.errors import InputError
from ragassay.models.local_answers import KINDS, NO_JUDGE_NAMES
from ragassay.models.local_servers import as_url, find_servers, list_default_urls

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


def test_every_kind_has_a_double():
    assert FOUND.keys() == ANSWERS.keys() == KINDS.keys()


@each_case("kind", FOUND)
def test_a_server_is_told_apart_and_its_judges_are_named_without_loading_one(kind):
    version, names, n_left_out = FOUND[kind]
    with serve_double(kind) as double:
        (server,) = find_servers([double.url])
    assert (server.kind, server.version) == (kind, version)
    assert [server.build_judge_name(model) for model in server.models] == names
    assert server.n_left_out == n_left_out
    assert server.api_base == f"{double.url}/v1"
    asked = {line for line in double.asked if not line.startswith("GET ")}
    assert asked <= {"POST /api/show"}, "what loads a model is a call that writes or embeds"


def test_what_a_server_knows_of_a_model_is_read():
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
        ({"/v1/models": {"data": [{"id": "k", "owned_by": "koboldcpp"}]}}, "other", 1, ""),
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
def test_odd_answers_are_read_as_far_as_they_go(answers, kind, n_models, problem):
    with serve_double("other", answers=answers) as double:
        found = find_servers([double.url])
    assert [(one.kind, len(one.models)) for one in found] == [(kind, n_models)] * bool(kind)
    assert all(problem in one.problem and bool(problem) == bool(one.problem) for one in found)


def test_where_nobody_listens_nothing_is_found_at_once():
    urls = []
    for _ in range(4):
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            urls.append(f"http://127.0.0.1:{held.getsockname()[1]}")
    find_servers(urls)  # imports httpx
    begun = time.perf_counter()
    assert find_servers(urls) == ()
    assert time.perf_counter() - begun < 1.0


def test_a_server_that_never_answers_holds_up_nobody(monkeypatch):
    monkeypatch.setattr("ragassay.models.local_servers.LOOK_S", 0.3)
    with serve_double("ollama", wait_s=2) as slow, serve_double("vllm") as double:
        found = find_servers([slow.url, double.url])
    assert [server.kind for server in found] == ["vllm"]


def test_a_proxy_of_the_environment_is_not_asked(monkeypatch):
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
def test_an_address_is_read_in_any_form_that_people_write(text, port, url):
    assert as_url(text, port) == url


@each_case("text", ["ftp://a", "http://a:port", "http://a b", "unix:///run/x.sock"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(InputError, match="is not an address; write http://HOST:PORT"):
        as_url(text)


USUAL = [f"http://127.0.0.1:{port}" for port in (11434, 1234, 8000, 8080)]


@each_case(
    ("environment", "urls"),
    [
        ({}, USUAL),
        ({"OLLAMA_HOST": "0.0.0.0:7000"}, ["http://127.0.0.1:7000", *USUAL]),
        ({"OLLAMA_API_BASE": "http://gpu:11434"}, ["http://gpu:11434", *USUAL]),
        ({"LM_STUDIO_API_BASE": "http://127.0.0.1:7001/v1"}, ["http://127.0.0.1:7001", *USUAL]),
        ({"HOSTED_VLLM_API_BASE": "http://gpu:8000/v1"}, ["http://gpu:8000", *USUAL]),
        ({"LLAMAFILE_API_BASE": "http://127.0.0.1:7002/v1"}, ["http://127.0.0.1:7002", *USUAL]),
        # The same port is asked once.
        ({"OLLAMA_HOST": "localhost"}, ["http://localhost:11434", *USUAL[1:]]),
        ({"OLLAMA_HOST": " "}, USUAL),
    ],
)
def test_the_environment_names_further_addresses(environment, urls):
    assert list(list_default_urls(environment)) == urls


@each_case(("pattern", "example"), NO_JUDGE_NAMES)
def test_each_pattern_of_names_has_an_example(pattern, example):
    assert re.search(pattern, example, re.IGNORECASE)


def test_names_of_judges_are_kept():
    others = "gte-qwen2 bge-m3:latest all-minilm intfloat/e5-mistral-7b snowflake-embed".split()
    judges = ("llama3.1:8b", "budget-7b", "prometheus-7b-v2.0", "e5x", "clipper:7b", "mistral")
    rows = [{"id": name} for name in (*others, *judges)]
    with serve_double("other", answers={"/v1/models": {"data": rows}}) as double:
        (server,) = find_servers([double.url])
    assert tuple(model.name for model in server.models) == judges
