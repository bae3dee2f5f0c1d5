"""The application, with a LiteLLM behind it that answers whatever comes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from case_tables import each_case
from echoes import ASK, CHAT, HOSTED, KEY, MODELS, EchoModel, client, figures

from ragassay.models.serving import requests
from ragassay.models.serving.app import ChatServer


@pytest.fixture
def model() -> EchoModel:
    return EchoModel()


async def test_a_completion_is_one_call_of_litellm_and_is_counted(model):
    async with client(model) as http:
        for path in (CHAT, "/chat/completions"):
            reply = await http.post(path, json=ASK | {"logprobs": True, "top_logprobs": 5})
            assert reply.status_code == 200
            assert reply.json()["choices"][0]["message"]["content"] == "a"
            assert reply.json()["model"] == "ragassay/judge"
        page = await figures(http)
    assert 'ragassay_requests_total{model="ragassay/judge",status="200"} 2.0' in page
    assert 'ragassay_request_seconds_count{model="ragassay/judge"} 2.0' in page
    assert 'ragassay_tokens_total{kind="prompt",model="ragassay/judge"} 14.0' in page
    assert "ragassay_requests_in_flight 0.0" in page
    assert len(model.seen) == 2
    assert model.seen[0]["logprobs"] and model.seen[0]["top_logprobs"] == 5
    assert model.seen[0]["num_retries"] == model.seen[0]["max_retries"] == 0


async def test_models_keep_their_names_and_endpoints(model):
    async with client(model) as http:
        for asked in (ASK, HOSTED):
            assert (await http.post(CHAT, json=asked)).status_code == 200
    assert [(call["model"], call["api_base"]) for call in model.seen] == list(MODELS.items())
    assert {call["timeout"] for call in model.seen} == {30.0}


@each_case("shown", ["", "Bearer", "Bearer wrong", f"Basic {KEY}", KEY, "Bearer \xe9"])
async def test_nobody_asks_without_the_key(shown, model):
    async with client(model) as http:
        for method, path in (("POST", CHAT), ("GET", "/v1/models")):
            headers = {b"Authorization": shown.encode("latin-1")}
            reply = await http.request(method, path, json=ASK, headers=headers)
            assert reply.status_code == 401
            assert reply.json()["error"]["code"] == "invalid_api_key"
        assert 'ragassay_requests_total{model="",status="401"} 2.0' in await figures(http)
    assert model.seen == []


@each_case("route", [f"GET {CHAT}", "POST /health/readiness", "GET /health/readiness/details"])
async def test_there_are_no_other_routes(route, model):
    async with client(model) as http:
        reply = await http.request(*route.split())
    assert reply.status_code == 404 and reply.json()["error"]["code"] == "not_found"


async def test_health_needs_no_key(model):
    async with client(model) as http:
        for path in ("/health/liveliness", "/health/readiness"):
            assert (await http.get(path, headers={"Authorization": ""})).status_code == 200


async def test_models_are_listed_and_found_by_name(model):
    async with client(model) as http:
        listed = (await http.get("/v1/models")).json()
        assert [card["id"] for card in listed["data"]] == ["ragassay/judge", "openai/gpt-4.1-mini"]
        one = (await http.get("/v1/models/ragassay%2Fjudge")).json()
        assert one == listed["data"][0] and one["owned_by"] == "ragassay"
        assert (await http.get("/v1/models/gpt-9")).status_code == 404


@each_case(
    ("body", "status", "code"),
    [
        (b'{"model": "gpt-9"}', 404, "model_not_found"),
        (b'{"model": ["ragassay/judge"]}', 404, "model_not_found"),
        (b'{"messages": []}', 400, "invalid_request"),
        (b"[1]", 400, "invalid_request"),
        (b"{", 400, "invalid_request"),
        (b"[" * 100_000, 400, "invalid_request"),
        (b"\xff\xfe", 400, "invalid_request"),
        (b"", 400, "invalid_request"),
    ],
)
async def test_what_names_no_known_model_is_refused(body, status, code, model):
    async with client(model) as http:
        reply = await http.post(CHAT, content=body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)
    assert model.seen == []


@each_case(
    "option", ["api_base", "base_url", "api_key", "model_list", "fallbacks", "callbacks", "mock"]
)
async def test_no_client_can_send_the_servers_keys_elsewhere(option, model):
    async with client(model) as http:
        reply = await http.post(CHAT, json=HOSTED | {option: "http://else"})
    assert reply.status_code == 400 and reply.json()["error"]["param"] == option
    assert model.seen == []


async def test_a_request_that_is_too_large_is_refused(model, monkeypatch):
    monkeypatch.setattr(requests, "N_BYTES_MOST", 100)
    async with client(model) as http:
        large = await http.post(CHAT, content=json.dumps(ASK) + " " * 100)
        assert large.status_code == 413
        assert (await http.post(CHAT, json=ASK)).status_code == 200
    assert len(model.seen) == 1


async def test_a_request_that_trickles_frees_its_place(model, monkeypatch):
    monkeypatch.setattr(requests, "READ_S", 0.01)

    async def body() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    async with client(model, n_most=1) as http:
        late = await http.post(CHAT, content=body())
        assert late.status_code == 408 and late.json()["error"]["code"] == "timeout"
        assert (await http.post(CHAT, json=ASK)).status_code == 200


async def test_beyond_the_bound_clients_are_told_to_come_again(model):
    model.gate.clear()
    async with client(model, n_most=2) as http:
        inside = [asyncio.create_task(http.post(CHAT, json=ASK)) for _ in "ab"]
        while len(model.seen) < 2:
            await asyncio.sleep(0)
        refused = await http.post(CHAT, json=ASK)
        assert refused.status_code == 429
        assert refused.json()["error"]["type"] == "rate_limit_error"
        assert int(refused.headers["retry-after"]) > 0
        assert "ragassay_requests_in_flight 2.0" in await figures(http)
        model.gate.set()
        assert {(await task).status_code for task in inside} == {200}
        assert (await http.post(CHAT, json=ASK)).status_code == 200


async def test_a_model_that_breaks_frees_its_place(caplog):
    async with client(EchoModel(RuntimeError("broken")), n_most=1) as http:
        for _ in range(3):
            reply = await http.post(CHAT, json=ASK)
            assert reply.status_code == 500
            assert reply.json()["error"]["type"] == "server_error"
        page = await figures(http)
    assert 'ragassay_requests_total{model="ragassay/judge",status="500"} 3.0' in page
    assert "ragassay_requests_in_flight 0.0" in page
    assert "ragassay/judge: a request failed with status 500" in caplog.text


async def test_what_a_client_does_not_wait_for_is_given_up(model):
    model.gate.clear()
    server = ChatServer(KEY, MODELS, model, 30.0)
    coming = [{"type": "http.request", "body": json.dumps(ASK).encode()}]
    leaves = asyncio.Event()

    async def receive() -> Any:
        if coming:
            return coming.pop()
        await leaves.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        raise AssertionError("nobody is there")

    scope: Any = {
        "type": "http",
        "method": "POST",
        "path": CHAT,
        "headers": [(b"authorization", f"Bearer {KEY}".encode())],
    }
    asking = asyncio.create_task(server.create_app()(scope, receive, send))
    while not model.seen:
        await asyncio.sleep(0)
    leaves.set()
    await asking
    await asyncio.sleep(0)
    assert model.n_given_up == 1
    page = server.metrics.render_metrics().decode()
    assert 'ragassay_requests_total{model="ragassay/judge",status="499"} 1.0' in page
    assert "ragassay_requests_in_flight 0.0" in page
