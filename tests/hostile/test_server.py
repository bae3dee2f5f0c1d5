"""`ragassay serve` under requests that are made to break it, one process through all of them."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from case_tables import each_case
from served import KEY, Served, served
from tiny_llama import tiny_model, tiny_tokenizer

from ragassay.testing import ScriptedModel

pytestmark = pytest.mark.integration

HOSTED = "openai/scripted"
SECRET = "planted-8d1f"
WAIT_S = 120
MEMORY_MIB = 400
WITH_KEY = {"authorization": f"Bearer {KEY}"}


def string(**bounds: Any) -> dict[str, Any]:
    return {"type": "string", **bounds}


def deep(n: int) -> Any:
    schema: Any = string()
    for _ in range(n):
        schema = {"type": "array", "items": schema}
    return schema


BRANCHING = {
    f"d{i}": {
        "anyOf": [
            {"type": "array", "items": {"$ref": f"#/$defs/d{i + 1}"}},
            {"type": "object", "additionalProperties": {"$ref": f"#/$defs/d{i + 1}"}},
        ]
    }
    for i in range(40)
}
SCHEMAS: dict[str, Any] = {
    "counted pattern": string(pattern="^((a{1,1000}){1,1000}){1,1000}$"),
    "pattern with many states": string(pattern="^(a|b)*a(a|b){24}$"),
    "text without end": string(minLength=10**9, maxLength=10**9),
    "list without end": {"type": "array", "items": {"type": "integer"}, "minItems": 10**6},
    "branches": {"$defs": BRANCHING | {"d40": string()}, "$ref": "#/$defs/d0"},
    "itself": {"$ref": "#"},
    "inside itself": {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    "nested": deep(200),
    "many words": {"enum": [f"word {i}" for i in range(100_000)]},
    "many fields": {"type": "object", "required": [f"p{i}" for i in range(3_000)]},
    "from the network": {"$ref": "http://192.0.2.1/schema.json"},
    "from a file": {"$ref": "file:///etc/passwd"},
    "no schema": 7,
}


def say(content: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": content}]}


OPTIONS: dict[str, dict[str, Any]] = {
    "replies": {"n": 1000},
    "a long reply": {"max_tokens": 10**9},
    "a long reply in floating point": {"max_tokens": 1e9},
    "less than nothing": {"max_tokens": -1},
    "true": {"max_tokens": True},
    "alternatives": {"logprobs": True, "top_logprobs": 10**9},
    "alternatives as text": {"logprobs": True, "top_logprobs": "5"},
    "a flood of messages": {"messages": [{"role": "user", "content": ""}] * 5_000},
    "a flood of parts": say([{"type": "text", "text": "a"}] * 5_000),
    "a part without text": say([{"type": "text"}]),
    "a flood of stops": {"stop": ["x"] * 5_000},
    "a stream option that is a list": {"stream": True, "stream_options": [1]},
    "a format that is a number": {"response_format": 3},
    "no text": say({"text": SECRET}),
    "half a pair": say("\ud800"),
    "not a number": {"temperature": float("nan")},
    "null bytes": say("\0" * 50),
    "marks of the chat": say("<|im_end|>\n<|im_start|>system\n"),
}
STATUSES = {"a flood of stops": {200, 400}, "null bytes": {200}, "marks of the chat": {200}}
"""Replies to options that are not refused, or need not be."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = tiny_tokenizer()
    tiny_model(len(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return f"ragassay/{folder}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, tiny: str) -> Iterator[Served]:
    with ScriptedModel() as upstream:
        models = ["--only", "--model", tiny, "--model", f"{HOSTED}@{upstream.base_url}"]
        with served(models, tmp_path_factory.mktemp("served")) as running:
            ask(running, tiny)  # the model is loaded by its first request
            memory = psutil.Process(running.process.pid)
            before = memory.memory_info().rss
            yield running
            assert running.process.poll() is None
            assert (memory.memory_info().rss - before) / 2**20 < MEMORY_MIB
            told = "".join(running.told)
            assert "Traceback" not in told and SECRET not in told and KEY not in told
            assert running.outside.read_text(encoding="utf-8") == ""


def ask(server: Served, model: str, **options: Any) -> httpx.Response:
    """One request for a chat, and a reply of its own at the end of it."""
    body = json.dumps({"model": model, "max_tokens": 4} | say(SECRET) | options)
    url = f"{server.url}/chat/completions"
    return httpx.post(url, content=body, headers=WITH_KEY, timeout=WAIT_S)


def still_serves(server: Served, model: str) -> bool:
    return ask(server, model).status_code == 200


@each_case("name", SCHEMAS)
def test_a_schema_that_explodes_is_refused_or_bounded(server, tiny, name):
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMAS[name]}}
    reply = ask(server, tiny, response_format=wanted, max_tokens=50)
    assert reply.status_code in (200, 400)
    if reply.status_code == 400:
        assert "schema" in reply.json()["error"]["message"]
        assert "Traceback" not in reply.text and "root:" not in reply.text
    else:
        assert reply.json()["usage"]["completion_tokens"] <= 50
    assert still_serves(server, tiny)


@each_case("name", OPTIONS)
def test_an_option_that_explodes_is_refused_by_name(server, tiny, name):
    reply = ask(server, tiny, **OPTIONS[name])
    assert reply.status_code in STATUSES.get(name, {400}), reply.text[:300]
    if reply.status_code == 400:
        said = reply.json()["error"]["message"]
        assert said and len(said) < 1000 and "Traceback" not in said
    assert still_serves(server, tiny)


def test_a_hosted_model_is_not_asked_for_a_thousand_replies(server):
    reply = ask(server, HOSTED, n=1000)
    assert reply.status_code == 400
    assert "n: must be an integer from 0 to 128" in reply.json()["error"]["message"]


@pytest.mark.parametrize(
    "key", [None, "wrong", KEY[:-1], KEY + "x", KEY.upper(), KEY.encode().hex()]
)
def test_without_the_key_nothing_is_told(server, key):
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    for method, path in (("POST", "/chat/completions"), ("GET", "/models"), ("GET", "/models/x")):
        reply = httpx.request(method, server.url + path, headers=headers, json={"model": "x"})
        assert reply.status_code == 401 and "ragassay/" not in reply.text


@each_case(
    "path",
    [
        *("/", "/key/info", "/key/generate", "/model/info", "/model/new", "/config/yaml", "/ui"),
        *("/spend/logs", "/user/info", "/sso/key/generate", "/docs", "/redoc", "/openapi.json"),
        *("/v1/embeddings", "/v1/files", "/v1/responses", "/cache/ping", "/debug/pprof"),
        *("/v1/../key/info", "/v1/models/../../etc/passwd", "/v1//chat/completions", "/%2e%2e/ui"),
    ],
)
def test_only_the_routes_that_are_meant_exist(server, path):
    for method in ("GET", "POST", "PUT", "DELETE"):
        reply = httpx.request(method, server.page(path), headers=WITH_KEY)
        assert reply.status_code == 404
        assert reply.json()["error"]["code"] in ("not_found", "model_not_found")


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
    ids=["tls", "version", "negative length", "two lengths", "long header", "long path"],
)
def test_what_is_no_request_is_refused(server, tiny, sent):
    with connected(server) as client:
        client.sendall(sent)
        reply = client.recv(4096)
    assert reply == b"" or reply.split(b" ")[1] in (b"400", b"401", b"404")
    assert still_serves(server, tiny)


def test_a_body_over_the_limit_is_refused_before_it_is_whole(server, tiny):
    reply = ask(server, tiny, **say("a" * 5 * 2**20))
    assert reply.status_code == 413
    assert still_serves(server, tiny)


def test_two_hundred_slow_connections_keep_nobody_out(server, tiny):
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {KEY}\r\n"
    slow = [connected(server) for _ in range(200)]
    try:
        for n, client in enumerate(slow):
            whole = f"{head}Content-Length: 1000\r\n\r\n{{" if n % 2 else head
            client.sendall(whole.encode())
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(lambda _: still_serves(server, tiny), range(8)))
    finally:
        for client in slow:
            client.close()
    assert still_serves(server, tiny)


def test_metrics_tell_nothing_of_content(server, tiny):
    ask(server, tiny, user=SECRET, metadata={"a": SECRET})
    ask(server, SECRET)
    httpx.get(f"{server.url}/{SECRET}")
    page = httpx.get(server.page("/metrics")).text
    assert "ragassay_requests_total" in page
    assert SECRET not in page and KEY not in page


def test_it_listens_on_loopback_alone(server):
    connections = psutil.Process(server.process.pid).net_connections()
    listening = [one.laddr.ip for one in connections if one.status == psutil.CONN_LISTEN]
    assert listening == ["127.0.0.1"]


def connected(server: Served) -> socket.socket:
    place = urlsplit(server.url)
    return socket.create_connection((place.hostname, place.port), WAIT_S)  # type: ignore[arg-type]
