"""Doubles of local language model servers of each kind, on a free port.

The reply formats are those of Ollama 0.13, LM Studio 0.3, vLLM 0.11 and llama.cpp b7000. A
`ScriptedModel` answers judge calls.
"""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ragassay.testing import ScriptedModel

OLLAMA_TAGS = {
    "models": [
        {
            "name": "llama3.1:8b",
            "model": "llama3.1:8b",
            "size": 4_920_753_328,
            "digest": "46e0c10c039e",
            "details": {
                "format": "gguf",
                "family": "llama",
                "families": ["llama"],
                "parameter_size": "8.0B",
                "quantization_level": "Q4_K_M",
            },
        },
        {"name": "nomic-embed-text:latest", "details": {"family": "nomic-bert"}, "size": 274},
        {"name": "qwen3-vectors:latest", "details": {"family": "qwen3"}, "size": 639},
        {
            "name": "gpt-oss:120b-cloud",
            "remote_model": "gpt-oss:120b",
            "remote_host": "https://ollama.com:443",
            "size": 384,
            "details": {"family": "gptoss", "parameter_size": "116.8B"},
        },
    ]
}
OLLAMA_SHOW = {
    "llama3.1:8b": {
        "capabilities": ["completion", "tools"],
        "model_info": {"general.architecture": "llama", "llama.context_length": 131_072},
    },
    "nomic-embed-text:latest": {"capabilities": ["embedding"]},
    "qwen3-vectors:latest": {"capabilities": ["embedding"]},
    "gpt-oss:120b-cloud": {"capabilities": ["completion"]},
}
# LM Studio returns 200 for unknown paths.
LM_STUDIO_UNKNOWN = {"error": "Unexpected endpoint or method. (GET /props). Returning 200 anyway"}
LM_STUDIO = {
    "/v1/models": {
        "object": "list",
        "data": [
            {"id": "qwen2.5-7b-instruct", "object": "model", "owned_by": "organization_owner"},
            {"id": "text-embedding-a", "object": "model", "owned_by": "organization_owner"},
        ],
    },
    "/api/v0/models": {
        "object": "list",
        "data": [
            {
                "id": "qwen2.5-7b-instruct",
                "object": "model",
                "type": "llm",
                "arch": "qwen2",
                "quantization": "4bit",
                "state": "not-loaded",
                "max_context_length": 32_768,
            },
            {"id": "qwen2-vl-7b", "type": "vlm", "state": "loaded"},
            {"id": "text-embedding-a", "type": "embeddings", "state": "not-loaded"},
        ],
    },
}
VLLM = {
    "/v1/models": {
        "object": "list",
        "data": [
            {
                "id": "meta-llama/Llama-3.1-8B-Instruct",
                "object": "model",
                "owned_by": "vllm",
                "root": "meta-llama/Llama-3.1-8B-Instruct",
                "parent": None,
                "max_model_len": 8192,
            },
            {
                "id": "yescieval",
                "object": "model",
                "owned_by": "vllm",
                "root": "adapters/yescieval",
                "parent": "meta-llama/Llama-3.1-8B-Instruct",
                "max_model_len": None,
            },
        ],
    },
    "/version": {"version": "0.11.0"},
}
_LLAMA_MODELS = {
    "models": [{"name": "/models/a b.gguf", "model": "/models/a b.gguf", "size": ""}],
    "object": "list",
    "data": [
        {
            "id": "/models/a b.gguf",
            "object": "model",
            "owned_by": "llamacpp",
            "meta": {"n_params": 8_030_261_312, "n_ctx_train": 131_072, "size": 4_912_898_304},
        }
    ],
}
LLAMA_CPP = {
    "/v1/models": _LLAMA_MODELS,
    "/api/tags": _LLAMA_MODELS,
    "/props": {
        "default_generation_settings": {"n_ctx": 16_384},
        "model_path": "/models/a b.gguf",
        "build_info": "b7000-abc",
    },
}
ANSWERS: dict[str, Mapping[str, Any]] = {
    "ollama": {
        "/api/tags": OLLAMA_TAGS,
        "/api/version": {"version": "0.13.0"},
        "/v1/models": {
            "object": "list",
            "data": [
                {"id": row["name"], "object": "model", "owned_by": "library"}
                for row in OLLAMA_TAGS["models"]
            ],
        },
    },
    "lm_studio": LM_STUDIO,
    "vllm": VLLM,
    "llama_cpp": LLAMA_CPP,
    "other": {"/v1/models": {"object": "list", "data": [{"id": "m", "owned_by": "sglang"}]}},
}
"""Replies of each kind of server to GET, by path."""


@dataclass
class Double:
    """A running double.

    Attributes:
        url: Base address without a path.
        asked: Method and path of each request, in order.
        headers: Headers of each POST.
        bodies: Body of each POST.
    """

    url: str
    port: int
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def serve_double(
    kind: str,
    model: ScriptedModel | None = None,
    answers: Mapping[str, Any] | None = None,
    wait_s: float = 0,
) -> Iterator[Double]:
    """Serve a double of a kind.

    Args:
        kind: Key of `ANSWERS`.
        model: Model that answers judge calls. If None, these calls return 404.
        answers: Replies to GET by path, instead of those of the kind.
        wait_s: Delay of each GET reply, ended early if the double is closed.
    """
    known = ANSWERS[kind] if answers is None else answers
    unknown = (200, LM_STUDIO_UNKNOWN) if kind == "lm_studio" else (404, {"detail": "Not Found"})
    double, is_closing = Double("", 0), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            double.asked.append(f"GET {self.path}")
            is_closing.wait(wait_s)
            found = known.get(self.path)
            if isinstance(found, int):
                self._send(found, {"error": "Unauthorized"})
            elif self.path in known:
                self._send(200, found)
            else:
                self._send(*unknown)

        def do_POST(self) -> None:
            double.asked.append(f"POST {self.path}")
            double.headers.append({key.lower(): value for key, value in self.headers.items()})
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            double.bodies.append(body)
            self._send(*_answer(kind, self.path, body, model))

        def _send(self, status: int, body: object) -> None:
            sent = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: Any) -> None:
            """Suppress logging."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    double.port = server.server_address[1]
    double.url = f"http://127.0.0.1:{double.port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield double
    finally:
        is_closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(
    kind: str, path: str, body: dict[str, Any], model: ScriptedModel | None
) -> tuple[int, object]:
    """Return the status and body of a reply to POST."""
    if path == "/api/show" and kind == "ollama":
        return 200, OLLAMA_SHOW.get(body.get("model") or body.get("name") or "", {})
    if model is None or path not in ("/v1/chat/completions", "/api/chat"):
        return 404, {"error": "404 page not found"}
    names = [row["name"] for row in OLLAMA_TAGS["models"]]
    if kind == "ollama" and body["model"] not in names:
        message = f"model '{body['model']}' not found"
        is_openai = path.startswith("/v1")
        return 404, {"error": {"message": message} if is_openai else message}
    if path == "/v1/chat/completions":
        return _complete(model, body)
    return _ollama_chat(model, body)


def _ollama_chat(model: ScriptedModel, body: dict[str, Any]) -> tuple[int, object]:
    options = body.get("options", {})
    asked = {"model": "m", "messages": body["messages"], "max_tokens": options.get("num_predict")}
    if body.get("format"):
        schema = {"name": "reply", "schema": body["format"]}
        asked["response_format"] = {"type": "json_schema", "json_schema": schema}
    status, sent = _complete(model, asked)
    found = json.loads(sent)
    return status, {
        "model": body["model"],
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": found["choices"][0]["message"]["content"]},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": found["usage"]["prompt_tokens"],
        "eval_count": found["usage"]["completion_tokens"],
    }


def _complete(model: ScriptedModel, body: dict[str, Any]) -> tuple[int, bytes]:
    request = urllib.request.Request(
        f"{model.base_url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "a/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        return response.status, response.read()
