"""The server application with a model that echoes its input."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
from lazy import LazyModule

from ragassay.models.serving.app import ChatServer

litellm_types = LazyModule("litellm.types.utils")

KEY = "a-key-of-tests"
CHAT = "/v1/chat/completions"
ENDPOINT = "http://gpu:8000/v1"
MODELS = {"ragassay/judge": None, "openai/gpt-4.1-mini": ENDPOINT}
ASK = {"model": "ragassay/judge", "messages": [{"role": "user", "content": "a"}]}
HOSTED = ASK | {"model": "openai/gpt-4.1-mini"}


class EchoModel:
    """Model that echoes its prompt and records its options."""

    def __init__(self, trouble: Exception | None = None) -> None:
        self.seen: list[dict[str, Any]] = []
        self.trouble = trouble
        self.gate = asyncio.Event()
        self.gate.set()
        self.n_given_up = 0

    async def __call__(self, **options: Any) -> litellm_types.ModelResponse:
        self.seen.append(options)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.n_given_up += 1
            raise
        if self.trouble:
            raise self.trouble
        reply = {"role": "assistant", "content": options["messages"][-1]["content"]}
        usage = {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}
        return litellm_types.ModelResponse(
            choices=[{"index": 0, "finish_reason": "stop", "message": reply}], usage=usage
        )


def client(model: Any, n_most: int = 8) -> httpx.AsyncClient:
    app = ChatServer(KEY, MODELS, model, 30.0, n_most).create_app()
    headers = {"Authorization": f"Bearer {KEY}"}
    transport = httpx.ASGITransport(app=app)
    return httpx.AsyncClient(transport=transport, base_url="http://server", headers=headers)


async def figures(http: httpx.AsyncClient) -> str:
    return (await http.get("/metrics", headers={"Authorization": ""})).text
