"""The gate, with a proxy behind it that answers whatever comes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from ragassay.models.serving import gate as gate_module
from ragassay.models.serving.gate import Gate
from ragassay.models.serving.metrics import ServerMetrics

KEY = "a-key-of-tests"
ASK = {"model": "ragassay/judge", "messages": [{"role": "user", "content": "a"}]}


class EchoProxy:
    """Sends the body back; notes what came."""

    def __init__(self, status: int = 200) -> None:
        self.seen: list[tuple[str, bytes]] = []
        self.status = status
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            self.seen.append((scope["type"], b""))
            return
        message = await receive()
        self.seen.append((scope["path"], message["body"]))
        await self.gate.wait()
        await send({"type": "http.response.start", "status": self.status, "headers": []})
        await send({"type": "http.response.body", "body": message["body"]})


def client(proxy: EchoProxy, metrics: ServerMetrics, n_most: int = 8) -> httpx.AsyncClient:
    gate = Gate(proxy, KEY, ("ragassay/judge", "openai/gpt-4.1-mini"), metrics, n_most)
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=gate),  # type: ignore[arg-type]
        base_url="http://gate",
        headers={"Authorization": f"Bearer {KEY}"},
    )


async def test_a_completion_passes_unchanged_and_is_counted() -> None:
    proxy, metrics = EchoProxy(), ServerMetrics()
    async with client(proxy, metrics) as http:
        for path in ("/v1/chat/completions", "/chat/completions"):
            reply = await http.post(path, json=ASK)
            assert reply.status_code == 200 and reply.json() == ASK
        page = (await http.get("/metrics", headers={"Authorization": ""})).text
    assert 'ragassay_requests_total{model="ragassay/judge",status="200"} 2.0' in page
    assert 'ragassay_request_seconds_count{model="ragassay/judge"} 2.0' in page
    assert "ragassay_requests_in_flight 0.0" in page


@pytest.mark.parametrize("shown", ["", "Bearer", "Bearer wrong", f"Basic {KEY}", KEY])
async def test_nobody_asks_without_the_key(shown: str) -> None:
    proxy = EchoProxy()
    async with client(proxy, ServerMetrics()) as http:
        for method, path in (("POST", "/v1/chat/completions"), ("GET", "/v1/models")):
            reply = await http.request(method, path, json=ASK, headers={"Authorization": shown})
            assert reply.status_code == 401
            assert reply.json()["error"]["code"] == "invalid_api_key"
    assert proxy.seen == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/key/generate"),
        ("GET", "/openapi.json"),
        ("GET", "/ui"),
        ("POST", "/v1/embeddings"),
        ("GET", "/v1/chat/completions"),
        ("POST", "/health/readiness"),
        ("GET", "/health/readiness/details"),
    ],
)
async def test_other_routes_of_the_proxy_are_shut(method: str, path: str) -> None:
    proxy = EchoProxy()
    async with client(proxy, ServerMetrics()) as http:
        reply = await http.request(method, path)
    assert reply.status_code == 404 and proxy.seen == []


async def test_health_needs_no_key() -> None:
    proxy = EchoProxy()
    async with client(proxy, ServerMetrics()) as http:
        for path in ("/health/liveliness", "/health/readiness"):
            assert (await http.get(path, headers={"Authorization": ""})).status_code == 200
    assert [path for path, _ in proxy.seen] == ["/health/liveliness", "/health/readiness"]


async def test_models_are_listed_and_found_by_name() -> None:
    async with client(EchoProxy(), ServerMetrics()) as http:
        listed = (await http.get("/v1/models")).json()
        assert [card["id"] for card in listed["data"]] == ["ragassay/judge", "openai/gpt-4.1-mini"]
        one = (await http.get("/v1/models/ragassay%2Fjudge")).json()
        assert one == listed["data"][0] and one["owned_by"] == "ragassay"
        assert (await http.get("/v1/models/gpt-9")).status_code == 404


@pytest.mark.parametrize(
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
async def test_what_names_no_known_model_ends_at_the_gate(
    body: bytes, status: int, code: str
) -> None:
    proxy = EchoProxy()
    async with client(proxy, ServerMetrics()) as http:
        reply = await http.post("/v1/chat/completions", content=body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)
    assert proxy.seen == []


async def test_a_request_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "N_BYTES_MOST", 100)
    proxy = EchoProxy()
    async with client(proxy, ServerMetrics()) as http:
        large = await http.post("/v1/chat/completions", content=json.dumps(ASK) + " " * 100)
        assert large.status_code == 413
        assert (await http.post("/v1/chat/completions", json=ASK)).status_code == 200
    assert len(proxy.seen) == 1


async def test_beyond_the_bound_clients_are_told_to_come_again() -> None:
    proxy, metrics = EchoProxy(), ServerMetrics()
    proxy.gate.clear()
    async with client(proxy, metrics, n_most=2) as http:
        inside = [asyncio.create_task(http.post("/v1/chat/completions", json=ASK)) for _ in "ab"]
        while len(proxy.seen) < 2:
            await asyncio.sleep(0)
        refused = await http.post("/v1/chat/completions", json=ASK)
        assert refused.status_code == 429
        assert refused.json()["error"]["type"] == "rate_limit_error"
        assert int(refused.headers["retry-after"]) > 0
        assert "ragassay_requests_in_flight 2.0" in (await http.get("/metrics")).text
        proxy.gate.set()
        assert {(await task).status_code for task in inside} == {200}
        assert (await http.post("/v1/chat/completions", json=ASK)).status_code == 200


async def test_a_proxy_that_breaks_frees_its_place() -> None:
    class BrokenProxy(EchoProxy):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            raise RuntimeError("broken")

    async with client(BrokenProxy(), ServerMetrics(), n_most=1) as http:
        for _ in range(3):
            with pytest.raises(RuntimeError, match="broken"):
                await http.post("/v1/chat/completions", json=ASK)
        assert "ragassay_requests_in_flight 0.0" in (await http.get("/metrics")).text


async def test_failures_of_the_proxy_are_told(caplog: pytest.LogCaptureFixture) -> None:
    async with client(EchoProxy(status=503), ServerMetrics()) as http:
        assert (await http.post("/v1/chat/completions", json=ASK)).status_code == 503
    assert "ragassay/judge: a request ended with status 503" in caplog.text


async def test_start_and_end_reach_the_proxy_and_websockets_do_not() -> None:
    proxy, sent = EchoProxy(), []
    gate = Gate(proxy, KEY, ("ragassay/judge",), ServerMetrics())

    async def send(message: Any) -> None:
        sent.append(message["type"])

    async def receive() -> Any:
        raise AssertionError("nothing is read")

    await gate({"type": "lifespan"}, receive, send)
    await gate({"type": "websocket", "path": "/v1/realtime"}, receive, send)
    assert proxy.seen == [("lifespan", b"")] and sent == ["websocket.close"]
