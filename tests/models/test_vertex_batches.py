"""Batches of Gemini on Vertex: LiteLLM speaks to a bucket and a job interface that are doubles."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

import ragassay.models.batch_queue as queues
from ragassay.errors import BatchError
from ragassay.models.batches import batch_calls
from ragassay.models.gateway import JudgeLM
from ragassay.models.limiter import RunLimiter
from ragassay.models.litellm_library import import_litellm
from ragassay.settings import load_settings

JOB = "projects/p/locations/us-central1/batchPredictionJobs/77"


class FakeVertex:
    """A bucket and one batch prediction job, in the form of Google's documents."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self._output = ""

    def answer(self, request: httpx.Request) -> httpx.Response:
        path = unquote(request.url.path)
        self.paths.append(f"{request.method} {request.url.host}{path}")
        if request.method == "POST" and "/upload/storage/" in path:
            self.rows = [json.loads(line) for line in request.read().splitlines()]
            name = request.url.params["name"]
            found: Any = {"id": f"bucket/{name}/1", "name": name, "timeCreated": _TIME}
        elif path.endswith("/batchPredictionJobs"):
            asked = json.loads(request.content)
            self._output = asked["outputConfig"]["gcsDestination"]["outputUriPrefix"]
            found = {**_job("JOB_STATE_PENDING"), **asked}
        elif path.endswith("/batchPredictionJobs/77"):
            output = {"gcsOutputDirectory": f"{self._output}/prediction-model-1"}
            found = _job("JOB_STATE_SUCCEEDED") | {"outputInfo": output}
        else:
            lines = "".join(json.dumps(_predict(row)) + "\n" for row in reversed(self.rows))
            return httpx.Response(200, content=lines.encode(), request=request)
        return httpx.Response(200, json=found, request=request)


_TIME = "2025-01-01T00:00:00.000000Z"


def _job(state: str) -> dict[str, Any]:
    return {"name": JOB, "state": state, "createTime": _TIME}


def _predict(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of predictions.jsonl: it repeats the request."""
    asked = row["request"]["contents"][-1]["parts"][0]["text"]
    if "drug 2" in asked:
        return {**row, "status": "Internal error encountered.", "response": {}}
    content = {"role": "model", "parts": [{"text": asked}]}
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
    answer = {
        "candidates": [{"content": content, "finishReason": "STOP"}],
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5-flash",
    }
    return {**row, "status": "", "response": answer}


@pytest.fixture
def vertex(monkeypatch) -> FakeVertex:
    import_litellm()
    from litellm.llms.vertex_ai.batches import handler
    from litellm.llms.vertex_ai.vertex_llm_base import VertexBase

    fake = FakeVertex()

    async def token(*_: Any, **__: Any) -> tuple[str, str]:
        return "token", "p"

    for name in ("_ensure_access_token", "get_access_token"):  # these take Google's own library
        monkeypatch.setattr(VertexBase, name, lambda *_, **__: ("token", "p"))
        monkeypatch.setattr(VertexBase, f"{name}_async", token)
    monkeypatch.setattr(httpx.Client, "send", lambda self, request, **_: fake.answer(request))
    monkeypatch.setattr(handler, "safe_get", lambda client, url, headers: client.get(url, headers))
    monkeypatch.setenv("GCS_BATCH_BUCKET_NAME", "bucket")
    monkeypatch.setattr(queues, "QUIET_S", 0.3)  # A shorter pause splits batches on a busy machine.
    monkeypatch.setattr(queues, "BUSY_SHARE", 100.0)
    monkeypatch.setattr(queues, "FIRST_CHECK_S", 0.05)
    return fake


async def test_requests_of_gemini_go_through_the_bucket_and_find_their_replies(vertex, tmp_path):
    lm = JudgeLM(load_settings(model="vertex_ai/gemini-2.5-flash", batch=True))
    questions = [f"Does drug {n} help?" for n in range(4)]
    async with batch_calls(tmp_path, RunLimiter(), lambda words: None):
        found = await asyncio.gather(*map(lm.acall, questions), return_exceptions=True)
    assert isinstance(found[2], BatchError) and "Internal error" in str(found[2])
    del found[2], questions[2]
    assert [one[0]["text"] for one in found if isinstance(one, list)] == questions
    assert all(row["request"]["labels"]["ragassay_key"] for row in vertex.rows)
    assert not any("generateContent" in path for path in vertex.paths)
